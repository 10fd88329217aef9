#include "json_fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "variant.h"

enum { EXPECTED_BYTES = 160 };

/* ---- empty values ---- */

static double real_at(const void *at)
{
    return *(const double *)at;
}

/* The nearest value that a reader accepts. */
static double limited_real(const struct rue_field *field, double value)
{
    if (!field->most || !isfinite(value)) return value;
    return fmin(fmax(value, (double)field->least), (double)field->most);
}

static bool struct_is_empty(const struct rue_field *fields, const void *from);

static bool is_empty(const struct rue_field *field, const void *from)
{
    const char *at = (const char *)from + field->offset;
    switch (field->kind) {
    case RUE_FIELD_FLAG:
    case RUE_FIELD_NUMBER:
    case RUE_FIELD_WORD:
        return rue_field_number(field, from) == field->fallback;
    case RUE_FIELD_REAL:
    case RUE_FIELD_SECONDS:
        return isnan(real_at(at)) || (real_at(at) == 0 && (field->flags & (RUE_FIELD_NULL | RUE_FIELD_KEY)));
    case RUE_FIELD_STRING:
        at = *(const char *const *)at;
        return !at || !*at;
    case RUE_FIELD_STRUCT:
        return struct_is_empty(field->fields, at);
    case RUE_FIELD_LIST:
        return *(const size_t *)((const char *)from + field->count) == 0;
    default:
        return field->kind == RUE_FIELD_TEXT && !*at;
    }
}

static bool struct_is_empty(const struct rue_field *fields, const void *from)
{
    for (const struct rue_field *field = fields; field->name; field++)
        if ((field->flags & RUE_FIELD_KEY) && is_empty(field, from)) return true;
    return false;
}

/* ---- writing ---- */

static json_t *value_json(const struct rue_field *field, const void *from, const void *at,
                          const void *context);

static json_t *list_json(const struct rue_field *field, size_t count, const char *at, const void *context)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++, at += field->element)
        rue_json_push(&array, field->fields->name[0] ? rue_json_struct(field->fields, at, context)
                                                     : value_json(field->fields, at, at, context));
    return array;
}

static json_t *value_json(const struct rue_field *field, const void *from, const void *at,
                          const void *context)
{
    switch (field->kind) {
    case RUE_FIELD_FLAG:
        return json_boolean(rue_field_number(field, from));
    case RUE_FIELD_NUMBER:
        return rue_json_integer(rue_field_number(field, from));
    case RUE_FIELD_WORD:
        return json_string(field->words[rue_field_number(field, from)]);
    case RUE_FIELD_REAL:
        return rue_json_real(limited_real(field, real_at(at)));
    case RUE_FIELD_SECONDS:
        return rue_json_nanoseconds(limited_real(field, real_at(at)) * 1e9);
    case RUE_FIELD_TEXT:
        return rue_json_text(at);
    case RUE_FIELD_STRING:
        return rue_json_text(*(const char *const *)at);
    case RUE_FIELD_CONFIG:
        return rue_json_config(at, true);
    case RUE_FIELD_STRUCT:
        return rue_json_struct(field->fields, at, context);
    case RUE_FIELD_LIST:
        return list_json(field, *(const size_t *)((const char *)from + field->count), at, context);
    case RUE_FIELD_OTHER:
        return field->type->write(at, context);
    }
    return NULL;
}

static void put_field(json_t **object, const struct rue_field *field, const void *from, const void *context)
{
    const void *at = (const char *)from + field->offset;
    bool empty = is_empty(field, from);
    if (empty && (field->flags & RUE_FIELD_OMIT)) return;
    if (field->flags & RUE_FIELD_POINTED) at = *(const void *const *)at;
    if (empty && (field->flags & RUE_FIELD_NULL))
        rue_json_put(object, field->name, json_null());
    else if (field->kind != RUE_FIELD_FLAG || field->name[0])
        rue_json_put(object, field->name, value_json(field, from, at, context));
}

void rue_json_put_fields(json_t **object, const struct rue_field *fields, const void *from,
                         const void *context)
{
    for (const struct rue_field *field = fields; field->name; field++)
        put_field(object, field, from, context);
}

json_t *rue_json_struct(const struct rue_field *fields, const void *from, const void *context)
{
    if (struct_is_empty(fields, from)) return json_null();
    json_t *object = json_object();
    rue_json_put_fields(&object, fields, from, context);
    return object;
}

/* ---- the place of a fault ---- */

size_t rue_json_enter(struct rue_json_reader *reader, const char *key)
{
    size_t length = strlen(reader->place);
    snprintf(reader->place + length, sizeof reader->place - length, "%s%s", length ? "." : "", key);
    return length;
}

size_t rue_json_enter_at(struct rue_json_reader *reader, size_t index)
{
    size_t length = strlen(reader->place);
    snprintf(reader->place + length, sizeof reader->place - length, "[%zu]", index);
    return length;
}

void rue_json_exit(struct rue_json_reader *reader, size_t length)
{
    reader->place[length] = 0;
}

