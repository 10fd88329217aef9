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

rue_status rue_recipe_read(const json_t *object, struct rue_recipe *out, rue_error *error)
{
    const char *key;
    json_t *value;
    rue_status status = RUE_OK;
    *out = rue_recipe_default();
    if (!json_is_object(object))
        return rue_fail(error, RUE_USAGE, "expected an object, such as {\"flip\": 0.5}");
    json_object_foreach((json_t *)object, key, value)
    {
        int p = 0;
        while (p < RUE_RECIPE_PARTS && strcmp(rue_recipe_parts[p].name, key) != 0) p++;
        status = p == RUE_RECIPE_PARTS ? fail_unknown(key, error)
                                       : read_part(&rue_recipe_parts[p], value,
                                                   rue_recipe_numbers(out, &rue_recipe_parts[p]), error);
        if (status != RUE_OK) return status;
    }
    return rue_recipe_check(out, error);
}

rue_status rue_recipe_read_file(const char *path, struct rue_recipe *out, rue_error *error)
{
    json_t *root;
    rue_error why = {0};
    rue_status status = rue_json_file_read(path, "give a recipe as in docs/augmentation.md", &root, &why);
    if (status != RUE_OK) return rue_fail(error, status == RUE_DATA ? RUE_USAGE : status, "%s", why.message);
    status = rue_recipe_read(root, out, &why);
    json_decref(root);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s: %s", path, why.message);
}
