/* Names the type of a file that is not a JPEG, for messages. */
#ifndef RUE_FILE_KIND_H
#define RUE_FILE_KIND_H

#include <stddef.h>

/* "a PNG file", by the first bytes; NULL: unknown, or a JPEG. */
const char *rue_file_kind(const void *data, size_t bytes);

#endif
