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

/* The first member in which two objects differ, or NULL. */
static const char *differing_member(json_t *a, json_t *b)
{
    const char *key;
    json_t *value;
    json_object_foreach(a, key, value) if (!is_same(value, json_object_get(b, key))) return key;
    json_object_foreach(b, key, value) if (!is_same(value, json_object_get(a, key))) return key;
    return NULL;
}

static void put_value(const json_t *value, char *out, size_t bytes)
{
    char *text = rue_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    rue_error_shorten(text ? text : "absent", out, bytes);
    free(text);
}

static void describe(const char *key, json_t *before, json_t *now, char out[RUE_IDENTITY_TEXT_BYTES])
{
    char was[120], is[120], name[120];
    const char *member = json_is_object(before) && json_is_object(now) ? differing_member(before, now) : NULL;
    snprintf(name, sizeof name, "%s%s%s", key, member ? "." : "", member ? member : "");
    put_value(member ? json_object_get(before, member) : before, was, sizeof was);
    put_value(member ? json_object_get(now, member) : now, is, sizeof is);
    snprintf(out, RUE_IDENTITY_TEXT_BYTES, "\"%s\" was %s and is %s", name, was, is);
}

bool rue_runner_identity_differs(const json_t *before, const json_t *now, const char *const *keys,
                                 char out[RUE_IDENTITY_TEXT_BYTES])
{
    for (; *keys; keys++) {
        json_t *was = json_object_get(before, *keys), *is = json_object_get(now, *keys);
        if (is_same(was, is)) continue;
        describe(*keys, was, is, out);
        return true;
    }
    return false;
}
