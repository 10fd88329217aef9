#include "knob_json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "variant.h"

enum { COUNT_MAX = 65536, HELP_BYTES = 256 };

/* A declared knob, and the memory that it points to. */
struct declaration {
    struct rue_knob_info knob;
    char name[RUE_KNOB_TEXT_BYTES], torch[RUE_KNOB_TEXT_BYTES], help[HELP_BYTES];
    char texts[RUE_KNOB_WORDS_MAX][RUE_KNOB_TEXT_BYTES];
    const char *words[RUE_KNOB_WORDS_MAX + 1];
    double numbers[RUE_KNOB_WORDS_MAX];
};

/* Lists are never freed, because copies of configurations point to them. */
static struct knob_list {
    struct rue_knobs knobs;
    char *text; /* the declarations as JSON, to find equal lists */
    struct knob_list *next;
    struct declaration declarations[];
} * all_lists;

/* Inserts a number in ascending order, or appends a word. */
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

/* The bounds of a count: "min" and "max", or those of its values. */
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

static bool is_identifier(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= RUE_KNOB_TEXT_BYTES || isdigit((unsigned char)*name)) return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_') return false;
    return true;
}

static rue_status check_words(const struct rue_knob_info *knob, rue_error *error)
{
    int count = 0;
    for (; knob->words && knob->words[count]; count++) {
        if (!*knob->words[count] || strpbrk(knob->words[count], ",;\"\\"))
            return rue_fail(error, RUE_USAGE,
                            "%s: the value '%s' is empty, or has a comma, semicolon, quote or backslash",
                            knob->name, knob->words[count]);
        for (int v = 0; v < count; v++)
            if (strcmp(knob->words[v], knob->words[count]) == 0)
                return rue_fail(error, RUE_USAGE, "%s: the value %s is listed twice", knob->name,
                                knob->words[count]);
    }
    return RUE_OK;
}

/* The most bytes of the knob in the text of a configuration. */
static size_t text_bytes(const struct rue_knob_info *knob)
{
    size_t longest = 11;
    for (int v = 0; knob->words && knob->words[v]; v++)
        longest = strlen(knob->words[v]) > longest ? strlen(knob->words[v]) : longest;
    return strlen(knob->name) + longest + sizeof "\"\":\"\",";
}

static rue_status check_knob(const struct rue_knobs *list, const struct rue_knob_info *knob, rue_error *error)
{
    if (rue_knob_find(list, knob->name) >= 0)
        return rue_fail(error, RUE_USAGE, "%s is declared twice, or is one of rue's own knobs", knob->name);
    if (list->count == RUE_KNOBS_MAX)
        return rue_fail(error, RUE_USAGE, "there are more than %d knobs", RUE_KNOBS_MAX - RUE_OWN_KNOB_COUNT);
    return check_words(knob, error);
}

/* Copies a text member, cut to `bytes`. NULL: no such member. */
static const char *copy_member(const json_t *object, const char *key, char *out, size_t bytes)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text) snprintf(out, bytes, "%s", text);
    return text ? out : NULL;
}

static rue_status read_declaration(const json_t *object, struct declaration *out, rue_error *error)
{
    const char *name = json_string_value(json_object_get(object, "name")),
               *kind = json_string_value(json_object_get(object, "kind"));
    int found = kind ? rue_word_find(rue_knob_kind_names, RUE_KNOB_KINDS, kind) : -1;
    if (!name || found < 0)
        return rue_fail(error, RUE_USAGE,
                        "%.60s: a knob needs \"name\", and \"kind\": count, number, category or flag",
                        name ? name : "?");
    if (!is_identifier(name))
        return rue_fail(
            error, RUE_USAGE,
            "'%.60s' is not a name of letters, digits and _ with less than %d bytes, such as num_threads",
            name, RUE_KNOB_TEXT_BYTES);
    copy_member(object, "help", out->help, sizeof out->help);
    out->knob =
        (struct rue_knob_info){.name = copy_member(object, "name", out->name, sizeof out->name),
                               .kind = (enum rue_knob_kind)found,
                               .needs_workers = json_is_true(json_object_get(object, "needs_workers")),
                               .torch = copy_member(object, "pytorch", out->torch, sizeof out->torch),
                               .help = out->help};
    if (!read_values(out, object))
        return rue_fail(error, RUE_USAGE,
                        "%.60s: \"values\" must be 1 to %d words of at most %d bytes (category) or numbers "
                        "(number, count); a "
                        "count may have \"min\" and \"max\" from 0 to %d instead",
                        name, RUE_KNOB_WORDS_MAX, RUE_KNOB_TEXT_BYTES - 1, COUNT_MAX);
    const json_t *fallback = json_object_get(object, "default");
    out->knob.fallback = out->knob.min;
    if (fallback && !rue_json_knob_read(&out->knob, fallback, &out->knob.fallback))
        return rue_fail(error, RUE_USAGE, "%s: \"default\" is not one of its values", name);
    return RUE_OK;
}

