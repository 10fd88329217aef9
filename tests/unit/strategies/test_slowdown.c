#include <criterion/criterion.h>
#include <math.h>

#include "random.h"
#include "slowdown.h"

enum { STREAMS = 2000, LONG = 500, BEFORE = 60, WITHIN = 10, WARM_UP = 5 };

/* A machine that drifts slowly, whose trials scatter, and of which some are disturbed. */
struct machine {
    uint64_t seed;
    double drift, noise_sd;
};

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(1 - rue_random_unit(seed))) * cos(2 * M_PI * rue_random_unit(seed));
}

/* The logarithm of the time of the next trial, 15 s after the one before. */
static double next_time(struct machine *machine)
{
    double kept = exp(-15.0 / 1500);
    machine->drift = kept * machine->drift + 0.025 * sqrt(1 - kept * kept) * normal(&machine->seed);
    double time = machine->drift + machine->noise_sd * normal(&machine->seed);
    if (rue_random_unit(&machine->seed) < 0.03)
        time += log(1 - 0.4 * log(1 - rue_random_unit(&machine->seed)));
    return time;
}

/* The trial at which a change is noticed; `trials` when it is not. From `change` on, all take `shift` more.
 */
static size_t noticed_at(struct machine machine, size_t trials, size_t change, double shift)
{
    struct rue_reference_level baseline = {0};
    struct rue_slowdown slowdown = rue_slowdown_open(0.02, LONG);
    for (size_t i = 0; i < trials; i++) {
        double time = next_time(&machine) + (i >= change ? shift : 0), error, sd;
        if (rue_reference_level_error(&baseline, time, &error, &sd))
            rue_slowdown_observe(&slowdown, i, error, sd);
        if (rue_slowdown_is_detected(&slowdown)) return i;
        if (rue_slowdown_evidence(&slowdown, NULL) < 3)
            rue_reference_level_add(&baseline, time);
        else
            rue_reference_level_add_scatter(&baseline, time);
    }
    return trials;
}

static struct machine make_machine(uint64_t stream, double noise_sd)
{
    struct machine machine = {.seed = rue_mix64(stream + 77), .noise_sd = noise_sd};
    machine.drift = 0.025 * normal(&machine.seed);
    return machine;
}

static double share_noticed(double noise_sd, double shift)
{
    size_t noticed = 0;
    for (uint64_t stream = 0; stream < STREAMS; stream++) {
        size_t at = noticed_at(make_machine(stream, noise_sd), BEFORE + WITHIN, BEFORE, shift);
        noticed += at >= BEFORE && at < BEFORE + WITHIN;
    }
    return (double)noticed / STREAMS;
}

Test(slowdown, a_fifth_slower_is_noticed_within_ten_trials)
{
    cr_expect_geq(share_noticed(0.013, log(1.2)), 0.95, "%g", share_noticed(0.013, log(1.2)));
    cr_expect_geq(share_noticed(0.03, log(1.2)), 0.95, "%g", share_noticed(0.03, log(1.2)));
    cr_expect_geq(share_noticed(0.03, log(1.5)), 0.95);
    cr_expect_geq(share_noticed(0.03, log(3)), 0.95);
}

Test(slowdown, a_quarter_faster_is_noticed_too)
{
    cr_expect_geq(share_noticed(0.03, -log(1.25)), 0.95);
}

Test(slowdown, drift_and_disturbed_trials_are_not_a_slowdown)
{
    const double sds[] = {0.013, 0.03, 0.06};
    for (int s = 0; s < 3; s++) {
        size_t alarms = 0;
        for (uint64_t stream = 0; stream < STREAMS; stream++)
            alarms += noticed_at(make_machine(stream + 100000, sds[s]), LONG, LONG, 0) < LONG;
        cr_expect_leq((double)alarms / STREAMS, 0.05, "%zu of %d at %g", alarms, STREAMS, sds[s]);
    }
}

Test(slowdown, one_disturbed_trial_is_never_enough)
{
    for (double off = 0.05; off < 10; off *= 1.3) {
        struct rue_slowdown slowdown = rue_slowdown_open(0.05, 20);
        rue_slowdown_observe(&slowdown, 0, 0, 0.03);
        rue_slowdown_observe(&slowdown, 1, off, 0.03);
        cr_expect_not(rue_slowdown_is_detected(&slowdown), "%g", off);
    }
}

Test(slowdown, reports_the_first_trial_and_resets)
{
    struct rue_slowdown slowdown = rue_slowdown_open(0.05, 100);
    size_t since = 0;
    for (size_t i = 0; i < 20; i++) rue_slowdown_observe(&slowdown, 10 * i, i < 15 ? 0 : 0.25, 0.03);
    cr_expect(rue_slowdown_is_detected(&slowdown));
    cr_expect_gt(rue_slowdown_evidence(&slowdown, &since), 0);
    cr_expect_eq(since, 150);
    rue_slowdown_reset(&slowdown);
    cr_expect_eq(rue_slowdown_evidence(&slowdown, NULL), 0);
}

Test(slowdown, a_baseline_needs_three_values_and_resists_outliers)
{
    struct rue_reference_level baseline = {0};
    double mean, sd, later;
    rue_reference_level_add(&baseline, 1.5);
    rue_reference_level_add(&baseline, 1.0);
    cr_expect_not(rue_reference_level_predict(&baseline, &mean, &sd));
    rue_reference_level_add(&baseline, 1.01);
    cr_assert(rue_reference_level_predict(&baseline, &mean, &sd));
    cr_expect_eq(mean, 1.01);
    for (int i = 0; i < 21; i++) rue_reference_level_add(&baseline, 1 + 0.01 * (i % 3));
    rue_reference_level_predict(&baseline, &mean, &sd);
    rue_reference_level_add(&baseline, 3);
    rue_reference_level_predict(&baseline, &later, &sd);
    cr_expect_eq(later, mean);
    rue_reference_level_reset(&baseline);
    cr_expect_not(rue_reference_level_predict(&baseline, &mean, &sd));
}

Test(slowdown, a_machine_that_scatters_more_is_watched_less_closely)
{
    struct rue_reference_level calm = {0}, wild = {0};
    double mean, sd, wilder;
    for (int i = 0; i < 40; i++) {
        rue_reference_level_add(&calm, i % 2 ? 0.01 : -0.01);
        rue_reference_level_add(&wild, i % 2 ? 0.1 : -0.1);
    }
    rue_reference_level_predict(&calm, &mean, &sd);
    rue_reference_level_predict(&wild, &mean, &wilder);
    cr_expect_lt(sd, 0.04);
    cr_expect_gt(wilder, 0.07);
}
