/* Which file system a path lies in, and how much lies there. */
#ifndef RUE_FILE_SYSTEM_H
#define RUE_FILE_SYSTEM_H

#include <limits.h>
#include <stdbool.h>

#include "variant.h"

struct rue_file_system {
    char type[64];        /* "ext4" */
    char source[256];     /* "/dev/sda1"; what the mount calls it */
    char mount[PATH_MAX]; /* where it is mounted */
};

/* False where there is nothing at the path, or the kernel does not tell. */
bool rue_file_system_of(const char *path, struct rue_file_system *out);

/* Bytes of a file, or of all files below a folder but hidden ones; NaN where they cannot be looked at. */
double rue_storage_bytes(const char *path);

/* Bytes of a variant whose items have `item_bytes` in all: those of a list's images count too, and of what
 * has no path of its own, a pattern of shards, those of its items are all that is known. */
double rue_storage_of(const struct rue_variant *variant, uint64_t item_bytes);

#endif
