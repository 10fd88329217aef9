#include "knob.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "loading.h"

const char *const rue_knob_kind_names[RUE_KNOB_KINDS + 1] = {"count", "number", "category", "flag", NULL};

static const char *const boolean_names[] = {"false", "true", NULL};

static const struct rue_knob_info own_rows[RUE_OWN_KNOB_COUNT] = {
#define X(id, knob, of_kind, its_words, least, most, default_value, shown, workers, argument, text) \
    {.name = knob,                                                                                  \
     .kind = RUE_KIND_##of_kind,                                                                    \
     .words = its_words,                                                                            \
     .min = least,                                                                                  \
     .max = most,                                                                                   \
     .fallback = default_value,                                                                     \
     .always_shown = shown,                                                                         \
     .needs_workers = workers,                                                                      \
     .torch = argument,                                                                             \
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
    /* strtol also accepts leading blanks and a plus sign. */
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
    if (knob->kind == RUE_KIND_COUNT) return log2(fmax(1, value + (knob->min == 0)));
    if (knob->kind != RUE_KIND_NUMBER || knob->max == 0) return 0;
    return (knob->numbers[value] - knob->numbers[0]) / (knob->numbers[knob->max] - knob->numbers[0]);
}