void rue_json_refuse(struct rue_json_reader *reader, const char *key, const char *expected)
{
    if (reader->status != RUE_OK) return;
    const char *path = reader->path, *advice = reader->advice;
    if (!*reader->place && !key) key = "the document";
    reader->status = rue_fail(reader->error, reader->fault == RUE_OK ? RUE_DATA : reader->fault,
                              "%s%s%s%s%s is not %s%s%s", path ? path : "", path ? ": " : "", reader->place,
                              *reader->place && key ? "." : "", key ? key : "", expected, advice ? "; " : "",
                              advice ? advice : "");
}

void rue_json_fail(struct rue_json_reader *reader, const char *why)
{
    if (reader->status != RUE_OK) return;
    const char *path = reader->path, *advice = reader->advice;
    reader->status = rue_fail(reader->error, reader->fault == RUE_OK ? RUE_DATA : reader->fault,
                              "%s%s%s: %s%s%s", path ? path : "", path ? ": " : "", reader->place, why,
                              advice ? "; " : "", advice ? advice : "");
}

/* ---- reading ---- */

static void read_value(struct rue_json_reader *reader, const struct rue_field *field, const json_t *value,
                       void *to);

static bool read_number(const struct rue_field *field, const json_t *value, void *to)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0) return false;
    if ((uint64_t)number < field->least || (uint64_t)number > rue_field_most(field)) return false;
    rue_field_set_number(field, to, (uint64_t)number);
    return true;
}

static bool read_word(const struct rue_field *field, const json_t *value, void *to)
{
    const char *word = json_string_value(value);
    for (uint64_t i = 0; word && field->words[i]; i++)
        if (strcmp(field->words[i], word) == 0) return rue_field_set_number(field, to, i), true;
    return false;
}

static bool read_real(const struct rue_field *field, const json_t *value, double *out)
{
    *out = json_number_value(value);
    if (field->kind == RUE_FIELD_SECONDS) *out /= 1e9;
    if (!json_is_number(value)) return false;
    return !field->most || (*out >= (double)field->least && *out <= (double)field->most);
}

static bool read_text(const struct rue_field *field, const json_t *value, char *out)
{
    if (!json_is_string(value) || json_string_length(value) >= field->bytes) return false;
    snprintf(out, field->bytes, "%s", json_string_value(value));
    return true;
}

void rue_json_read_config(struct rue_json_reader *reader, const json_t *value, struct rue_config *out)
{
    *out = rue_config_default_for(reader->knobs);
    if (!json_is_object(value)) rue_json_refuse(reader, NULL, "an object");
    for (size_t k = 0; k < reader->knobs->count; k++) {
        char expected[EXPECTED_BYTES];
        const struct rue_knob_info *knob = reader->knobs->at[k];
        const json_t *member = json_object_get(value, knob->name);
        if (!member || rue_json_knob_read(knob, member, &out->value[k])) continue;
        rue_knob_describe(knob, expected, sizeof expected);
        rue_json_refuse(reader, knob->name, expected);
    }
}

/* An array in the struct, or an allocated one. */
static char *open_list(struct rue_json_reader *reader, const struct rue_field *field, size_t count, void *at)
{
    if (!(field->flags & RUE_FIELD_POINTED)) return at;
    char *elements = *(char **)at = calloc(count + 1, field->element);
    if (!elements) reader->status = rue_fail_memory(reader->error, field->name, count * field->element);
    return elements;
}

static void read_list(struct rue_json_reader *reader, const struct rue_field *field, const json_t *value,
                      void *to)
{
    size_t count = json_array_size(value);
    char *elements = open_list(reader, field, count, (char *)to + field->offset);
    for (size_t i = 0; reader->status == RUE_OK && i < count; i++) {
        size_t length = rue_json_enter_at(reader, i);
        const json_t *item = json_array_get(value, i);
        if (field->fields->name[0])
            rue_json_read_fields(reader, item, field->fields, elements + i * field->element);
        else
            read_value(reader, field->fields, item, elements + i * field->element);
        rue_json_exit(reader, length);
    }
    *(size_t *)((char *)to + field->count) = reader->status == RUE_OK ? count : 0;
}

static size_t list_most(const struct rue_field *field)
{
    return field->flags & RUE_FIELD_POINTED ? rue_field_most(field) : field->bytes / field->element;
}

/* False: the value is of another kind. */
static bool read_kind(struct rue_json_reader *reader, const struct rue_field *field, const json_t *value,
                      void *to)
{
    void *at = (char *)to + field->offset;
    switch (field->kind) {
    case RUE_FIELD_FLAG:
        rue_field_set_number(field, to, json_is_true(value));
        return json_is_boolean(value);
    case RUE_FIELD_NUMBER:
        return read_number(field, value, to);
    case RUE_FIELD_WORD:
        return read_word(field, value, to);
    case RUE_FIELD_REAL:
    case RUE_FIELD_SECONDS:
        return read_real(field, value, at);
    case RUE_FIELD_TEXT:
        return read_text(field, value, at);
    case RUE_FIELD_STRING:
        *(const char **)at = json_string_value(value);
        return json_is_string(value);
    case RUE_FIELD_CONFIG:
        return rue_json_read_config(reader, value, at), true;
    case RUE_FIELD_STRUCT:
        if (json_is_object(value)) rue_json_read_fields(reader, value, field->fields, at);
        return json_is_object(value);
    case RUE_FIELD_LIST:
        if (!json_is_array(value) || json_array_size(value) > list_most(field)) return false;
        return read_list(reader, field, value, to), true;
    case RUE_FIELD_OTHER:
        return field->type->read(reader, value, at), true;
    }
    return true;
}

