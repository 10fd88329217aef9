#include "config.h"

#include <stdio.h>
#include <string.h>

struct rue_config rue_config_default_for(const struct rue_knobs *knobs)
{
    struct rue_config config = {.knobs = knobs};
    for (size_t k = 0; k < knobs->count; k++) config.value[k] = knobs->at[k]->fallback;
    return config;
}

struct rue_config rue_config_default(void)
{
    return rue_config_default_for(&rue_own_knobs);
}

uint64_t rue_config_images(const struct rue_config *config, bool drop_last, uint64_t images)
{
    uint64_t batch = (uint64_t)config->value[RUE_BATCH_SIZE];
    return drop_last && images >= batch ? images - images % batch : images;
}

bool rue_config_equal(const struct rue_config *a, const struct rue_config *b)
{
    char first[RUE_CONFIG_TEXT_BYTES], second[RUE_CONFIG_TEXT_BYTES];
    const struct rue_knobs *knobs = rue_config_knobs(a);
    if (knobs == rue_config_knobs(b)) return memcmp(a->value, b->value, knobs->count * sizeof *a->value) == 0;
    rue_config_canonical(a, first);
    rue_config_canonical(b, second);
    return strcmp(first, second) == 0;
}

/* Appends to a text of RUE_CONFIG_TEXT_BYTES. */
static void append_text(char *out, const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, RUE_CONFIG_TEXT_BYTES - used, "%s", text);
}

int rue_config_compare(const void *a, const void *b)
{
    const struct rue_config *x = a, *y = b;
    for (size_t k = 0; k < rue_config_knobs(x)->count; k++)
        if (x->value[k] != y->value[k]) return x->value[k] < y->value[k] ? -1 : 1;
    return 0;
}

bool rue_config_is_shown(const struct rue_config *config, size_t k)
{
    const struct rue_knob_info *knob = rue_config_knobs(config)->at[k];
    return knob->always_shown || config->value[k] != knob->fallback;
}

/* Appends separator, name, `assign`, and the value between two `quote`. */
static void append_knob(const struct rue_config *config, size_t k, const char *separator, const char *assign,
                        const char *quote, char *out)
{
    const struct rue_knob_info *knob = rue_config_knobs(config)->at[k];
    char value[RUE_KNOB_TEXT_BYTES], member[3 * RUE_KNOB_TEXT_BYTES];
    rue_knob_format(knob, config->value[k], value);
    snprintf(member, sizeof member, "%s%s%s%s%s%s", separator, knob->name, assign, quote, value, quote);
    append_text(out, member);
}

void rue_config_canonical(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES])
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    out[0] = 0;
    for (size_t k = 0; k < knobs->count; k++)
        if (rue_config_is_shown(config, k))
            append_knob(config, k, out[0] ? ",\"" : "{\"",
                        "\":", knobs->at[k]->kind == RUE_KIND_CATEGORY ? "\"" : "", out);
    append_text(out, out[0] ? "}" : "{}");
}

static bool is_varied(const struct rue_config *config, size_t k, const struct rue_config *others,
                      size_t count)
{
    bool varied = false;
    if (rue_config_knobs(config)->at[k]->needs_workers && config->value[RUE_NUM_WORKERS] == 0) return false;
    for (size_t i = 0; !varied && i < count; i++) varied = others[i].value[k] != config->value[k];
    return varied;
}

void rue_config_describe_varied(const struct rue_config *config, const struct rue_config *others,
                                size_t count, char out[RUE_CONFIG_TEXT_BYTES])
{
    out[0] = 0;
    for (size_t k = 0; k < rue_config_knobs(config)->count; k++)
        if (rue_config_is_shown(config, k) || is_varied(config, k, others, count))
            append_knob(config, k, out[0] ? ", " : "", " ", "", out);
}

void rue_config_describe(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES])
{
    rue_config_describe_varied(config, NULL, 0, out);
}

void rue_config_label(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES])
{
    snprintf(out, RUE_CONFIG_TEXT_BYTES, "%d/%d", config->value[RUE_BATCH_SIZE],
             config->value[RUE_NUM_WORKERS]);
    for (size_t k = RUE_NUM_WORKERS + 1; k < rue_config_knobs(config)->count; k++)
        if (rue_config_is_shown(config, k)) append_knob(config, k, " ", "=", "", out);
}

uint64_t rue_config_window(const struct rue_config *config, uint64_t batches)
{
    uint64_t window = (uint64_t)config->value[RUE_NUM_WORKERS] * (uint64_t)config->value[RUE_PREFETCH_FACTOR];
    uint64_t cap = (uint64_t)config->value[RUE_MAX_QUEUE_SIZE];
    if (cap && window > cap) window = cap;
    if (window < 1) window = 1;
    return window < batches || batches == 0 ? window : batches;
}
