/* JSON documents that earlier runs left behind. */
#ifndef RUE_JSON_FILE_H
#define RUE_JSON_FILE_H

#include <jansson.h>

/* What the file `name` in `folder` holds; a new reference. NULL where that is no regular file of a fit size
 * (nothing is waited for in its place), or no JSON. */
json_t *rue_json_file_load(const char *folder, const char *name);

#endif
