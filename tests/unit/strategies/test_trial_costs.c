#include <criterion/criterion.h>

#include "trial_costs.h"

static struct rue_config config_of(int batch_size, int num_workers)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = batch_size;
    config.value[RUE_NUM_WORKERS] = num_workers;
    config.value[RUE_PREFETCH_FACTOR] = 2;
    return config;
}

static void note(struct rue_trial_costs *costs, enum rue_measure measure, size_t model,
                 const struct rue_config *config, double own_s, double beside_s)
{
    struct rue_ask ask = {.measure = measure, .scenario = model};
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.end_to_end_ns = result.compute_ns = (int64_t)(1e9 * own_s);
    result.cost_ns = (int64_t)(1e9 * (own_s + beside_s));
    rue_trial_costs_note(costs, &ask, config, &result);
}

static const double near = 1e-6;

Test(trial_costs, an_overhead_that_is_always_the_same_is_expected_of_every_trial)
{
    struct rue_trial_costs costs = {.made = 0};
    struct rue_config small = config_of(16, 1), large = config_of(256, 8);
    cr_assert_eq(rue_trial_costs_overhead_s(&costs, RUE_JOINT, &small), 0, "nothing is known");
    note(&costs, RUE_LOAD, 0, &small, 2, 0.3);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, RUE_JOINT, &large), 0.3, near);
    note(&costs, RUE_LOAD, 0, &large, 5, 0.3);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, RUE_JOINT, &small), 0.3, near);
    cr_assert_float_eq(costs.spent_s, 7.6, near);
    cr_assert_eq(costs.made, 2);
}

Test(trial_costs, an_overhead_that_grows_with_the_images_in_flight_is_expected_to)
{
    struct rue_trial_costs costs = {.made = 0};
    struct rue_config small = config_of(16, 1), middle = config_of(64, 4), large = config_of(256, 8);
    note(&costs, RUE_LOAD, 0, &small, 1, 0.1 + 1e-3 * 16 * 1 * 2);
    note(&costs, RUE_LOAD, 0, &middle, 1, 0.1 + 1e-3 * 64 * 4 * 2);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, RUE_JOINT, &large), 0.1 + 1e-3 * 256 * 8 * 2, near);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, RUE_COMPUTE, &large), 0.1 + 1e-3 * 256, near,
                       "one batch at a time");
}

Test(trial_costs, no_overhead_is_expected_below_nothing)
{
    struct rue_trial_costs falling = {.made = 0}, steep = {.made = 0};
    struct rue_config small = config_of(16, 1), middle = config_of(64, 4), large = config_of(256, 8);
    note(&falling, RUE_LOAD, 0, &small, 1, 1);
    note(&falling, RUE_LOAD, 0, &middle, 1, 0.5);
    cr_assert_float_eq(rue_trial_costs_overhead_s(&falling, RUE_JOINT, &large), 0.75, near, "their mean");
    note(&steep, RUE_LOAD, 0, &middle, 1, 0.1);
    note(&steep, RUE_LOAD, 0, &large, 1, 3);
    cr_assert_gt(rue_trial_costs_overhead_s(&steep, RUE_JOINT, &small), 0);
    cr_assert_gt(rue_trial_costs_overhead_s(&steep, RUE_JOINT, &large), 2.5);
}

Test(trial_costs, a_change_of_model_costs_what_it_takes_more_than_its_overhead)
{
    struct rue_trial_costs costs = {.made = 0};
    struct rue_config config = config_of(16, 1);
    note(&costs, RUE_LOAD, 0, &config, 1, 0.2);
    note(&costs, RUE_JOINT, 1, &config, 1, 0.9);
    note(&costs, RUE_JOINT, 1, &config, 1, 0.2);
    cr_assert_float_eq(rue_trial_costs_switch_s(&costs, 0), 0.7, near);
    cr_assert_eq(rue_trial_costs_switch_s(&costs, 1), 0, "it is that one");
    cr_assert_float_eq(rue_trial_costs_overhead_s(&costs, RUE_JOINT, &config), 0.2, near);
}
