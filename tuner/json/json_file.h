/* JSON documents that earlier runs left behind. */
#ifndef RUE_JSON_FILE_H
#define RUE_JSON_FILE_H

#include <jansson.h>

#include "error.h"

/* What the file holds, a new reference; what is not a regular file is not waited for. RUE_DATA where it is
 * not JSON of a fit size, with what to do about it at the end ("give another file"). */
rue_status rue_json_file_read(const char *path, const char *advice, json_t **out,
                              rue_error *error) RUE_MUST_CHECK;

#endif
