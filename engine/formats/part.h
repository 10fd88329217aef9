/* What is written in a temporary folder beside its destination, "<path>.part-XXXXXX", and renamed once it is
 * whole. Its maker holds a lock on it (flock), so that what a process left behind that was killed can be told
 * from what another process is making. */
#ifndef RUE_PART_H
#define RUE_PART_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum { RUE_PART_BYTES = PATH_MAX + 32 };

/* Takes over a folder that a process left behind that is gone, where `again`, and removes what else others
 * left behind of `path`; without one it makes one, with the rights that mkdir(2) gives. Locks it. Returns its
 * descriptor, to be closed after the renaming or rue_part_remove, with its name in `name`; -1 with errno and
 * an empty name. `path` has less than PATH_MAX bytes and no slash at its end. */
int rue_part_open(const char *path, bool again, char name[RUE_PART_BYTES]);

/* Renames what is whole, `from`, to `path`: on the disk when this returns. A file takes the place of another
 * where `overwrite` allows it, never that of a folder. RUE_STORE. */
rue_status rue_part_publish(const char *from, const char *path, bool overwrite,
                            rue_error *error) RUE_MUST_CHECK;

/* Removes a file, or a folder and all in it; an empty name is nothing. Needs one descriptor, which closing
 * that of the part gives. */
void rue_part_remove(const char *name);

#endif
