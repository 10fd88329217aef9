/* Temporary folders. Unfinished data lie in a folder ".rue-XXXXXX" beside their destination, and are renamed
 * when they are complete. A file in it, the mark, holds the destination's name and the folder's inode number,
 * and its maker locks the folder (flock). So rue can identify what a killed process left, and never removes
 * the work of a running process, a folder that others named like this, or a copy. */
#ifndef RUE_PART_H
#define RUE_PART_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum { RUE_PART_BYTES = PATH_MAX + 32 };

#define RUE_PART_MARK "mark"

/* Makes a folder for data that become `path` (less than PATH_MAX bytes, no final slash). Removes the folders
 * that killed processes left for `path`. Returns its descriptor, which holds the lock, and its `name`; -1
 * with errno and an empty name. */
int rue_part_open(const char *path, char name[RUE_PART_BYTES]);

/* Removes the folders that killed processes left for `path`. */
void rue_part_sweep(const char *path);

/* Renames `from` to `path`, and flushes that to the disk. `overwrite`: a file may replace a file, but never a
 * folder. RUE_STORE. */
rue_status rue_part_publish(const char *from, const char *path, bool overwrite,
                            rue_error *error) RUE_MUST_CHECK;

/* Removes the folder `name` of rue_part_open with its content; an empty name does nothing. Allocates nothing
 * and needs one descriptor. Without a descriptor, it removes only a file "data"; the caller must remove
 * others before. */
void rue_part_remove(const char *name);

/* Flushes a file's bytes to the disk. RUE_STORE; `path` is for its message. */
rue_status rue_write_flush(int fd, const char *path, rue_error *error) RUE_MUST_CHECK;

/* Flushes the names in a folder to the disk, if its file system can do so. */
void rue_write_flush_folder(const char *path);

#endif
