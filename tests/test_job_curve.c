#include <criterion/criterion.h>
#include <math.h>

#include "job_curve.h"

enum { BATCHES_MAX = 4000 };

/* `batches` of 10 images with two workers that deliver in pairs every 200 ns, the first after `start_ns`; the
 * model takes 5 ns an image, shutting down 70 ns. */
static struct rue_trial_result result_of(uint64_t batches, uint64_t start_ns)
{
    static uint64_t ready_ns[BATCHES_MAX];
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.config = rue_config_default();
    result.config.value[RUE_BATCH_SIZE] = 10;
    result.config.value[RUE_NUM_WORKERS] = 2;
    for (uint64_t i = 0; i < batches; i++) ready_ns[i] = start_ns + i / 2 * 200 + i % 2 * 50;
    result.images = (int64_t)batches * 10;
    result.batches = (int64_t)batches;
    result.first_batch_ns = (int64_t)start_ns;
    result.shutdown_ns = 70;
    result.compute_ns = result.images * 5;
    result.end_to_end_ns = (int64_t)ready_ns[batches - 1] + 50 + 70;
    result.ready_count = batches;
    result.batch_ready_ns = ready_ns;
    return result;
}

Test(job_curve, its_own_length_takes_what_the_trial_took)
{
    for (uint64_t batches = 1; batches <= BATCHES_MAX; batches = batches * 3 + 1) {
        struct rue_trial_result result = result_of(batches, 1000);
        struct rue_job_curve curve = rue_job_curve_of(&result);
        cr_assert_float_eq(rue_job_curve_ns(&curve, batches * 10), (double)result.end_to_end_ns, 1e-6);
    }
}

Test(job_curve, shorter_jobs_end_when_their_last_batch_did)
{
    struct rue_trial_result longer = result_of(1000, 1000);
    struct rue_job_curve curve = rue_job_curve_of(&longer);
    for (uint64_t batches = 1; batches < 1000; batches++) {
        struct rue_trial_result result = result_of(batches, 1000);
        double truth = (double)result.end_to_end_ns;
        cr_assert_float_eq(rue_job_curve_ns(&curve, batches * 10), truth, 151, "a volley at most: %d",
                           (int)batches);
    }
}

Test(job_curve, longer_jobs_go_on_as_in_the_steady_state)
{
    struct rue_trial_result shorter = result_of(100, 1000), longer = result_of(2000, 1000);
    shorter = result_of(100, 1000);
    struct rue_job_curve curve = rue_job_curve_of(&shorter);
    cr_assert_float_eq(rue_job_curve_ns(&curve, 20000), (double)longer.end_to_end_ns,
                       0.001 * (double)longer.end_to_end_ns);
}

Test(job_curve, without_deliveries_a_line_goes_from_the_first_to_the_last)
{
    struct rue_trial_result result = result_of(1000, 100000);
    result.ready_count = 0;
    result.batch_ready_ns = NULL;
    struct rue_job_curve curve = rue_job_curve_of(&result);
    cr_assert_float_eq(rue_job_curve_ns(&curve, 10000), (double)result.end_to_end_ns, 1e-6);
    cr_assert_float_eq(rue_job_curve_ns(&curve, 10), 100000 + 50 + 70, 1e-6);
    cr_assert_float_eq(rue_job_curve_ns(&curve, 5000), 150000, 200);
}

Test(job_curve, the_last_batch_may_be_short)
{
    struct rue_trial_result result = result_of(100, 1000);
    struct rue_job_curve curve = rue_job_curve_of(&result);
    cr_assert_float_eq(rue_job_curve_ns(&curve, 3), 1000 + 15 + 70, 1e-6);
    cr_assert_lt(rue_job_curve_ns(&curve, 995), rue_job_curve_ns(&curve, 1000));
    cr_assert_gt(rue_job_curve_ns(&curve, 995), rue_job_curve_ns(&curve, 980));
}

Test(job_curve, what_a_runner_does_not_say_is_not_known)
{
    struct rue_trial_result result = result_of(10, 1000);
    result.first_batch_ns = RUE_ABSENT;
    struct rue_job_curve curve = rue_job_curve_of(&result);
    cr_assert_eq(curve.count, 0u);
    cr_assert(isnan(rue_job_curve_ns(&curve, 100)));
    struct rue_trial_result nothing = rue_trial_result_empty();
    curve = rue_job_curve_of(&nothing);
    cr_assert_eq(curve.count, 0u);
}
