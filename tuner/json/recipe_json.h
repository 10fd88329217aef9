/* Recipes of augmentation as JSON: {"area": [0.08, 1], "flip": 0.5, "rotation": {"probability": 0.5,
 * "range": [-10, 10]}}. Without a key, area, ratio and flip are as in the preset mild, and other operations
 * are not applied. Several views are a list of such objects, which may also have "views" (how many are equal)
 * and "image_size", and of presets (rue_views_parse). */
#ifndef RUE_RECIPE_JSON_H
#define RUE_RECIPE_JSON_H

#include <jansson.h>

#include "views.h"

/* RUE_USAGE names the key, with a similar one. */
rue_status rue_views_read(const json_t *root, struct rue_views *out, rue_error *error) RUE_MUST_CHECK;

/* RUE_USAGE names the file and what is wrong with it. */
rue_status rue_views_read_file(const char *path, struct rue_views *out, rue_error *error) RUE_MUST_CHECK;

#endif
