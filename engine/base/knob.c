#include "knob.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "loading.h"

const char *const rue_knob_kind_names[RUE_KNOB_KINDS + 1] = {"count", "number", "category", "flag", NULL};

static const char *const boolean_names[] = {"false", "true", NULL};

static const struct rue_knob_info own_rows[RUE_OWN_KNOB_COUNT] = {
#define X(id, knob, of_kind, its_words, least, most, usual, shown, workers, argument, text) \
    {.name = knob,                                                                          \
     .kind = RUE_KIND_##of_kind,                                                            \
     .words = its_words,                                                                    \
     .min = least,                                                                          \
     .max = most,                                                                           \
     .fallback = usual,                                                                     \
     .always_shown = shown,                                                                 \
     .needs_workers = workers,                                                              \
     .torch = argument,                                                                     \
     .help = text},
    RUE_OWN_KNOBS(X)
#undef X
};

const struct rue_knobs rue_own_knobs = {.count = RUE_OWN_KNOB_COUNT,
                                        .at = {
#define X(id, ...) &own_rows[RUE_##id],
                                            RUE_OWN_KNOBS(X)
#undef X
                                        }};

int rue_knob_find(const struct rue_knobs *knobs, const char *name)
{
    for (size_t k = 0; k < knobs->count; k++)
        if (strcmp(knobs->at[k]->name, name) == 0) return (int)k;
    return -1;
}

void rue_knob_format(const struct rue_knob_info *knob, int value, char out[RUE_KNOB_TEXT_BYTES])
{
    if (knob->words)
        snprintf(out, RUE_KNOB_TEXT_BYTES, "%s", knob->words[value]);
    else
        snprintf(out, RUE_KNOB_TEXT_BYTES, "%d", value);
}

static bool parse_listed(const struct rue_knob_info *knob, const char *text, int *value)
{
    char *end = NULL;
    double number = knob->numbers ? strtod(text, &end) : NAN;
    bool numeric = knob->numbers && end != text && !*end;
    for (int v = 0; knob->words[v]; v++) {
        bool same = numeric                       ? number == knob->numbers[v]
                    : knob->kind == RUE_KIND_FLAG ? strcasecmp(knob->words[v], text) == 0
                                                  : strcmp(knob->words[v], text) == 0;
        if (same) return *value = v, true;
    }
    return false;
}

bool rue_knob_parse(const struct rue_knob_info *knob, const char *text, int *value)
{
    if (knob->words) return parse_listed(knob, text, value);
    /* strtol would also take leading blanks and a plus sign. */
    char first = text[*text == '-'];
    if (first < '0' || first > '9') return false;
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < knob->min || number > knob->max) return false;
    *value = (int)number;
    return true;
}

void rue_knob_describe(const struct rue_knob_info *knob, char *out, size_t bytes)
{
    size_t used = 0;
    if (!knob->words) {
        snprintf(out, bytes, "a whole number from %d to %d", knob->min, knob->max);
        return;
    }
    for (int v = 0; knob->words[v] && used < bytes; v++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s",
                                 v == 0               ? ""
                                 : knob->words[v + 1] ? ", "
                                                      : " or ",
                                 knob->words[v]);
}

double rue_knob_position(const struct rue_knob_info *knob, int value)
{
    if (value == RUE_KNOB_UNKNOWN) return 0;
    if (knob->kind == RUE_KIND_COUNT) return log2(fmax(1, value + (knob->min == 0)));
    if (knob->kind != RUE_KIND_NUMBER || knob->max == 0) return 0;
    return (knob->numbers[value] - knob->numbers[0]) / (knob->numbers[knob->max] - knob->numbers[0]);
}

/* ---- lists that runners declare ---- */

struct declared {
    struct rue_knobs knobs;
    struct declared *next;
};

/* Lists are never freed: configurations, which point to them, are copied everywhere. */
static struct declared *all_declared;

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
        if (!*knob->words[count] || strlen(knob->words[count]) >= RUE_KNOB_TEXT_BYTES ||
            strpbrk(knob->words[count], ",\"\\"))
            return rue_fail(
                error, RUE_USAGE,
                "%s: a value is empty, longer than %d letters, or has a comma, quote or backslash",
                knob->name, RUE_KNOB_TEXT_BYTES - 1);
        for (int v = 0; v < count; v++)
            if (strcmp(knob->words[v], knob->words[count]) == 0)
                return rue_fail(error, RUE_USAGE, "%s: the value %s is there twice", knob->name,
                                knob->words[count]);
    }
    if (knob->words && (count == 0 || count != knob->max + 1 || count > RUE_KNOB_WORDS_MAX))
        return rue_fail(error, RUE_USAGE, "%s: it needs 1 to %d values", knob->name, RUE_KNOB_WORDS_MAX);
    return RUE_OK;
}

