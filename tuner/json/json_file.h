/* JSON documents that earlier runs left behind. */
#ifndef RUE_JSON_FILE_H
#define RUE_JSON_FILE_H

#include <jansson.h>

#include "error.h"

/* What the file `name` in `folder` holds; a new reference. NULL where that is no regular file of a fit size
 * (nothing is waited for in its place), or no JSON. */
json_t *rue_json_file_load(const char *folder, const char *name);

/* The same, and what is wrong with it: RUE_DATA, with what to do about it at the end ("give another file").
 */
rue_status rue_json_file_read(const char *path, const char *advice, json_t **out,
                              rue_error *error) RUE_MUST_CHECK;

#endif
