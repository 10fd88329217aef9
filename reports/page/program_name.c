#include "program_name.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell_quote.h"

static const char usual[] = "rue", itself[] = "/proc/self/exe";
static char found[RUE_SHELL_WORD_BYTES] = "rue";

/* The file that a shell runs for "rue". False: PATH has none. */
static bool find_on_path(struct stat *out)
{
    const char *at = getenv("PATH");
    char path[PATH_MAX];
    for (bool more = at; more; at++) {
        size_t length = strcspn(at, ":");
        more = at[length];
        snprintf(path, sizeof path, "%.*s%s%s", (int)length, at, length ? "/" : "./", usual);
        at += length;
        if (access(path, X_OK) == 0 && stat(path, out) == 0 && S_ISREG(out->st_mode)) return true;
    }
    return false;
}

static bool is_file(const char *path, const struct stat *file)
{
    struct stat own;
    return stat(path, &own) == 0 && own.st_dev == file->st_dev && own.st_ino == file->st_ino;
}

void rue_program_name_find(const char *argv0)
{
    char own[PATH_MAX] = "";
    struct stat file;
    bool by_path = strchr(argv0, '/') != NULL;
    if (find_on_path(&file) && (is_file(itself, &file) || (by_path && is_file(argv0, &file)))) return;
    ssize_t length = by_path ? 0 : readlink(itself, own, sizeof own - 1);
    if (by_path || length > 0) rue_shell_word(by_path ? argv0 : own, found);
}

const char *rue_program_name(void)
{
    return found;
}
