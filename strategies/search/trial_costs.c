#include "trial_costs.h"

#include <math.h>

static bool changes_model(const struct rue_trial_costs *costs, size_t model)
{
    return !costs->any_model || model != costs->model;
}

static void add_cost(struct rue_trial_cost *cost, double seconds)
{
    cost->mean_s += (fmax(0, seconds) - cost->mean_s) / ++cost->count;
}

void rue_trial_costs_note(struct rue_trial_costs *costs, const struct rue_ask *ask,
                          const struct rue_trial_result *result)
{
    costs->made += !ask->stored;
    if (result->cost_ns <= 0) return; /* nothing, or not known */
    bool computes = ask->measure == RUE_COMPUTE;
    int64_t own_ns = computes ? result->compute_ns : result->end_to_end_ns;
    double cost_s = (double)result->cost_ns / 1e9;
    *(ask->stored ? &costs->stored_s : &costs->spent_s) += cost_s;
    if (result->outcome != RUE_TRIAL_OK || own_ns == RUE_ABSENT) return;
    if (computes && result->batches > 0) own_ns += own_ns / result->batches; /* to warm up */
    double beside_s = cost_s - (double)own_ns / 1e9;
    if (ask->measure != RUE_LOAD && changes_model(costs, ask->scenario))
        add_cost(&costs->change, beside_s - costs->overhead.mean_s);
    else
        add_cost(&costs->overhead, beside_s);
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
    return costs->overhead.mean_s + (changes_model(costs, model) ? costs->change.mean_s : 0);
}
