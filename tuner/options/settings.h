/* Where settings come from beside the command line: rue.json in the current folder, and RUE_<NAME> in the
 * environment. */
#ifndef RUE_SETTINGS_H
#define RUE_SETTINGS_H

#include <jansson.h>

#include "error.h"

#define RUE_SETTINGS_FILE "rue.json"

/* The object in the file, an empty one where there is no file; returns owned. RUE_USAGE names the line, or
 * says that it is not a regular file of a sensible size. */
rue_status rue_settings_read(json_t **out, rue_error *error) RUE_MUST_CHECK;

#endif
