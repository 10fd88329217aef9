/* The first trials of a strategy with predictions: load probes for the loader's parameters, compute probes
 * for each model's time; or joint trials, if a runner makes only these (duel_probes.c). */
#ifndef RUE_PROBES_H
#define RUE_PROBES_H

#include "strategy.h"

enum {
    RUE_PROBES_LOAD_MAX = 10,
    RUE_PROBES_LOAD_MIN = 3, /* fewest that determine the parameters */
    RUE_PROBES_SIZES_MAX = 4,
    RUE_PROBES_COMPUTE_BATCHES = 3
};

/* The configuration nearest to that batch size and number of workers on a logarithmic scale, with other knobs
 * near their defaults. */
size_t rue_probes_nearest(const struct rue_config *configs, size_t count, double batch_size,
                          double num_workers);

/* Writes load probes to `out` [RUE_PROBES_LOAD_MAX], most informative first: few and many workers, small and
 * large batches, and no workers if the space has that. Returns their number. */
size_t rue_probes_load(const struct rue_strategy_setup *setup, struct rue_question *out);

/* The configurations of the compute probes: smallest and middle batch size, pinned and unpinned if pin_memory
 * varies. Writes them to `out` [RUE_PROBES_SIZES_MAX]; returns their number. */
size_t rue_probes_compute_sizes(const struct rue_strategy_setup *setup, size_t *out);

/* The number of probes that a budget of trials allows; SIZE_MAX without a limit. Probes use at most half of
 * the trials, or the fewest that allow predictions. The trials that measure one configuration on every model
 * are reserved. Both are 0 if too few remain. */
struct rue_probes_budget {
    size_t load, compute;
};

struct rue_probes_budget rue_probes_budget(const struct rue_strategy_setup *setup);

#endif
