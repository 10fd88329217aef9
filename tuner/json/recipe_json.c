#include "recipe_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "json_file.h"
#include "recipe.h"
#include "suggest.h"

static bool read_number(const json_t *value, float *out)
{
    if (!json_is_number(value)) return false;
    *out = (float)json_number_value(value);
    return true;
}

static bool is_range(const struct rue_recipe_number *number)
{
    return strcmp(number->name, "minimum") == 0;
}

static bool read_range(const json_t *value, float *out)
{
    return json_array_size(value) == 2 && read_number(json_array_get(value, 0), &out[0]) &&
           read_number(json_array_get(value, 1), &out[1]);
}

/* An object with a key for each number, and "range" for a minimum and a maximum. */
static bool read_object(const struct rue_recipe_part *part, const json_t *value, float *out)
{
    size_t keys = 0;
    for (int i = 0; i < part->count; i++, keys++) {
        if (is_range(&part->numbers[i])) {
            if (!read_range(json_object_get(value, "range"), &out[i])) return false;
            i++;
        } else if (!read_number(json_object_get(value, part->numbers[i].name), &out[i]))
            return false;
    }
    return json_object_size(value) == keys;
}

static rue_status fail_form(const struct rue_recipe_part *part, rue_error *error)
{
    char keys[256] = "";
    size_t length = 0;
    for (int i = 0; i < part->count; i++) {
        const char *name = part->numbers[i].name, *comma = i ? ", " : "";
        if (is_range(&part->numbers[i]))
            return rue_fail(error, RUE_USAGE, "%s: expected {%s%s\"range\": [minimum, maximum]}", part->name,
                            keys, comma);
        length += (size_t)snprintf(keys + length, sizeof keys - length, "%s\"%s\": %s", comma, name,
                                   strcmp(name, "probability") == 0 ? "P" : "N");
    }
    return rue_fail(error, RUE_USAGE, "%s: expected {%s}", part->name, keys);
}

static rue_status read_part(const struct rue_recipe_part *part, const json_t *value, float *out,
                            rue_error *error)
{
    bool plain = part->count == 1, range = is_range(part->numbers);
    if (plain ? read_number(value, out) : range ? read_range(value, out) : read_object(part, value, out))
        return RUE_OK;
    if (!plain && !range) return fail_form(part, error);
    return rue_fail(error, RUE_USAGE, "%s: expected %s", part->name,
                    plain ? "a probability, such as 0.5" : "[minimum, maximum]");
}

static rue_status fail_unknown(const char *key, rue_error *error)
{
    const char *names[RUE_RECIPE_PARTS];
    char near[RUE_SUGGESTION_BYTES];
    for (int p = 0; p < RUE_RECIPE_PARTS; p++) names[p] = rue_recipe_parts[p].name;
    rue_did_you_mean(key, names, RUE_RECIPE_PARTS, "", near);
    return rue_fail(error, RUE_USAGE, "unknown key '%.80s'%s", key,
                    *near ? near : "; docs/augmentation.md lists the keys");
}

static rue_status read_part_named(const char *key, const json_t *value, struct rue_recipe *out,
                                  rue_error *error)
{
    for (const struct rue_recipe_part *part = rue_recipe_parts; part < rue_recipe_parts + RUE_RECIPE_PARTS;
         part++)
        if (strcmp(part->name, key) == 0) return read_part(part, value, rue_recipe_numbers(out, part), error);
    return fail_unknown(key, error);
}

/* A number of pixels, "HEIGHTxWIDTH", or [height, width]. */
static rue_status read_size(const json_t *value, struct rue_view *out, rue_error *error)
{
    char number[64] = "";
    json_int_t height = json_integer_value(json_array_get(value, 0)),
               width = json_integer_value(json_array_get(value, 1));
    if (json_array_size(value) == 2)
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT "x%" JSON_INTEGER_FORMAT, height, width);
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return rue_view_set_size(out, json_is_string(value) ? json_string_value(value) : number, error);
}

static rue_status read_times(const json_t *value, uint64_t *out, rue_error *error)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 1)
        return rue_fail(error, RUE_USAGE, "views: expected a whole number from 1 to %d", RUE_VIEWS_MAX);
    *out = (uint64_t)number;
    return RUE_OK;
}

/* One object, which may stand for several equal views. */
static rue_status add_object(struct rue_views *views, const json_t *object, rue_error *error)
{
    struct rue_view view = {.recipe = rue_recipe_default()};
    uint64_t times = 1;
    const char *key;
    json_t *value;
    rue_status status = RUE_OK;
    json_object_foreach((json_t *)object, key, value)
    {
        if (strcmp(key, "views") == 0)
            status = read_times(value, &times, error);
        else if (strcmp(key, "image_size") == 0)
            status = read_size(value, &view, error);
        else
            status = read_part_named(key, value, &view.recipe, error);
        if (status != RUE_OK) return status;
    }
    status = rue_recipe_check(&view.recipe, error);
    return status == RUE_OK ? rue_views_add(views, &view, times, error) : status;
}

static rue_status add_view(struct rue_views *views, const json_t *value, rue_error *error)
{
    if (json_is_object(value)) return add_object(views, value, error);
    if (!json_is_string(value))
        return rue_fail(error, RUE_USAGE,
                        "expected an object, such as {\"flip\": 0.5}, or a list of objects and presets");
    struct rue_views more;
    rue_status status = rue_views_parse(json_string_value(value), &more, error);
    for (uint32_t v = 0; status == RUE_OK && v < more.count; v++)
        status = rue_views_add(views, &more.at[v], 1, error);
    return status;
}

rue_status rue_views_read(const json_t *root, struct rue_views *out, rue_error *error)
{
    size_t i;
    json_t *value;
    rue_status status = RUE_OK;
    out->count = 0;
    if (!json_is_array(root) || json_array_size(root) == 0) return add_view(out, root, error);
    json_array_foreach((json_t *)root, i, value)
    {
        if (status == RUE_OK) status = add_view(out, value, error);
    }
    return status;
}

rue_status rue_views_read_file(const char *path, struct rue_views *out, rue_error *error)
{
    json_t *root;
    rue_error why = {0};
    rue_status status = rue_json_file_read(path, "give a recipe as in docs/augmentation.md", &root, &why);
    if (status != RUE_OK) return rue_fail(error, status == RUE_DATA ? RUE_USAGE : status, "%s", why.message);
    status = rue_views_read(root, out, &why);
    json_decref(root);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s: %s", path, why.message);
}
