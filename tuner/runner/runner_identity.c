#include "runner_identity.h"

#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "json_document.h"

const char *const rue_hello_keys[] = {"runner",  "loader",     "machine",  "clock", "measures",
                                      "models",  "variants",   "space",    "knobs", "images",
                                      "answers", "whole_jobs", "protocol", NULL};
const char *const rue_opened_keys[] = {"images", "bytes", "digest", "dtype", "batch_dtype", "cache", NULL};

static bool is_same(const json_t *a, const json_t *b)
{
    bool no_a = !a || json_is_null(a), no_b = !b || json_is_null(b);
    return no_a || no_b ? no_a && no_b : json_equal(a, b);
}

static void put_value(const json_t *value, char *out, size_t bytes)
{
    char *text = rue_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    rue_error_shorten(text ? text : "absent", out, bytes);
    free(text);
}

bool rue_runner_identity_differs(const json_t *before, const json_t *now, const char *const *keys,
                                 char out[RUE_IDENTITY_TEXT_BYTES])
{
    for (; *keys; keys++) {
        const json_t *was = json_object_get(before, *keys), *is = json_object_get(now, *keys);
        char old[160], new[160];
        if (is_same(was, is)) continue;
        put_value(was, old, sizeof old);
        put_value(is, new, sizeof new);
        snprintf(out, RUE_IDENTITY_TEXT_BYTES, "\"%s\" was %s and is %s", *keys, old, new);
        return true;
    }
    return false;
}
