/* One whole number out of a JSON object: {"label": 3, ...}. */
#ifndef RUE_LABEL_JSON_H
#define RUE_LABEL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the whole number under `key` (compared as bytes, without escapes) at the top of the object that the
 * `bytes` of `text` hold. False where they are no JSON object, or it has no such number. */
bool rue_label_json(const char *text, size_t bytes, const char *key, int64_t *out);

#endif
