/* The smallest set of configurations that keeps every scenario within epsilon of its best: each scenario runs
 * with the one of the set that is best for it. Of the sets of the least size, the one of the least mean
 * regret.
 *
 * Some member of a set has to serve the first scenario that the others leave: sets of one column are tried in
 * that order, then of two, and so on. Where that would take long, each scenario that is left in turn adds the
 * configuration that is best for it, which need not give the smallest set. */
#ifndef RUE_CONFIG_SET_H
#define RUE_CONFIG_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

struct rue_config_set {
    double epsilon_ratio;
    bool exact; /* no set is smaller, and none of that size better */
    size_t config_count;
    size_t *configs; /* [config_count] columns, ascending */
    size_t scenario_count;
    size_t *chosen; /* [scenario_count] the column that serves each; SIZE_MAX for one that no column is
                       within epsilon for */
    double mean_regret_ratio, max_regret_ratio; /* of the scenarios that are served; NaN when none is */
};

/* `regrets` [scenario_count][config_count], at least 0, NaN where a configuration did not run on a scenario;
 * `weights` [scenario_count] of the mean, positive; NULL: all alike. RUE_MEMORY. */
rue_status rue_config_set_open(const double *regrets, size_t scenario_count, size_t config_count,
                               const double *weights, double epsilon_ratio, struct rue_config_set **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_config_set_close(struct rue_config_set *set);

#endif
