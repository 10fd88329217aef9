#include "class_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "read_at.h"
#include "source_failure.h"

enum { TEXT_BYTES_MAX = 64 << 20 };
static const char file_name[] = RUE_CLASS_LIST_FILE;

static rue_status fail(const char *path, const char *why, rue_status status, rue_error *error)
{
    return rue_fail(error, status, "cannot read the class names in %s: %s", path, why);
}

static rue_status read_text(const char *path, int fd, struct rue_class_list *out, uint64_t *bytes,
                            rue_error *error)
{
    struct stat about;
    if (fstat(fd, &about) != 0) return fail(path, strerror(errno), rue_source_failure(errno), error);
    if (!S_ISREG(about.st_mode) || about.st_size > TEXT_BYTES_MAX)
        return fail(path, "it is no file, or longer than 64 MiB; give one name a line", RUE_DATA, error);
    *bytes = (uint64_t)about.st_size;
    out->text = malloc(*bytes + 1);
    if (!out->text) return rue_fail_memory(error, "class names", *bytes);
    if (!rue_read_at(fd, out->text, *bytes, 0))
        return fail(path, errno ? strerror(errno) : "it became shorter", rue_source_failure(errno), error);
    out->text[*bytes] = 0;
    if (memchr(out->text, 0, *bytes))
        return fail(path, "it is no text; give one name a line", RUE_DATA, error);
    return RUE_OK;
}

/* An empty line between others is a class without a name; behind the last one it is none. */
static rue_status split(struct rue_class_list *list, rue_error *error)
{
    size_t lines = 1;
    for (const char *at = list->text; *at; at++) lines += *at == '\n';
    list->names = calloc(lines, sizeof *list->names);
    if (!list->names) return rue_fail_memory(error, "class names", lines * sizeof *list->names);
    for (char *line = list->text; line && *line;) {
        char *end = strchr(line, '\n'), *next = end ? end + 1 : NULL;
        if (end) *end = 0;
        size_t length = strlen(line);
        if (length && line[length - 1] == '\r') line[length - 1] = 0;
        list->names[list->count++] = line;
        line = next;
    }
    return RUE_OK;
}

rue_status rue_class_list_read(const char *folder, struct rue_class_list *out, rue_error *error)
{
    char path[PATH_MAX + sizeof file_name];
    uint64_t bytes;
    *out = (struct rue_class_list){0};
    snprintf(path, sizeof path, "%s/%s", folder, file_name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) return RUE_OK;
    if (fd < 0) return fail(path, strerror(errno), rue_source_failure(errno), error);
    rue_status status = read_text(path, fd, out, &bytes, error);
    close(fd);
    if (status == RUE_OK) status = split(out, error);
    if (status != RUE_OK) rue_class_list_free(out);
    return status;
}

void rue_class_list_free(struct rue_class_list *list)
{
    free(list->names);
    free(list->text);
    *list = (struct rue_class_list){0};
}
