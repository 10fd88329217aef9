#include "trial_costs.h"

#include <math.h>

static void mean_in(double *mean, double *count, double value)
{
    *mean += (value - *mean) / ++*count;
}

static bool changes_model(const struct rue_trial_costs *costs, size_t model)
{
    return !costs->any_model || model != costs->model;
}

void rue_trial_costs_note(struct rue_trial_costs *costs, const struct rue_ask *ask,
                          const struct rue_trial_result *result)
{
    costs->made += !ask->stored;
    if (result->cost_ns <= 0) return; /* nothing, or not known */
    bool computes = ask->measure == RUE_COMPUTE;
    int64_t own_ns = computes ? result->compute_ns : result->end_to_end_ns;
    double cost = (double)result->cost_ns / 1e9;
    *(ask->stored ? &costs->stored_s : &costs->spent_s) += cost;
    if (result->outcome != RUE_TRIAL_OK || own_ns == RUE_ABSENT) return;
    if (computes && result->batches > 0) own_ns += own_ns / result->batches; /* to warm up */
    double beside = fmax(0, cost - (double)own_ns / 1e9);
    if (ask->measure != RUE_LOAD && changes_model(costs, ask->scenario))
        mean_in(&costs->switch_s, &costs->switch_count, fmax(0, beside - costs->overhead_s));
    else
        mean_in(&costs->overhead_s, &costs->overhead_count, beside);
    if (ask->measure == RUE_LOAD) return;
    costs->any_model = true;
    costs->model = ask->scenario;
}

double rue_trial_costs_clock_s(const struct rue_trial_costs *costs)
{
    return costs->spent_s + costs->stored_s;
}

double rue_trial_costs_beside_s(const struct rue_trial_costs *costs, size_t model)
{
    return costs->overhead_s + (changes_model(costs, model) ? costs->switch_s : 0);
}
