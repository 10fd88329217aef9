#include "workload_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"

static json_t *field_json(const struct rue_workload *workload, const struct rue_workload_field *field)
{
    uint64_t value = field->kind == RUE_WORKLOAD_TEXT ? 0 : rue_workload_get(workload, field);
    switch (field->kind) {
    case RUE_WORKLOAD_FLAG:
        return json_boolean(value);
    case RUE_WORKLOAD_WORD:
        return json_string(field->words[value]);
    case RUE_WORKLOAD_TEXT:
        return json_string((const char *)workload + field->offset);
    case RUE_WORKLOAD_COUNT:
    case RUE_WORKLOAD_INT:
        break;
    }
    return json_integer((json_int_t)value);
}

json_t *rue_workload_json(const struct rue_workload *workload)
{
    json_t *object = json_object();
    for (size_t i = 0; i < rue_workload_field_count; i++) {
        const struct rue_workload_field *field = &rue_workload_fields[i];
        if (field->always_written || rue_workload_get(workload, field) != field->fallback)
            json_object_set_new(object, field->name, field_json(workload, field));
    }
    return object;
}

static bool read_text(const struct rue_workload_field *field, const json_t *value, struct rue_workload *out)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) >= RUE_WORKLOAD_WORD_BYTES) return false;
    snprintf(rue_workload_text(out, field), RUE_WORKLOAD_WORD_BYTES, "%s", text);
    return true;
}

static bool read_field(const struct rue_workload_field *field, const json_t *value, struct rue_workload *out)
{
    uint64_t number = 0;
    if (field->kind == RUE_WORKLOAD_TEXT) return read_text(field, value, out);
    if (field->kind == RUE_WORKLOAD_FLAG) {
        number = json_is_true(value);
        if (!json_is_boolean(value)) return false;
    } else if (field->kind == RUE_WORKLOAD_WORD) {
        const char *word = json_string_value(value);
        while (word && field->words[number] && strcmp(field->words[number], word) != 0) number++;
        if (!word || !field->words[number]) return false;
    } else {
        number = (uint64_t)json_integer_value(value);
        if (!json_is_integer(value) || json_integer_value(value) < 0 || number < field->least ||
            number > field->most)
            return false;
    }
    rue_workload_set(out, field, number);
    return true;
}

static rue_status fail_field(const struct rue_workload_field *field, rue_error *error)
{
    char wanted[128] = "";
    for (int w = 0; field->words && field->words[w]; w++) {
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof wanted - used, "%s\"%s\"", w ? " or " : "", field->words[w]);
    }
    if (field->kind == RUE_WORKLOAD_FLAG) snprintf(wanted, sizeof wanted, "true or false");
    if (!wanted[0])
        snprintf(wanted, sizeof wanted, "a whole number from %" PRIu64 " to %" PRIu64, field->least,
                 field->most);
    return rue_fail(error, RUE_USAGE, "workload: \"%s\" must be %s", field->name, wanted);
}

rue_status rue_workload_read(const json_t *object, struct rue_workload *out, rue_error *error)
{
    *out = rue_workload_default();
    if (!object || json_is_null(object)) return RUE_OK;
    if (!json_is_object(object)) return rue_fail(error, RUE_USAGE, "the key \"workload\" is no object");
    for (size_t i = 0; i < rue_workload_field_count; i++) {
        const struct rue_workload_field *field = &rue_workload_fields[i];
        const json_t *value = json_object_get(object, field->name);
        if (value && !json_is_null(value) && !read_field(field, value, out)) return fail_field(field, error);
    }
    if (strcmp(out->transform, rue_transform_names[0]) != 0)
        return rue_fail(error, RUE_USAGE, "workload: unknown transform \"%s\"", out->transform);
    if (out->rank >= out->world_size)
        return rue_fail(error, RUE_USAGE, "workload: rank must be below world_size");
    return RUE_OK;
}

void rue_workload_canonical(const struct rue_workload *workload, char out[RUE_WORKLOAD_TEXT_BYTES])
{
    json_t *object = rue_workload_json(workload);
    char *text = rue_json_dump(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    snprintf(out, RUE_WORKLOAD_TEXT_BYTES, "%s", text ? text : "");
    free(text);
    json_decref(object);
}
