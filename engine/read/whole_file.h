/* Files of a known size, read as a whole. */
#ifndef RUE_WHOLE_FILE_H
#define RUE_WHOLE_FILE_H

#include <stdint.h>

#include "error.h"

/* Reads the file `name`, below the folder that is open as `folder_fd` and that messages call `folder`, into
 * `into` [bytes]. It must be the file that was indexed: regular, and of this size; nothing else in its place
 * is waited for. Thread-safe. RUE_DATA names the file and what is wrong with it; otherwise
 * rue_source_failure.
 */
rue_status rue_whole_file_read(int folder_fd, const char *folder, const char *name, uint64_t bytes,
                               void *into, rue_error *error) RUE_MUST_CHECK;

#endif
