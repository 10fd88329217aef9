#include "file_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "\040" is a space, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3];
        *to = octal ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0')) : *from;
        from += octal ? 4 : 1;
    }
    *to = 0;
}

/* Whether `path` is at or below `mount`. */
static bool lies_in(const char *path, const char *mount)
{
    size_t length = strlen(mount);
    if (length == 1) return true;
    return strncmp(path, mount, length) == 0 && (path[length] == 0 || path[length] == '/');
}

/* "36 35 98:0 /root /mount opts shared:1 - ext4 /dev/sda1 rw", with any number of words before the '-'. */
static bool read_line(char *line, struct rue_file_system *out)
{
    char *dash = strstr(line, " - ");
    if (!dash || sscanf(line, "%*s %*s %*s %*s %4095s", out->mount) != 1) return false;
    if (sscanf(dash, " - %63s %255s", out->type, out->source) != 2) return false;
    unescape(out->mount);
    unescape(out->source);
    return true;
}

/* Of mounts at the same place the last one is seen. */
bool rue_file_system_of(const char *path, struct rue_file_system *out)
{
    char real[PATH_MAX], *line = NULL;
    size_t capacity = 0, best = 0;
    FILE *file = realpath(path, real) ? fopen("/proc/self/mountinfo", "re") : NULL;
    struct rue_file_system *one = file ? malloc(sizeof *one) : NULL;
    while (one && getline(&line, &capacity, file) > 0) {
        if (!read_line(line, one) || !lies_in(real, one->mount) || strlen(one->mount) < best) continue;
        best = strlen(one->mount);
        *out = *one;
    }
    free(one);
    free(line);
    if (file) fclose(file);
    return best > 0;
}
