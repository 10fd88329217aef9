#include "json_document.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"
#include "utf8.h"

/* Nine digits resolve nanoseconds within a second, and hide rounding errors. */
#define JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII)

static void fail_unless(json_t **container, bool complete)
{
    if (complete) return;
    json_decref(*container);
    *container = NULL;
}

void rue_json_put(json_t **object, const char *key, json_t *value)
{
    fail_unless(object, json_object_set_new_nocheck(*object, key, value) == 0);
}

void rue_json_put_named(json_t **object, const char *key, json_t *value)
{
    char *repaired = rue_utf8_repair(key);
    if (repaired)
        rue_json_put(object, repaired, value);
    else
        json_decref(value), fail_unless(object, false);
    free(repaired);
}

void rue_json_push(json_t **array, json_t *value)
{
    fail_unless(array, json_array_append_new(*array, value) == 0);
}

static json_t *next_member(char kind, va_list *values)
{
    switch (kind) {
    case 'i':
        return json_integer(va_arg(*values, int));
    case 'n':
        return rue_json_integer(va_arg(*values, uint64_t));
    case 'N':
        return rue_json_integer_or_null(va_arg(*values, uint64_t));
    case 'r':
        return rue_json_real(va_arg(*values, double));
    case 'd':
        return rue_json_nanoseconds(va_arg(*values, double));
    case 'b':
        return json_boolean(va_arg(*values, int));
    case 't':
        return rue_json_text(va_arg(*values, const char *));
    case 'T':
        return rue_json_text_or_null(va_arg(*values, const char *));
    default:
        assert(kind == 'o');
        return va_arg(*values, json_t *);
    }
}

static void add_members(json_t **object, const char *members, va_list *values)
{
    for (const char *at = members; *at; at += strspn(at, " ")) {
        char key[64];
        size_t length = strcspn(at, ":");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        rue_json_put(object, key, next_member(at[length + 1], values));
        at += length + 2;
    }
}

void rue_json_add(json_t **object, const char *members, ...)
{
    va_list values;
    va_start(values, members);
    add_members(object, members, &values);
    va_end(values);
}

json_t *rue_json_make(const char *members, ...)
{
    json_t *object = json_object();
    va_list values;
    va_start(values, members);
    add_members(&object, members, &values);
    va_end(values);
    return object;
}

json_t *rue_json_text(const char *string)
{
    json_t *value = json_string(string);
    if (value) return value;
    char *repaired = rue_utf8_repair(string);
    value = repaired ? json_string(repaired) : NULL;
    free(repaired);
    return value;
}

json_t *rue_json_text_or_null(const char *string)
{
    return string[0] ? rue_json_text(string) : json_null();
}

json_t *rue_json_parse(const char *document)
{
    return *document ? json_loads(document, JSON_REJECT_DUPLICATES, NULL) : json_null();
}

json_t *rue_json_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *rue_json_integer(uint64_t number)
{
    return number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
}

json_t *rue_json_integer_or_null(uint64_t number)
{
    return number ? rue_json_integer(number) : json_null();
}

json_t *rue_json_nanoseconds(double ns)
{
    return isfinite(ns) && ns < 9e18 ? json_integer((json_int_t)llround(ns)) : json_null();
}

json_t *rue_json_knob(const struct rue_knob_info *knob, int value)
{
    if (knob->kind == RUE_KIND_FLAG) return json_boolean(value);
    if (knob->kind == RUE_KIND_NUMBER) return json_real(knob->numbers[value]);
    return knob->words ? json_string(knob->words[value]) : json_integer(value);
}

bool rue_json_knob_read(const struct rue_knob_info *knob, const json_t *value, int *out)
{
    char text[RUE_KNOB_TEXT_BYTES];
    if (knob->kind == RUE_KIND_FLAG) {
        *out = json_is_true(value);
        return json_is_boolean(value);
    }
    if (knob->kind == RUE_KIND_NUMBER && json_is_number(value)) {
        for (*out = 0; *out <= knob->max; ++*out)
            if (knob->numbers[*out] == json_number_value(value)) return true;
        return false;
    }
    if (json_is_integer(value) && knob->kind == RUE_KIND_COUNT)
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_string(value) && knob->words && json_string_length(value) < sizeof text)
        snprintf(text, sizeof text, "%s", json_string_value(value));
    else
        return false;
    return rue_knob_parse(knob, text, out);
}

json_t *rue_json_config(const struct rue_config *config, bool whole)
{
    json_t *object = json_object();
    const struct rue_knobs *knobs = rue_config_knobs(config);
    for (size_t k = 0; k < knobs->count; k++)
        if (whole || rue_knobs_have(knobs, k))
            rue_json_put(&object, knobs->at[k]->name, rue_json_knob(knobs->at[k], config->value[k]));
    return object;
}

static json_t *declaration_json(const struct rue_knob_info *knob)
{
    json_t *object = json_object();
    rue_json_put(&object, "name", json_string(knob->name));
    rue_json_put(&object, "kind", json_string(rue_knob_kind_names[knob->kind]));
    rue_json_put(&object, "default", rue_json_knob(knob, knob->fallback));
    if (knob->kind == RUE_KIND_COUNT) {
        rue_json_put(&object, "min", json_integer(knob->min));
        rue_json_put(&object, "max", json_integer(knob->max));
    } else if (knob->kind != RUE_KIND_FLAG) {
        json_t *values = json_array();
        for (int v = 0; v <= knob->max; v++) rue_json_push(&values, rue_json_knob(knob, v));
        rue_json_put(&object, "values", values);
    }
    if (knob->needs_workers) rue_json_put(&object, "needs_workers", json_true());
    if (knob->torch) rue_json_put(&object, "pytorch", json_string(knob->torch));
    if (*knob->help) rue_json_put(&object, "help", json_string(knob->help));
    return object;
}

json_t *rue_json_knobs(const struct rue_knobs *knobs)
{
    json_t *array = json_array();
    for (size_t k = RUE_OWN_KNOB_COUNT; k < knobs->count; k++)
        rue_json_push(&array, declaration_json(knobs->at[k]));
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        if (!rue_knobs_have(knobs, k))
            rue_json_push(&array, rue_json_make("name:t absent:b", knobs->at[k]->name, true));
    return array;
}

char *rue_json_dump(const json_t *root, size_t flags)
{
    size_t bytes = root ? json_dumpb(root, NULL, 0, flags) : 0;
    char *text = bytes ? malloc(bytes + 1) : NULL;
    bool complete = text && json_dumpb(root, text, bytes, flags) == bytes;
    if (complete) text[bytes] = '\0';
    if (complete || !text) return text;
    free(text);
    return NULL;
}

void rue_json_describe(const json_t *value, char *out, size_t bytes)
{
    char *text = rue_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    rue_error_shorten(text ? text : "absent", out, bytes);
    free(text);
}

/* The library escapes all control characters but DEL, which terminals also obey. */
rue_status rue_json_write(json_t *root, FILE *stream, rue_error *error)
{
    enum { DEL = 0x7F };
    char *text = rue_json_dump(root, JSON_FLAGS);
    json_decref(root);
    if (!text) return rue_fail(error, RUE_MEMORY, "no memory is left for the JSON");
    for (char *at = text, *end; *at; at = end) {
        end = strchrnul(at, DEL);
        fwrite(at, 1, (size_t)(end - at), stream);
        if (*end) end++, fprintf(stream, "\\u%04x", DEL);
    }
    fputc('\n', stream);
    free(text);
    return rue_report_finish(stream, error);
}