/* `*absent`: the object says that the loader does not have one of rue's own knobs. */
static rue_status read_absent(const json_t *object, struct rue_knobs *knobs, bool *absent, rue_error *error)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    int knob = name ? rue_knob_find(&rue_own_knobs, name) : -1;
    *absent = knob >= 0 && json_is_true(json_object_get(object, "absent"));
    if (!*absent) return RUE_OK;
    if (knob == RUE_BATCH_SIZE || knob == RUE_NUM_WORKERS)
        return rue_fail(error, RUE_USAGE,
                        "%s: \"absent\" is true, but every loader has it: give its value in \"space\"", name);
    knobs->lacks |= 1U << knob;
    return RUE_OK;
}

static rue_status read_list(const json_t *array, struct knob_list *out, rue_error *error)
{
    size_t i, bytes = 0;
    json_t *object;
    out->knobs = rue_own_knobs;
    json_array_foreach(array, i, object)
    {
        struct declaration *declaration = &out->declarations[i];
        bool absent;
        rue_status status = read_absent(object, &out->knobs, &absent, error);
        if (status == RUE_OK && absent) continue;
        if (status == RUE_OK) status = read_declaration(object, declaration, error);
        if (status == RUE_OK) status = check_knob(&out->knobs, &declaration->knob, error);
        if (status != RUE_OK) return status;
        out->knobs.at[out->knobs.count++] = &declaration->knob;
    }
    for (size_t k = 0; k < out->knobs.count; k++) bytes += text_bytes(out->knobs.at[k]);
    if (bytes < RUE_CONFIG_TEXT_BYTES) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "names and values together have %zu bytes, more than %d", bytes,
                    RUE_CONFIG_TEXT_BYTES - 1);
}

/* Returns an equal earlier list and frees `list`, or keeps `list`. NULL: out of memory. */
static const struct knob_list *keep_list(struct knob_list *list)
{
    json_t *words = rue_json_knobs(&list->knobs);
    const struct knob_list *known = all_lists;
    list->text = rue_json_dump(words, JSON_COMPACT);
    json_decref(words);
    while (list->text && known && strcmp(known->text, list->text) != 0) known = known->next;
    if (list->text && !known) {
        list->next = all_lists;
        return all_lists = list;
    }
    if (!list->text) known = NULL;
    free(list->text);
    free(list);
    return known;
}

rue_status rue_knob_json_read(const json_t *array, const struct rue_knobs **out, rue_error *error)
{
    size_t count = json_array_size(array);
    *out = &rue_own_knobs;
    if (!array || json_is_null(array)) return RUE_OK;
    if (!json_is_array(array) || count > RUE_KNOBS_MAX + RUE_OWN_KNOB_COUNT)
        return rue_fail(error, RUE_USAGE, "it is not a list of at most %d knobs", RUE_KNOBS_MAX);
    if (count == 0) return RUE_OK;
    size_t bytes = sizeof(struct knob_list) + count * sizeof(struct declaration);
    struct knob_list *list = calloc(1, bytes);
    if (!list) return rue_fail_memory(error, "knobs", bytes);
    rue_status status = read_list(array, list, error);
    if (status != RUE_OK) return free(list), status;
    const struct knob_list *kept = keep_list(list);
    if (!kept) return rue_fail_memory(error, "knobs", bytes);
    *out = &kept->knobs;
    return RUE_OK;
}
