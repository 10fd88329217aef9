/* The first trials of a strategy that predicts: load-only ones that tell the loader's parameters,
 * compute-only ones that tell each model's time; where a runner has neither, joint ones (duel_probes.c). */
#ifndef RUE_PROBES_H
#define RUE_PROBES_H

#include "strategy.h"

enum {
    RUE_PROBES_LOAD_MAX = 10,
    RUE_PROBES_LOAD_MIN = 3, /* that tell anything */
    RUE_PROBES_SIZES_MAX = 4,
    RUE_PROBES_COMPUTE_BATCHES = 3
};

/* The configuration nearest to those batch sizes and workers, by doublings, with the other knobs near their
 * defaults. */
size_t rue_probes_nearest(const struct rue_config *configs, size_t count, double batch_size,
                          double num_workers);

/* Load-only probes into `out` [RUE_PROBES_LOAD_MAX], those that tell most first: few workers and many, small
 * batches and large, and none where the space has that. Answers how many. */
size_t rue_probes_load(const struct rue_strategy_setup *setup, struct rue_question *out);

/* The configurations whose batch sizes are computed on first: the smallest size and the middle one, pinned
 * and not where pin_memory varies. Into `out` [RUE_PROBES_SIZES_MAX]; answers how many. */
size_t rue_probes_compute_sizes(const struct rue_strategy_setup *setup, size_t *out);

/* How many probes a budget of trials has room for; SIZE_MAX where trials are not limited. Half of the trials
 * at most, or as many as it takes to predict anything, but never those that measure one configuration on
 * every model. Both 0 where that leaves too few. */
struct rue_probes_budget {
    size_t load, compute;
};

struct rue_probes_budget rue_probes_budget(const struct rue_strategy_setup *setup);

#endif