/* The most letters that the knob takes in the text of a configuration. */
static size_t text_bytes(const struct rue_knob_info *knob)
{
    size_t longest = 11;
    for (int v = 0; knob->words && knob->words[v]; v++)
        longest = strlen(knob->words[v]) > longest ? strlen(knob->words[v]) : longest;
    return strlen(knob->name) + longest + sizeof "\"\":\"\",";
}

static rue_status check_knob(const struct rue_knobs *list, const struct rue_knob_info *knob, rue_error *error)
{
    if (!is_identifier(knob->name))
        return rue_fail(error, RUE_USAGE,
                        "'%.60s' is not a name of letters, digits and _, such as num_threads", knob->name);
    if (rue_knob_find(list, knob->name) >= 0)
        return rue_fail(error, RUE_USAGE, "%s is declared twice, or is one of rue's own knobs", knob->name);
    if (list->count == RUE_KNOBS_MAX)
        return rue_fail(error, RUE_USAGE, "more than %d knobs", RUE_KNOBS_MAX - RUE_OWN_KNOB_COUNT);
    if (knob->min > knob->max || knob->min < 0 || knob->fallback < knob->min || knob->fallback > knob->max)
        return rue_fail(error, RUE_USAGE, "%s: its default is not one of its values", knob->name);
    return check_words(knob, error);
}

static bool same_knob(const struct rue_knob_info *a, const struct rue_knob_info *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->min == b->min && a->max == b->max &&
                a->fallback == b->fallback && a->needs_workers == b->needs_workers &&
                !a->torch == !b->torch && (!a->torch || strcmp(a->torch, b->torch) == 0) &&
                strcmp(a->help, b->help) == 0;
    for (int v = 0; same && a->words && v <= a->max; v++) same = strcmp(a->words[v], b->words[v]) == 0;
    return same;
}

static const struct rue_knobs *find_declared(const struct rue_knob_info *more, size_t count)
{
    for (const struct declared *at = all_declared; at; at = at->next) {
        size_t k = 0;
        if (at->knobs.count != RUE_OWN_KNOB_COUNT + count) continue;
        while (k < count && same_knob(at->knobs.at[RUE_OWN_KNOB_COUNT + k], &more[k])) k++;
        if (k == count) return &at->knobs;
    }
    return NULL;
}

static const char **copy_words(const struct rue_knob_info *knob)
{
    const char **words = calloc((size_t)knob->max + 2, sizeof *words);
    for (int v = 0; words && v <= knob->max; v++)
        if (!(words[v] = strdup(knob->words[v]))) return NULL;
    return words;
}

/* What a failed allocation leaves stays, as it is little. */
static const struct rue_knob_info *copy_knob(const struct rue_knob_info *knob)
{
    struct rue_knob_info *copy = malloc(sizeof *copy);
    if (!copy) return NULL;
    *copy = *knob;
    copy->name = strdup(knob->name);
    copy->help = strdup(knob->help);
    if (knob->torch) copy->torch = strdup(knob->torch);
    if (knob->words) copy->words = copy_words(knob);
    if (knob->numbers) {
        size_t bytes = ((size_t)knob->max + 1) * sizeof *knob->numbers;
        copy->numbers = malloc(bytes);
        if (copy->numbers) memcpy((double *)copy->numbers, knob->numbers, bytes);
    }
    bool whole = copy->name && copy->help && !copy->torch == !knob->torch && !copy->words == !knob->words &&
                 !copy->numbers == !knob->numbers;
    return whole ? copy : NULL;
}

rue_status rue_knobs_extend(const struct rue_knob_info *more, size_t count, const struct rue_knobs **out,
                            rue_error *error)
{
    if (count == 0) return *out = &rue_own_knobs, RUE_OK;
    struct rue_knobs list = rue_own_knobs;
    size_t bytes = 0;
    for (size_t k = 0; k < list.count; k++) bytes += text_bytes(list.at[k]);
    for (size_t k = 0; k < count; k++) {
        rue_status status = check_knob(&list, &more[k], error);
        if (status != RUE_OK) return status;
        bytes += text_bytes(&more[k]);
        list.at[list.count++] = &more[k];
    }
    if (bytes >= RUE_CONFIG_TEXT_BYTES)
        return rue_fail(error, RUE_USAGE, "names and values together are longer than %d letters",
                        RUE_CONFIG_TEXT_BYTES);
    *out = find_declared(more, count);
    if (*out) return RUE_OK;
    struct declared *declared = malloc(sizeof *declared);
    for (size_t k = RUE_OWN_KNOB_COUNT; declared && k < list.count; k++)
        if (!(list.at[k] = copy_knob(list.at[k]))) declared = NULL;
    if (!declared) return rue_fail_memory(error, "knobs", sizeof *declared);
    *declared = (struct declared){.knobs = list, .next = all_declared};
    all_declared = declared;
    *out = &declared->knobs;
    return RUE_OK;
}
