/* A configuration: a value for each knob of a list. */
#ifndef RUE_CONFIG_H
#define RUE_CONFIG_H

#include <stdint.h>

#include "knob.h"
#include "loading.h"

struct rue_config {
    const struct rue_knobs *knobs; /* NULL: rue's own */
    int value[RUE_KNOBS_MAX];      /* [knobs->count] */
};

/* Every knob at its default: of rue's own knobs, or of a list. */
struct rue_config rue_config_default(void);
struct rue_config rue_config_default_for(const struct rue_knobs *knobs);

static inline const struct rue_knobs *rue_config_knobs(const struct rue_config *config)
{
    return config->knobs ? config->knobs : &rue_own_knobs;
}

/* Of `images` those that are loaded: where the last batch is left out unless it is full, whole batches; all
 * of them where not one batch is full. */
uint64_t rue_config_images(const struct rue_config *config, bool drop_last, uint64_t images);

/* Whether they are the same configuration: a knob that only one of them has is at its default there. */
bool rue_config_equal(const struct rue_config *a, const struct rue_config *b);

/* Grid order, for qsort and bsearch: by the values of the knobs, in the order of the list, which is the same
 * for both. */
int rue_config_compare(const void *a, const void *b);

/* Whether the knob is to be written: not at its default, unless it is always shown. */
bool rue_config_is_shown(const struct rue_config *config, size_t knob);

/* Canonical JSON, keys in the list's order, knobs at their default left out unless
 * `always_shown`: {"batch_size":128,"num_workers":8}. Adding a knob later does not change the text of older
 * configurations. */
void rue_config_canonical(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* For people: "batch_size 128, num_workers 8", and other knobs that are not at their default. */
void rue_config_describe(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* For tables: "128/8", with " prefetch_factor=4" and the like where not at the default. */
void rue_config_label(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* How many batches may be in flight between the workers and the consumer for a job of `batches`:
 * min(W * prefetch_factor, batches), at least 1. */
uint64_t rue_config_window(const struct rue_config *config, uint64_t batches);

#endif
