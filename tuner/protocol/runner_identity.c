#include "runner_identity.h"

#include <stdio.h>

#include "json_document.h"

const char *const rue_hello_keys[] = {"runner",  "loader",     "machine",  "clock", "measures",
                                      "models",  "variants",   "space",    "knobs", "images",
                                      "answers", "whole_jobs", "protocol", NULL};
const char *const rue_opened_keys[] = {"images",      "bytes", "digest",      "dtype",
                                       "batch_dtype", "cache", "item_values", "transform",
                                       "geometry",    "views", NULL};

static bool values_equal(const json_t *a, const json_t *b)
{
    bool no_a = !a || json_is_null(a), no_b = !b || json_is_null(b);
    return no_a || no_b ? no_a && no_b : json_equal(a, b);
}

bool rue_runner_identity_differs(const json_t *before, const json_t *now, const char *const *keys,
                                 char out[RUE_IDENTITY_TEXT_BYTES])
{
    for (; *keys; keys++) {
        const json_t *old_value = json_object_get(before, *keys), *new_value = json_object_get(now, *keys);
        char old_text[160], new_text[160];
        if (values_equal(old_value, new_value)) continue;
        rue_json_describe(old_value, old_text, sizeof old_text);
        rue_json_describe(new_value, new_text, sizeof new_text);
        snprintf(out, RUE_IDENTITY_TEXT_BYTES, "\"%s\" was %s and is %s", *keys, old_text, new_text);
        return true;
    }
    return false;
}
