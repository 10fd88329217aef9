/* The gain of one configuration over another, against sums made by hand. */
#include <criterion/criterion.h>
#include <math.h>

#include "gain.h"

#define CLOSE(got, wanted) cr_assert_float_eq(got, wanted, 1e-6 * fabs(wanted))

/* 4 values of 0.057 beforehand: s^2 = 0.057^2 where no pair repeats another one. */
static const double prior_squares = 4 * 0.057 * 0.057;
static const struct rue_gain_noise no_noise = {0, 0};

Test(gain, one_pair_has_the_usual_noise)
{
    const struct rue_gain_pair pair = {0, log(2)};
    struct rue_gain gain;
    cr_assert(rue_gain_find(&pair, 1, 1, NULL, no_noise, 0.95, &gain));
    double half = 2.7764451052 * 0.057; /* t of 4 degrees of freedom */
    cr_assert_eq(gain.pairs, 1);
    cr_assert_eq(gain.confidence, 0.95);
    CLOSE(gain.ratio, 2.0);
    CLOSE(gain.low, 2 * exp(-half));
    CLOSE(gain.high, 2 * exp(half));
    cr_assert(rue_gain_is_proven(&gain));
}

Test(gain, pairs_of_a_model_tell_the_noise_and_models_that_differ_do_not)
{
    const struct rue_gain_pair pairs[] = {{0, 0.11}, {1, 1.02}, {0, 0.09}, {1, 0.98}};
    struct rue_gain gain;
    cr_assert(rue_gain_find(pairs, 4, 2, NULL, no_noise, 0.95, &gain));
    /* squares: 2 * 0.01^2 + 2 * 0.02^2; 4 + 1 + 1 degrees of freedom; 1/4 * (1/2 + 1/2) = 1/4 */
    double half = 2.4469118511 * sqrt((prior_squares + 0.001) / 6) / 2;
    CLOSE(gain.ratio, exp(0.55));
    CLOSE(gain.low, exp(0.55 - half));
    CLOSE(gain.high, exp(0.55 + half));
}

Test(gain, a_model_that_counts_more_has_more_of_the_mean)
{
    const struct rue_gain_pair pairs[] = {{0, 0.4}, {1, 0}};
    const double weights[] = {3, 1};
    struct rue_gain gain;
    cr_assert(rue_gain_find(pairs, 2, 2, weights, no_noise, 0.9, &gain));
    double half = 2.1318467863 * 0.057 * sqrt(9.0 / 16 + 1.0 / 16);
    CLOSE(gain.ratio, exp(0.3));
    CLOSE(gain.low, exp(0.3 - half));
}

Test(gain, other_trials_tell_the_noise_as_well)
{
    const struct rue_gain_pair pair = {0, 0.05};
    const struct rue_gain_noise noise = {.squares = 16 * 0.01 * 0.01, .count = 16};
    struct rue_gain gain;
    cr_assert(rue_gain_find(&pair, 1, 1, NULL, noise, 0.95, &gain));
    CLOSE(gain.low, exp(0.05 - 2.0859634473 * sqrt((prior_squares + 0.0016) / 20)));
}

Test(gain, nothing_is_proven_where_the_interval_includes_no_gain)
{
    const struct rue_gain_pair pairs[] = {{0, 0.01}, {1, 0.02}};
    struct rue_gain gain;
    cr_assert(rue_gain_find(pairs, 2, 2, NULL, no_noise, 0.95, &gain));
    cr_assert(gain.ratio > 1 && gain.low < 1);
    cr_assert_not(rue_gain_is_proven(&gain));
}

Test(gain, a_model_without_a_pair_leaves_it_unknown)
{
    const struct rue_gain_pair pair = {1, 0.5};
    struct rue_gain gain;
    cr_assert_not(rue_gain_find(&pair, 1, 2, NULL, no_noise, 0.95, &gain));
    cr_assert_eq(gain.pairs, 0);
    cr_assert_not(rue_gain_is_proven(&gain));
}
