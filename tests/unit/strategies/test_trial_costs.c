#include <criterion/criterion.h>

#include "duel.h"

static void note(struct rue_trial_costs *costs, enum rue_measure measure, size_t model, double own_s,
                 double beside_s)
{
    struct rue_question ask = {.measure = measure, .scenario = model};
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.end_to_end_ns = result.compute_ns = (int64_t)(1e9 * own_s);
    result.cost_ns = (int64_t)(1e9 * (own_s + beside_s));
    rue_trial_costs_add(costs, &ask, &result);
}

static const double near = 1e-6;

Test(trial_costs, the_mean_overhead_is_expected_of_every_trial)
{
    struct rue_trial_costs costs = {.new_trials = 0};
    cr_assert_eq(rue_trial_costs_overhead_s(&costs, 0, 0), 0, "nothing is known");
    note(&costs, RUE_LOAD, 0, 2, 0.3);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, 0, 0), 0.3, near);
    note(&costs, RUE_LOAD, 0, 5, 0.5);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, 0, 0), 0.4, near);
    cr_assert_float_eq(costs.spent_s, 7.8, near);
    cr_assert_eq(costs.new_trials, 2);
}

Test(trial_costs, a_change_of_model_costs_its_time_above_the_overhead)
{
    struct rue_trial_costs costs = {.new_trials = 0};
    note(&costs, RUE_LOAD, 0, 1, 0.2);
    note(&costs, RUE_JOINT, 1, 1, 0.9);
    note(&costs, RUE_JOINT, 1, 1, 0.2);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, 0, 0), 0.9, near);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, 0, 1), 0.2, near, "it is that one");
}
