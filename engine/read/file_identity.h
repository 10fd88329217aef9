/* What tells a file from another one, or from itself after a change: data are left alone while rue runs, and
 * whoever keeps a file open would not notice that it was deleted. */
#ifndef RUE_FILE_IDENTITY_H
#define RUE_FILE_IDENTITY_H

#include <stdint.h>

#include "error.h"

struct rue_file_identity {
    uint64_t bytes, inode;
    int64_t changed_ns, touched_ns; /* its content, and all about it */
};

struct stat;
struct rue_file_identity rue_file_identity_of(const struct stat *about);

/* What became of the file whose identity `was` that, for "it ... since it was opened"; NULL: nothing. */
const char *rue_file_identity_change(const struct rue_file_identity *was, const struct stat *about);

/* Whether what is at `path` is still that file: RUE_DATA names it, and what became of it; otherwise
 * rue_source_failure. */
rue_status rue_file_identity_check(const struct rue_file_identity *was, const char *path,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
