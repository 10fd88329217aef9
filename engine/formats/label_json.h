/* One whole number out of a JSON object: {"label": 3, ...}. */
#ifndef RUE_LABEL_JSON_H
#define RUE_LABEL_JSON_H

#include <stddef.h>
#include <stdint.h>

enum rue_label_found {
    RUE_LABEL_NONE, /* no JSON object, or one without the key, or with null there */
    RUE_LABEL_ODD,  /* something else than a whole number */
    RUE_LABEL_NUMBER
};

/* Looks for the whole number under `key` (compared as bytes, without escapes) at the top of the object that
 * the `bytes` of `text` hold. `*out` is set where there is one. */
enum rue_label_found rue_label_json(const char *text, size_t bytes, const char *key, int64_t *out);

#endif
