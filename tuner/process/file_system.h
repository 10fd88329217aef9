/* Which file system a path lies in. */
#ifndef RUE_FILE_SYSTEM_H
#define RUE_FILE_SYSTEM_H

#include <limits.h>
#include <stdbool.h>

struct rue_file_system {
    char type[64];        /* "ext4" */
    char source[256];     /* "/dev/sda1"; what the mount calls it */
    char mount[PATH_MAX]; /* where it is mounted */
};

/* False where there is nothing at the path, or the kernel does not tell. */
bool rue_file_system_of(const char *path, struct rue_file_system *out);

#endif
