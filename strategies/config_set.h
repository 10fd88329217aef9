/* The smallest set of configurations that keeps every scenario within epsilon of its best: each scenario runs
 * with the one of the set that is best for it. Of the sets of the least size, the one of the least mean
 * regret.
 *
 * Up to RUE_CONFIG_SET_EXACT scenarios it is found exactly, by dynamic programming over the sets of
 * scenarios: a set of them is served by a first configuration, which serves a part, and by those that serve
 * the rest best, 3^scenarios steps. For more of them, or so many configurations that this would take long,
 * the configuration that serves most of what is left is taken in turn, which need not be the smallest set. */
#ifndef RUE_CONFIG_SET_H
#define RUE_CONFIG_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum { RUE_CONFIG_SET_EXACT = 20 };

struct rue_config_set {
    double epsilon_ratio;
    bool exact;
    size_t config_count;
    size_t *configs; /* [config_count] columns, ascending */
    size_t scenario_count;
    size_t *chosen; /* [scenario_count] the column that serves each; SIZE_MAX for one that no column is
                       within epsilon for */
    double mean_regret_ratio, max_regret_ratio; /* of the scenarios that are served; NaN when none is */
};

/* `regrets` [scenario_count][config_count], at least 0, NaN where a configuration did not run on a scenario;
 * `weights` [scenario_count] of the mean, positive; NULL: all alike. Ties go to the lower columns.
 * RUE_MEMORY.
 */
rue_status rue_config_set_open(const double *regrets, size_t scenario_count, size_t config_count,
                               const double *weights, double epsilon_ratio, struct rue_config_set **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_config_set_close(struct rue_config_set *set);

#endif
