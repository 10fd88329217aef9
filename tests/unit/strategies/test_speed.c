#include <criterion/criterion.h>
#include <math.h>

#include "slowdown.h"

static struct rue_trial_result make_result(int workers, int64_t whole, int64_t compute, int64_t first,
                                           int64_t wait)
{
    struct rue_trial_result result = rue_trial_result_empty();
    result.config = rue_config_default();
    result.config.value[RUE_NUM_WORKERS] = workers;
    result.end_to_end_ns = whole;
    result.compute_ns = compute;
    result.first_batch_ns = first;
    result.load_wait_ns = wait;
    result.shutdown_ns = 0;
    return result;
}

Test(speed, a_uniform_slowdown_scales_the_whole_time)
{
    struct rue_trial_result result = make_result(4, 1000, 500, 10, 500);
    cr_expect_float_eq(rue_speed_ratio((struct rue_speed){log(1.3), log(1.3)}, &result), 1.3, 1e-12);
    cr_expect_float_eq(rue_speed_ratio((struct rue_speed){0, 0}, &result), 1, 1e-12);
}

Test(speed, a_job_that_waits_for_its_loader_shrinks_as_the_loader_does)
{
    struct rue_trial_result result = make_result(4, 1300, 200, 10, 1100);
    cr_expect_float_eq(rue_speed_ratio((struct rue_speed){log(1.3), 0}, &result), 1.3, 1e-12);
}

Test(speed, a_job_that_computes_all_the_time_does_not_wait_for_a_slower_loader)
{
    struct rue_trial_result result = make_result(4, 1000, 990, 10, 10);
    double ratio = rue_speed_ratio((struct rue_speed){log(1.3), 0}, &result);
    cr_expect(ratio > 1 && ratio < 1.01, "%g", ratio);
}

Test(speed, a_job_never_shrinks_below_its_computing)
{
    struct rue_trial_result result = make_result(4, 1000, 900, 10, 100);
    double ratio = rue_speed_ratio((struct rue_speed){log(3), 0}, &result);
    cr_expect_float_eq(1000 / ratio, 900 + 10.0 / 3, 1e-9);
}

Test(speed, the_parts_are_scaled_separately_without_workers)
{
    struct rue_trial_result result = make_result(0, 1000, 400, 100, 600);
    double ratio = rue_speed_ratio((struct rue_speed){log(2), 0}, &result);
    cr_expect_float_eq(1000 / ratio, 400 + 600 / 2.0, 1e-9);
}

Test(speed, a_trial_without_parts_scales_with_the_loader)
{
    struct rue_trial_result result = make_result(4, 1000, RUE_ABSENT, RUE_ABSENT, RUE_ABSENT);
    cr_expect_float_eq(rue_speed_ratio((struct rue_speed){log(2), 0}, &result), 2, 1e-12);
}

Test(speed, the_usual_speed_is_that_of_most_time)
{
    struct rue_speed_history history = {.count = 0};
    cr_expect_eq(rue_speed_history_usual(&history, (const double[]){5}).load, 0);
    rue_speed_history_add(&history, 10, (struct rue_speed){0.5, 0});
    rue_speed_history_add(&history, 20, (struct rue_speed){-0.5, 0});
    cr_expect_eq(rue_speed_history_phase(&history, 9), 0);
    cr_expect_eq(rue_speed_history_phase(&history, 10), 1);
    cr_expect_eq(rue_speed_history_phase(&history, SIZE_MAX), 2);
    /* The first and the last phase are equally fast. */
    cr_expect_float_eq(rue_speed_history_usual(&history, (const double[]){2, 3, 2}).load, 0, 1e-12);
    cr_expect_float_eq(rue_speed_history_usual(&history, (const double[]){1, 3, 1}).load, 0.5, 1e-12);
}

Test(speed, a_history_has_the_slowdown_at_each_trial)
{
    struct rue_speed_history history = {0};
    rue_speed_history_add(&history, 10, (struct rue_speed){0.25, 0});
    rue_speed_history_add(&history, 20, (struct rue_speed){-0.125, 0.5});
    const struct {
        size_t trial;
        double load, compute;
    } cases[] = {{0, 0, 0},     {9, 0, 0},        {10, 0.25, 0},
                 {19, 0.25, 0}, {20, 0.125, 0.5}, {SIZE_MAX, 0.125, 0.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_speed speed = rue_speed_history_at(&history, cases[i].trial);
        cr_expect(speed.load == cases[i].load && speed.compute == cases[i].compute, "trial %zu",
                  cases[i].trial);
    }
}
