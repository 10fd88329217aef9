#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hash.h"

static const char *const parallelism_words[] = {"batch", "sample", NULL};
static const char *const boolean_words[] = {"false", "true", NULL};

const struct rue_knob_info rue_knobs[RUE_KNOB_COUNT] = {
    [RUE_BATCH_SIZE] = {"batch_size", NULL, 1, 65536, 1, true, false, "images in a batch"},
    [RUE_NUM_WORKERS] = {"num_workers", NULL, 0, 256, 0, true, false,
                         "loader workers; 0 loads in the consumer's thread"},
    [RUE_PREFETCH_FACTOR] = {"prefetch_factor", NULL, 1, 64, 2, false, false, "batches in flight per worker"},
    [RUE_PARALLELISM] = {"parallelism", parallelism_words, RUE_PARALLEL_BATCH, RUE_PARALLEL_SAMPLE,
                         RUE_PARALLEL_BATCH, false, false,
                         "a worker loads whole batches, or single samples of a shared one"},
    [RUE_PIN_MEMORY] = {"pin_memory", boolean_words, false, true, true, false, true,
                        "batches lie in page-locked memory, from which copies to a GPU run beside all else"},
};

struct rue_config rue_config_default(void)
{
    struct rue_config config;
    for (int k = 0; k < RUE_KNOB_COUNT; k++) config.value[k] = rue_knobs[k].fallback;
    return config;
}

uint64_t rue_config_images(const struct rue_config *config, bool drop_last, uint64_t images)
{
    uint64_t batch = (uint64_t)config->value[RUE_BATCH_SIZE];
    return drop_last && images >= batch ? images - images % batch : images;
}

bool rue_config_equal(const struct rue_config *a, const struct rue_config *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

int rue_knob_find(const char *name)
{
    for (int k = 0; k < RUE_KNOB_COUNT; k++)
        if (strcmp(rue_knobs[k].name, name) == 0) return k;
    return -1;
}

void rue_knob_format(enum rue_knob knob, int value, char *out, size_t bytes)
{
    if (rue_knobs[knob].words)
        snprintf(out, bytes, "%s", rue_knobs[knob].words[value]);
    else
        snprintf(out, bytes, "%d", value);
}

bool rue_knob_parse(enum rue_knob knob, const char *text, int *value)
{
    const struct rue_knob_info *info = &rue_knobs[knob];
    if (info->words) {
        for (int v = 0; info->words[v]; v++)
            if ((info->boolean ? strcasecmp : strcmp)(info->words[v], text) == 0) return *value = v, true;
        return false;
    }
    /* strtol would also take leading blanks and a plus sign. */
    char first = text[*text == '-'];
    if (first < '0' || first > '9') return false;
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < info->min || number > info->max) return false;
    *value = (int)number;
    return true;
}

/* Appends to a text of RUE_CONFIG_TEXT_BYTES, which all knobs at their longest fit in. */
static void append(char *out, const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, RUE_CONFIG_TEXT_BYTES - used, "%s", text);
}

static bool shown(const struct rue_config *config, int k)
{
    if (config->value[k] == RUE_KNOB_UNKNOWN) return false;
    return rue_knobs[k].always_shown || config->value[k] != rue_knobs[k].fallback;
}

void rue_config_canonical(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES])
{
    out[0] = 0;
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        if (!shown(config, k)) continue;
        const char *quote = rue_knobs[k].words && !rue_knobs[k].boolean ? "\"" : "";
        char value[32], member[96];
        rue_knob_format(k, config->value[k], value, sizeof value);
        snprintf(member, sizeof member, "%c\"%s\":%s%s%s", out[0] ? ',' : '{', rue_knobs[k].name, quote,
                 value, quote);
        append(out, member);
    }
    append(out, out[0] ? "}" : "{}");
}

void rue_config_describe(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES])
{
    bool any = false;
    out[0] = 0;
    for (int k = 0; k < RUE_KNOB_COUNT; k++) any |= shown(config, k);
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        if (any ? !shown(config, k) : config->value[k] == RUE_KNOB_UNKNOWN) continue;
        char value[32], member[96];
        rue_knob_format(k, config->value[k], value, sizeof value);
        snprintf(member, sizeof member, "%s%s %s", out[0] ? ", " : "", rue_knobs[k].name, value);
        append(out, member);
    }
}

void rue_config_label(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES])
{
    if (config->value[RUE_BATCH_SIZE] == RUE_KNOB_UNKNOWN ||
        config->value[RUE_NUM_WORKERS] == RUE_KNOB_UNKNOWN) {
        rue_config_describe(config, out);
        return;
    }
    snprintf(out, RUE_CONFIG_TEXT_BYTES, "%d/%d", config->value[RUE_BATCH_SIZE],
             config->value[RUE_NUM_WORKERS]);
    for (int k = RUE_NUM_WORKERS + 1; k < RUE_KNOB_COUNT; k++) {
        if (!shown(config, k)) continue;
        char value[32], member[96];
        rue_knob_format(k, config->value[k], value, sizeof value);
        snprintf(member, sizeof member, " %s=%s", rue_knobs[k].name, value);
        append(out, member);
    }
}

uint64_t rue_config_hash(const struct rue_config *config)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    rue_config_canonical(config, text);
    return rue_hash(RUE_HASH_START, text, strlen(text));
}

uint64_t rue_config_window(const struct rue_config *config, uint64_t batches)
{
    uint64_t window = (uint64_t)config->value[RUE_NUM_WORKERS] * (uint64_t)config->value[RUE_PREFETCH_FACTOR];
    if (window < 1) window = 1;
    return window < batches || batches == 0 ? window : batches;
}
