/* Intervals of the recommendation's mean and worst regret, from repeats: what their scatter leaves open of
 * these models. One repeat of everything tells nothing.
 *
 * Times are drawn as they might have been measured: a median of repeats scatters as those of all cells tell
 * (time_scatter.h). A regret is over the least of many times, so scatter alone makes it larger: what the
 * draws see of that is taken off. The interval is widened, as they see too little of it (of regrets on grids
 * with 1 to 5 % of noise it then covers 95 %). */
#ifndef RUE_REGRET_INTERVAL_H
#define RUE_REGRET_INTERVAL_H

#include "selection.h"

struct rue_regret_interval {
    double confidence; /* 0: nothing is known */
    double mean_low, mean_high, worst_low, worst_high;
    double bound_ratio; /* no configuration is better by more, by the objective */
};

/* Of the recommended configuration of `selection`, which is of this matrix. Deterministic. RUE_MEMORY. */
rue_status rue_regret_interval_find(const struct rue_cost_matrix *matrix,
                                    const struct rue_selection *selection, double confidence,
                                    struct rue_regret_interval *out, rue_error *error) RUE_MUST_CHECK;

#endif
