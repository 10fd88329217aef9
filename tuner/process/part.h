/* Temporary files. What is not whole yet lies in a folder of its own, ".rue-XXXXXX", beside its destination,
 * and is renamed once it is whole. A file in there, the mark, names the destination and holds the number
 * (inode) of that very folder, and its maker holds a lock on it (flock). These tell what a killed process
 * left behind from everything else: from the work of another process, from what somebody else gave such a
 * name, from a copy. */
#ifndef RUE_PART_H
#define RUE_PART_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum { RUE_PART_BYTES = PATH_MAX + 32 };

/* The mark's name in the folder. */
#define RUE_PART_MARK "mark"

/* Makes a folder for what becomes `path`, which has less than PATH_MAX bytes and no slash at its end. Folders
 * that killed processes left for `path` are removed. Returns its descriptor, which holds the lock, with its
 * name in `name`; -1 with errno and an empty name. */
int rue_part_open(const char *path, char name[RUE_PART_BYTES]);

/* Removes the folders that killed processes left for `path`. */
void rue_part_sweep(const char *path);

/* Renames what is whole, `from`, to `path`: on the disk when this returns. A file takes the place of another
 * where `overwrite` allows it, never that of a folder. RUE_STORE. */
rue_status rue_part_publish(const char *from, const char *path, bool overwrite,
                            rue_error *error) RUE_MUST_CHECK;

/* Removes the folder `name` of rue_part_open with all that lies in it; an empty name is nothing. Allocates
 * nothing and needs one descriptor. Where none is to be had, only a file "data" is removed: what else may be
 * in it, the caller removes by name before. */
void rue_part_remove(const char *name);

/* Blocks until the file's bytes are on the disk. `path` is for messages: RUE_STORE names it. */
rue_status rue_write_flush(int fd, const char *path, rue_error *error) RUE_MUST_CHECK;

/* The same of the names in a folder; where its file system does not do so, nothing. */
void rue_write_flush_folder(const char *path);

#endif
