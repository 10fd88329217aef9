#include <criterion/criterion.h>
#include <math.h>

#include "objective.h"

/* Ten batches of 10 images without workers, 100 ns each, the first after 1000 ns. */
static uint64_t ready_ns[10];

static struct rue_trial_result make_result(void)
{
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.config = rue_config_default();
    result.config.value[RUE_BATCH_SIZE] = 10;
    for (uint64_t i = 0; i < 10; i++) ready_ns[i] = 1000 + 100 * i;
    result.images = 100;
    result.batches = 10;
    result.first_batch_ns = 1000;
    result.end_to_end_ns = 2500;
    result.shutdown_ns = 500;
    result.compute_ns = 1000;
    result.ready_count = 10;
    result.batch_ready_ns = ready_ns;
    return result;
}

static double cost_ns(enum rue_goal goal, const struct rue_trial_result *result, uint64_t job,
                      bool *predicted)
{
    return rue_goal_cost_ns(goal, result, job, false, predicted);
}

Test(goal, each_minimises_its_own_time)
{
    bool predicted;
    struct rue_trial_result result = make_result();
    cr_assert_float_eq(cost_ns(RUE_GOAL_TIME, &result, 100, &predicted), 2500, 0);
    cr_assert_float_eq(cost_ns(RUE_GOAL_THROUGHPUT, &result, 100, &predicted), 10, 1e-9);
    cr_assert_float_eq(cost_ns(RUE_GOAL_FIRST_BATCH, &result, 100, &predicted), 1000, 0);
}

Test(goal, a_truncated_trial_predicts_only_the_job)
{
    bool predicted;
    struct rue_trial_result result = make_result();
    cr_assert_float_eq(cost_ns(RUE_GOAL_TIME, &result, 200, &predicted), 3500, 1e-9);
    cr_assert(predicted);
    cr_assert_float_eq(cost_ns(RUE_GOAL_THROUGHPUT, &result, 200, &predicted), 10, 1e-9);
    cr_assert_not(predicted);
    cr_assert_float_eq(cost_ns(RUE_GOAL_FIRST_BATCH, &result, 200, &predicted), 1000, 0);
    cr_assert_not(predicted);
}

Test(goal, unreported_values_are_unknown)
{
    bool predicted;
    struct rue_trial_result result = make_result();
    result.first_batch_ns = RUE_ABSENT;
    cr_assert(isnan(cost_ns(RUE_GOAL_FIRST_BATCH, &result, 100, &predicted)));
}
