#include "python_options.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "augmentation.h"

/* Writes a value as users do: 64, true, exact. */
static void write_value(const json_t *value, char *out, size_t bytes)
{
    if (json_is_string(value)) {
        snprintf(out, bytes, "%s", json_string_value(value));
        return;
    }
    size_t length = json_dumpb(value, out, bytes - 1, JSON_ENCODE_ANY | JSON_COMPACT);
    out[length < bytes ? length : bytes - 1] = 0;
}

static rue_status refuse(const char *name, const json_t *value, const char *expected, rue_error *error)
{
    char text[RUE_RECIPE_TEXT_BYTES];
    write_value(value, text, sizeof text);
    return rue_fail(error, RUE_USAGE, "%s %.80s: expected %s", name, text, expected);
}

static rue_status read_knob(const struct rue_knob_info *knob, const json_t *value, int *out, rue_error *error)
{
    char text[RUE_RECIPE_TEXT_BYTES], expected[RUE_RECIPE_TEXT_BYTES];
    bool suits = knob->kind == RUE_KIND_FLAG ? json_is_boolean(value)
                 : knob->words               ? json_is_string(value)
                                             : json_is_integer(value);
    write_value(value, text, sizeof text);
    if (suits && rue_knob_parse(knob, text, out)) return RUE_OK;
    rue_knob_describe(knob, expected, sizeof expected);
    return refuse(knob->name, value, expected, error);
}

static rue_status refuse_word(const struct rue_field *field, const json_t *value, rue_error *error)
{
    int count = 0;
    while (field->words[count]) count++;
    const struct rue_knob_info like = {.words = field->words, .max = count - 1};
    char expected[RUE_RECIPE_TEXT_BYTES];
    rue_knob_describe(&like, expected, sizeof expected);
    return refuse(field->name, value, expected, error);
}

static rue_status read_word(const struct rue_field *field, const json_t *value, void *to, rue_error *error)
{
    const char *word = json_string_value(value);
    for (uint64_t i = 0; word && field->words[i]; i++) {
        if (strcmp(field->words[i], word) != 0) continue;
        if (field->kind == RUE_FIELD_TEXT)
            snprintf((char *)to + field->offset, field->bytes, "%s", word);
        else
            rue_field_set_number(field, to, i);
        return RUE_OK;
    }
    return refuse_word(field, value, error);
}

static rue_status read_number(const struct rue_field *field, const json_t *value, void *to, rue_error *error)
{
    json_int_t number = json_is_true(value) ? 1 : json_integer_value(value);
    uint64_t most = rue_field_most(field);
    char expected[RUE_RECIPE_TEXT_BYTES];
    bool flag = field->kind == RUE_FIELD_FLAG;
    if (flag ? json_is_boolean(value)
             : json_is_integer(value) && number >= (json_int_t)field->least && (uint64_t)number <= most)
        return rue_field_set_number(field, to, (uint64_t)number), RUE_OK;
    snprintf(expected, sizeof expected, flag ? "true or false" : "a whole number from %llu to %llu",
             (unsigned long long)field->least, (unsigned long long)most);
    return refuse(field->name, value, expected, error);
}

/* A preset becomes its text. */
static rue_status read_augment(const json_t *value, struct rue_workload *workload, rue_error *error)
{
    struct rue_views views;
    rue_error why = {0};
    const char *text = json_string_value(value);
    if (!text) return refuse("augment", value, "presets or recipes", error);
    rue_status status = rue_views_parse(text, &views, &why);
    if (status == RUE_OK) status = rue_views_format(&views, workload->augment, &why);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "augment: %s", why.message);
}

static rue_status read_name(const char *name, const json_t *value, char *out, size_t bytes, rue_error *error)
{
    const char *text = json_string_value(value);
    if (text && strlen(text) < bytes) return snprintf(out, bytes, "%s", text), RUE_OK;
    return refuse(name, value, "a name", error);
}

static rue_status read_field(const struct rue_field *field, const json_t *value,
                             struct rue_workload *workload, rue_error *error)
{
    if (field->words) return read_word(field, value, workload, error);
    if (field->offset == offsetof(struct rue_workload, augment)) return read_augment(value, workload, error);
    if (field->kind == RUE_FIELD_TEXT)
        return read_name(field->name, value, (char *)workload + field->offset, field->bytes, error);
    return read_number(field, value, workload, error);
}

static rue_status read_option(const char *name, const json_t *value, struct rue_python_options *out,
                              rue_error *error)
{
    int knob = rue_knob_find(&rue_own_knobs, name);
    const struct rue_field *field = rue_workload_fields;
    const struct {
        const char *name;
        char *text;
        size_t bytes;
    } names[] = {{"format", out->data.format, sizeof out->data.format},
                 {"image_key", out->data.image_key, sizeof out->data.image_key},
                 {"label_key", out->data.label_key, sizeof out->data.label_key}};
    static const struct rue_field memory = {"memory_bytes", RUE_FIELD_NUMBER,
                                            RUE_FIELD_AT(rue_python_options, memory_bytes)};
    if (json_is_null(value)) return RUE_OK;
    if (knob >= 0) return read_knob(rue_own_knobs.at[knob], value, &out->config.value[knob], error);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            return read_name(name, value, names[i].text, names[i].bytes, error);
    if (strcmp(memory.name, name) == 0) return read_number(&memory, value, out, error);
    while (field->name && strcmp(field->name, name) != 0) field++;
    if (field->name) return read_field(field, value, &out->workload, error);
    return rue_fail(error, RUE_USAGE, "unknown option '%.80s'", name);
}

rue_status rue_python_read_options(const char *text, struct rue_python_options *out, rue_error *error)
{
    json_error_t fault;
    json_t *object = json_loads(text, 0, &fault), *value;
    const char *name;
    rue_status status = RUE_OK;
    *out = (struct rue_python_options){.config = rue_config_default(), .workload = rue_workload_default()};
    if (!json_is_object(object)) {
        json_decref(object);
        return rue_fail(error, RUE_USAGE, "the options are not a JSON object: %s", fault.text);
    }
    json_object_foreach(object, name, value)
    {
        if (status == RUE_OK) status = read_option(name, value, out, error);
    }
    json_decref(object);
    struct rue_workload *workload = &out->workload;
    if (status == RUE_OK && !rue_workload_trains(workload)) workload->augment[0] = 0;
    if (status == RUE_OK) status = rue_workload_check_geometry(workload, error);
    if (status == RUE_OK && workload->rank >= workload->world_size)
        return rue_fail(error, RUE_USAGE, "rank %d is out of range: there are %d ranks, from 0 to %d",
                        workload->rank, workload->world_size, workload->world_size - 1);
    return status;
}
