/* The smallest set of configurations that keeps every scenario within epsilon of its best: a set cover (Karp
 * 1972). Each scenario runs with the member that is best for it. Of several smallest sets, the one with the
 * least mean regret.
 *
 * The search tries sets of one column, then of two, and so on. Some member must cover the first uncovered
 * scenario, so the search branches on the columns that do. If that is too slow, a greedy search adds the best
 * configuration of each uncovered scenario; its set may not be the smallest. */
#ifndef RUE_CONFIG_SET_H
#define RUE_CONFIG_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

struct rue_config_set {
    double epsilon_ratio;
    bool exact; /* proven to be the smallest, with the least mean regret of that size */
    size_t config_count;
    size_t *configs; /* [config_count] columns, ascending */
    size_t scenario_count;
    size_t *chosen; /* [scenario_count] the column that covers it; SIZE_MAX: none is within epsilon */
    double mean_regret_ratio, max_regret_ratio; /* of the covered scenarios; NaN: none */
};

/* `regrets` [scenario_count][config_count], at least 0, NaN: did not run; `weights` [scenario_count] of the
 * mean, positive, NULL: equal. RUE_MEMORY. */
rue_status rue_config_set_open(const double *regrets, size_t scenario_count, size_t config_count,
                               const double *weights, double epsilon_ratio, struct rue_config_set **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_config_set_close(struct rue_config_set *set);

#endif
