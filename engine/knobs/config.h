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

/* The configuration with every knob at its default: of rue's own knobs, or of `knobs`. */
struct rue_config rue_config_default(void);
struct rue_config rue_config_default_for(const struct rue_knobs *knobs);

static inline const struct rue_knobs *rue_config_knobs(const struct rue_config *config)
{
    return config->knobs ? config->knobs : &rue_own_knobs;
}

/* Number of images that a job of `images` loads. With `drop_last` these are whole batches, or all images if
 * no batch is full. */
uint64_t rue_config_images(const struct rue_config *config, bool drop_last, uint64_t images);

/* Whether both are the same configuration. A knob that one of them does not have counts as its default. */
bool rue_config_equal(const struct rue_config *a, const struct rue_config *b);

/* Grid order, for qsort and bsearch: by the values of the knobs in the order of their list. Both have the
 * same list. */
int rue_config_compare(const void *a, const void *b);

/* Whether texts contain the knob: it is always shown, or does not have its default. */
bool rue_config_is_shown(const struct rue_config *config, size_t knob);

/* Canonical JSON, keys in the order of the list: {"batch_size":128,"num_workers":8}. Omits knobs at their
 * default unless `always_shown`, so adding a knob does not change the text of older configurations. */
void rue_config_canonical(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* For people: "batch_size 128, num_workers 8", then other knobs that are not at their default. */
void rue_config_describe(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* The same, also with knobs at their default that `others` [count] vary, unless they have no effect. */
void rue_config_describe_varied(const struct rue_config *config, const struct rue_config *others,
                                size_t count, char out[RUE_CONFIG_TEXT_BYTES]);

/* For tables: "128/8", then " prefetch_factor=4" for each other knob that is not at its default. */
void rue_config_label(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* The largest number of batches in flight between workers and consumer, for a job of `batches`:
 * min(num_workers * prefetch_factor, max_queue_size, batches), at least 1. */
uint64_t rue_config_window(const struct rue_config *config, uint64_t batches);

#endif
