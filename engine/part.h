/* What is written under a temporary name beside its destination, "<path>.part-XXXXXX", and renamed once it is
 * whole. Its maker holds a lock on it (flock), so that what a process left behind that was killed can be told
 * from what another process is making. */
#ifndef RUE_PART_H
#define RUE_PART_H

#include <limits.h>
#include <stddef.h>

enum { RUE_PART_BYTES = PATH_MAX + 32 };

/* Removes what others left behind of `path`, makes a file (open for reading and writing) or a folder with the
 * rights that open(2) and mkdir(2) give, and locks it. Returns its descriptor, to be closed after the
 * renaming or rue_part_remove, with its name in `name`; -1 with errno and an empty name. `path` has less than
 * PATH_MAX bytes and no slash at its end. */
int rue_part_file(const char *path, char name[RUE_PART_BYTES]);
int rue_part_folder(const char *path, char name[RUE_PART_BYTES]);

/* Removes a file, or a folder and all in it; an empty name is nothing. Needs one descriptor, which closing
 * that of the part gives. */
void rue_part_remove(const char *name);

#endif
