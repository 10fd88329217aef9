/* What rue's own knobs mean for the course of a trial. But for the pipeline model and the probes that feed
 * it, strategies name these knobs here alone. */
#ifndef RUE_TRIAL_SHAPE_H
#define RUE_TRIAL_SHAPE_H

#include "config.h"

/* Images of a batch. */
static inline uint64_t rue_trial_batch(const struct rue_config *config)
{
    int batch = config->value[RUE_BATCH_SIZE];
    return batch > 0 ? (uint64_t)batch : 1;
}

/* Whether the consumer's thread loads. */
static inline bool rue_trial_is_inline(const struct rue_config *config)
{
    return config->value[RUE_NUM_WORKERS] == 0;
}

/* Threads or processes that load, at least 1. */
static inline uint64_t rue_trial_loaders(const struct rue_config *config)
{
    int workers = config->value[RUE_NUM_WORKERS];
    return workers > 0 ? (uint64_t)workers : 1;
}

/* Batches that are begun before the first is taken; 0 without workers. */
static inline uint64_t rue_trial_opening_batches(const struct rue_config *config)
{
    return rue_trial_is_inline(config) ? 0 : rue_config_window(config, 0);
}

/* Batches that are loaded side by side and so arrive together: a volley. */
static inline uint64_t rue_trial_volley_batches(const struct rue_config *config)
{
    return config->value[RUE_PARALLELISM] == RUE_PARALLEL_BATCH ? rue_trial_loaders(config) : 1;
}

#endif
