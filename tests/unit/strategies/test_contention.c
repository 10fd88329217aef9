#include <criterion/criterion.h>
#include <math.h>

#include "contention.h"

/* A load-bound trial of 1 s on two CPUs; `had`: CPUs that it used and that were idle. */
static struct rue_trial_result make_trial(int workers, double used, double idle)
{
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.config.value[RUE_NUM_WORKERS] = workers;
    result.end_to_end_ns = 1000000000;
    result.first_batch_ns = 50000000;
    result.load_wait_ns = 800000000;
    result.compute_ns = 200000000;
    result.shutdown_ns = 0;
    result.cpu_ratio = used;
    result.cpu_idle_ratio = idle;
    return result;
}

Test(contention, workers_that_had_half_of_their_cpus_were_half_as_fast)
{
    static const struct {
        int workers;
        double used, idle, load_ratio;
    } cases[] = {
        {4, 1, 0, 2},      /* another program took one of two */
        {4, 1.6, 0, 1.25}, /* for a part of the time */
        {4, 1.95, 0, 1},   /* the usual work of the system */
        {4, 1, 1, 1},      /* they wait for storage: CPUs are idle */
        {4, 0.3, 0.7, 1},  /* the same, and another program runs */
        {4, 1, 0.4, 1.4285714285714286},
        {1, 1, 0, 1},    /* one worker needs no more */
        {0, 0.5, 0, 2},  /* the consumer loads */
        {4, 0.01, 0, 8}, /* no larger correction is plausible */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_trial_result result = make_trial(cases[i].workers, cases[i].used, cases[i].idle);
        struct rue_contention found = rue_contention_find(&result, 2);
        cr_expect_float_eq(found.load_ratio, cases[i].load_ratio, 1e-9, "case %zu: %g", i, found.load_ratio);
        cr_expect_eq(found.sd > 0, cases[i].load_ratio > 1, "case %zu", i);
        cr_expect_eq(found.other_cpus > 0, cases[i].load_ratio > 1, "case %zu", i);
    }
}

Test(contention, a_trial_that_waits_for_the_model_takes_as_long)
{
    struct rue_trial_result result = make_trial(4, 0.6, 0.4);
    result.compute_ns = 940000000;
    result.load_wait_ns = 60000000;
    struct rue_contention found = rue_contention_find(&result, 2);
    cr_assert_float_eq(found.load_ratio, 2, 1e-9);
    cr_assert_lt(found.whole_ratio, 1.04, "%g", found.whole_ratio);
    cr_assert_lt(found.sd, 0.01);
}

Test(contention, no_job_gets_shorter_than_its_computing)
{
    struct rue_trial_result result = make_trial(4, 0.5, 0);
    result.compute_ns = 600000000;
    result.load_wait_ns = 400000000;
    struct rue_contention found = rue_contention_find(&result, 2);
    cr_assert_float_eq(found.load_ratio, 4, 1e-9);
    cr_assert(1 / found.whole_ratio >= 0.6 && 1 / found.whole_ratio < 0.62, "%g", found.whole_ratio);
}

Test(contention, without_cpu_times_nothing_is_known)
{
    struct rue_trial_result unknown = make_trial(4, NAN, 0), still = make_trial(4, 1, NAN),
                            none = make_trial(4, 0, 0), failed = make_trial(4, 1, 0),
                            brief = make_trial(4, 1, 0);
    failed.outcome = RUE_TRIAL_TIMEOUT;
    brief.end_to_end_ns = 100000000; /* ten steps of the clock of idle CPUs */
    const struct rue_trial_result *const all[] = {&unknown, &still, &none, &failed, &brief};
    for (size_t i = 0; i < 5; i++) {
        struct rue_contention found = rue_contention_find(all[i], 2);
        cr_expect(found.load_ratio == 1 && found.whole_ratio == 1 && found.sd == 0 && found.other_cpus == 0,
                  "case %zu", i);
    }
}
