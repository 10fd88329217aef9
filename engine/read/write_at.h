/* Writing of just so many bytes to a file, and bringing it to the disk. `path` is for messages: RUE_STORE
 * names it, what failed and what to do about it. */
#ifndef RUE_WRITE_AT_H
#define RUE_WRITE_AT_H

#include <stdint.h>

#include "error.h"

rue_status rue_write_at(int fd, const char *path, const void *from, uint64_t bytes, uint64_t offset,
                        rue_error *error) RUE_MUST_CHECK;

/* Blocks until the file's bytes are on the disk. */
rue_status rue_write_flush(int fd, const char *path, rue_error *error) RUE_MUST_CHECK;

/* The same of the names in a folder; where its file system does not do so, nothing. */
void rue_write_flush_folder(const char *path);

#endif
