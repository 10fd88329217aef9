/* Reads JSON files. */
#ifndef RUE_JSON_FILE_H
#define RUE_JSON_FILE_H

#include <jansson.h>

#include "error.h"

/* Returns a new reference in `out`. RUE_DATA if the file cannot be read, is not regular, is too large or is
 * not JSON; the message ends with `advice` ("give another file"). */
rue_status rue_json_file_read(const char *path, const char *advice, json_t **out,
                              rue_error *error) RUE_MUST_CHECK;

#endif
