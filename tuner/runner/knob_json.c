#include "knob_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variant.h"

enum { COUNT_MAX = 65536 };

/* A declaration that is being read, and room for the texts of its values. */
struct declaration {
    struct rue_knob_info knob;
    char texts[RUE_KNOB_WORDS_MAX][RUE_KNOB_TEXT_BYTES];
    const char *words[RUE_KNOB_WORDS_MAX + 1];
    double numbers[RUE_KNOB_WORDS_MAX];
};

bool rue_knob_json_value(const struct rue_knob_info *knob, const json_t *value, int *out)
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

/* Adds a number in its place, or a word behind the others. */
static bool add_value(struct declaration *declaration, const json_t *value)
{
    struct rue_knob_info *knob = &declaration->knob;
    int count = knob->max + 1, at = count;
    if (count == RUE_KNOB_WORDS_MAX) return false;
    if (knob->kind == RUE_KIND_CATEGORY) {
        if (!json_is_string(value) || json_string_length(value) >= RUE_KNOB_TEXT_BYTES) return false;
        snprintf(declaration->texts[at], RUE_KNOB_TEXT_BYTES, "%s", json_string_value(value));
    } else {
        if (!json_is_number(value)) return false;
        double number = json_number_value(value);
        while (at > 0 && declaration->numbers[at - 1] > number) at--;
        memmove(declaration->numbers + at + 1, declaration->numbers + at,
                (size_t)(count - at) * sizeof number);
        memmove(declaration->texts + at + 1, declaration->texts + at,
                (size_t)(count - at) * sizeof *declaration->texts);
        declaration->numbers[at] = number;
        snprintf(declaration->texts[at], RUE_KNOB_TEXT_BYTES, "%.12g", number);
    }
    knob->max = count;
    return true;
}

/* The bounds of a count: those that are named, or the least and the most of its values. */
static bool read_bounds(struct rue_knob_info *knob, const json_t *object, const json_t *values)
{
    const json_t *least = json_object_get(object, "min"), *most = json_object_get(object, "max"), *value;
    size_t i;
    if ((least && !json_is_integer(least)) || (most && !json_is_integer(most))) return false;
    json_int_t low = least ? json_integer_value(least) : 0,
               high = most ? json_integer_value(most) : COUNT_MAX;
    if (json_array_size(values) && !least) low = json_integer_value(json_array_get(values, 0));
    if (json_array_size(values) && !most) high = low;
    json_array_foreach((json_t *)values, i, value)
    {
        if (!json_is_integer(value)) return false;
        if (!least && json_integer_value(value) < low) low = json_integer_value(value);
        if (!most && json_integer_value(value) > high) high = json_integer_value(value);
    }
    if (low < 0 || high > COUNT_MAX || low > high) return false;
    knob->min = (int)low;
    knob->max = (int)high;
    return true;
}

static bool read_values(struct declaration *declaration, const json_t *object)
{
    static const char *const booleans[] = {"false", "true", NULL};
    struct rue_knob_info *knob = &declaration->knob;
    const json_t *values = json_object_get(object, "values"), *value;
    size_t i;
    if (values && !json_is_array(values)) return false;
    if (knob->kind == RUE_KIND_COUNT) return read_bounds(knob, object, values);
    if (knob->kind == RUE_KIND_FLAG) {
        knob->words = booleans;
        knob->max = 1;
        return true;
    }
    knob->max = -1;
    json_array_foreach((json_t *)values, i, value) if (!add_value(declaration, value)) return false;
    for (int v = 0; v <= knob->max; v++) declaration->words[v] = declaration->texts[v];
    knob->words = declaration->words;
    if (knob->kind == RUE_KIND_NUMBER) knob->numbers = declaration->numbers;
    return knob->max >= 0;
}

static const char *text_member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static rue_status read_declaration(const json_t *object, struct declaration *out, rue_error *error)
{
    const char *name = text_member(object, "name"), *kind = text_member(object, "kind"),
               *help = text_member(object, "help");
    int found = kind ? rue_word_find(rue_knob_kind_names, RUE_KNOB_KINDS, kind) : -1;
    if (!name || found < 0)
        return rue_fail(error, RUE_USAGE,
                        "%.60s: a knob needs a \"name\" and a \"kind\": count, number, category or flag",
                        name ? name : "?");
    *out =
        (struct declaration){.knob = {.name = name,
                                      .kind = (enum rue_knob_kind)found,
                                      .needs_workers = json_is_true(json_object_get(object, "needs_workers")),
                                      .torch = text_member(object, "pytorch"),
                                      .help = help ? help : ""}};
    if (!read_values(out, object))
        return rue_fail(
            error, RUE_USAGE,
            "%.60s: \"values\" must be 1 to %d words (category) or numbers (number, count); a count "
            "may have \"min\" and \"max\" from 0 to %d instead",
            name, RUE_KNOB_WORDS_MAX, COUNT_MAX);
    const json_t *fallback = json_object_get(object, "default");
    out->knob.fallback = out->knob.min;
    if (fallback && !rue_knob_json_value(&out->knob, fallback, &out->knob.fallback))
        return rue_fail(error, RUE_USAGE, "%.60s: its default is not one of its values", name);
    return RUE_OK;
}

rue_status rue_knob_json_read(const json_t *array, const struct rue_knobs **out, rue_error *error)
{
    struct rue_knob_info knobs[RUE_KNOBS_MAX];
    size_t count = json_array_size(array);
    *out = &rue_own_knobs;
    if (!array || json_is_null(array)) return RUE_OK;
    if (!json_is_array(array) || count > RUE_KNOBS_MAX)
        return rue_fail(error, RUE_USAGE, "it is not a list of up to %d knobs", RUE_KNOBS_MAX);
    struct declaration *declarations = calloc(count + 1, sizeof *declarations);
    if (!declarations) return rue_fail_memory(error, "knobs", (count + 1) * sizeof *declarations);
    rue_status status = RUE_OK;
    for (size_t k = 0; status == RUE_OK && k < count; k++) {
        status = read_declaration(json_array_get(array, k), &declarations[k], error);
        knobs[k] = declarations[k].knob;
    }
    if (status == RUE_OK) status = rue_knobs_extend(knobs, count, out, error);
    free(declarations);
    return status;
}