static void format_expected(const struct rue_field *field, char out[EXPECTED_BYTES])
{
    static const char *const names[] = {
        [RUE_FIELD_FLAG] = "true or false", [RUE_FIELD_NUMBER] = "a whole number",
        [RUE_FIELD_WORD] = "one of",        [RUE_FIELD_REAL] = "a number",
        [RUE_FIELD_SECONDS] = "a number",   [RUE_FIELD_TEXT] = "a text",
        [RUE_FIELD_STRING] = "a text",      [RUE_FIELD_CONFIG] = "an object",
        [RUE_FIELD_STRUCT] = "an object",   [RUE_FIELD_LIST] = "a list",
        [RUE_FIELD_OTHER] = "valid"};
    size_t used = (size_t)snprintf(out, EXPECTED_BYTES, "%s", names[field->kind]);
    if (field->kind == RUE_FIELD_NUMBER || (field->kind == RUE_FIELD_REAL && field->most))
        snprintf(out + used, EXPECTED_BYTES - used, " from %" PRIu64 " to %" PRIu64, field->least,
                 rue_field_most(field));
    if (field->kind == RUE_FIELD_TEXT)
        snprintf(out + used, EXPECTED_BYTES - used, " of at most %zu bytes", field->bytes - 1);
    if (field->kind == RUE_FIELD_LIST)
        snprintf(out + used, EXPECTED_BYTES - used, " of at most %zu values", list_most(field));
    for (size_t i = 0; field->kind == RUE_FIELD_WORD && field->words[i]; i++) {
        used = strlen(out);
        snprintf(out + used, EXPECTED_BYTES - used, "%s %s", i ? "," : "", field->words[i]);
    }
}

static void refuse_value(struct rue_json_reader *reader, const struct rue_field *field, const json_t *value)
{
    char expected[2 * EXPECTED_BYTES], found[64];
    rue_json_describe(value, found, sizeof found);
    format_expected(field, expected);
    size_t used = strlen(expected);
    snprintf(expected + used, sizeof expected - used, ": %s %s", value ? "got" : "it is", found);
    rue_json_refuse(reader, NULL, expected);
}

static void read_value(struct rue_json_reader *reader, const struct rue_field *field, const json_t *value,
                       void *to)
{
    size_t length = field->name[0] ? rue_json_enter(reader, field->name) : strlen(reader->place);
    if (!value || !read_kind(reader, field, value, to)) refuse_value(reader, field, value);
    rue_json_exit(reader, length);
}

void rue_json_read_field(struct rue_json_reader *reader, const json_t *object, const struct rue_field *field,
                         void *to)
{
    if (reader->status != RUE_OK || field->flags & RUE_FIELD_WRITTEN) return;
    const json_t *value = json_object_get(object, field->name);
    bool absent = !value || json_is_null(value),
         real = field->kind >= RUE_FIELD_REAL && field->kind <= RUE_FIELD_SECONDS,
         optional = field->flags & (RUE_FIELD_OPTIONAL | RUE_FIELD_NULL | RUE_FIELD_OMIT);
    if (field->kind == RUE_FIELD_FLAG && !field->name[0])
        rue_field_set_number(field, to, true);
    else if (absent && real && !optional && !field->most)
        *(double *)((char *)to + field->offset) = NAN;
    else if (!absent || !optional)
        read_value(reader, field, value, to);
}

void rue_json_read_fields(struct rue_json_reader *reader, const json_t *object,
                          const struct rue_field *fields, void *to)
{
    if (!json_is_object(object)) rue_json_refuse(reader, NULL, "an object");
    for (const struct rue_field *field = fields; field->name; field++)
        rue_json_read_field(reader, object, field, to);
}

const json_t *rue_json_object(struct rue_json_reader *reader, const json_t *parent, const char *key,
                              bool optional)
{
    const json_t *value = reader->status == RUE_OK ? json_object_get(parent, key) : NULL;
    if (json_is_object(value)) return value;
    if (!optional || (value && !json_is_null(value))) rue_json_refuse(reader, key, "an object");
    return NULL;
}

size_t rue_json_list(struct rue_json_reader *reader, const json_t *parent, const char *key, size_t most,
                     const json_t **out)
{
    *out = reader->status == RUE_OK ? json_object_get(parent, key) : NULL;
    if (json_is_array(*out) && json_array_size(*out) <= most) return json_array_size(*out);
    char expected[EXPECTED_BYTES];
    snprintf(expected, sizeof expected, "a list of at most %zu values", most);
    rue_json_refuse(reader, key, expected);
    return 0;
}
