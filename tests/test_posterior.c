#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "error_prior_fixture.h"
#include "posterior.h"

TestSuite(posterior, .timeout = 60);

enum { DRAWS = 4000 };

static struct rue_error_prior *prior;

static struct rue_posterior *open_posterior(void)
{
    prior = open_prior();
    struct rue_posterior *posterior;
    rue_error error = {0};
    cr_assert_eq(rue_posterior_open(prior, 1, DRAWS, 5, &posterior, &error), RUE_OK, "%s", error.message);
    return posterior;
}

static void close_posterior(struct rue_posterior *posterior)
{
    rue_posterior_close(posterior);
    rue_error_prior_close(prior);
}

static double observe(struct rue_posterior *posterior, size_t cell, double log_ratio)
{
    const struct rue_posterior_trial trial = {cell, NULL, 0.02};
    return rue_posterior_observe(posterior, &trial, log_ratio);
}

/* Mean and covariance of the draws are those that are kept beside them. */
static void expect_draws_agree(const struct rue_posterior *posterior)
{
    const double *mean = rue_posterior_mean(posterior);
    for (size_t i = 0; i < CELLS; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum_i = 0, sum_j = 0, sum_ij = 0;
            for (size_t d = 0; d < DRAWS; d++) {
                const double *draw = rue_posterior_draw(posterior, d);
                sum_i += draw[i] - mean[i];
                sum_j += draw[j] - mean[j];
                sum_ij += (draw[i] - mean[i]) * (draw[j] - mean[j]);
            }
            double var_i = rue_posterior_covariance(posterior, i, i),
                   var_j = rue_posterior_covariance(posterior, j, j);
            cr_assert_lt(fabs(sum_i / DRAWS), 4 * sqrt(var_i / DRAWS), "cell %zu: mean", i);
            double covariance_here = sum_ij / DRAWS - sum_i / DRAWS * sum_j / DRAWS;
            cr_assert_lt(fabs(covariance_here - rue_posterior_covariance(posterior, i, j)),
                         5 * sqrt(2 * var_i * var_j / DRAWS), "cells %zu and %zu", i, j);
        }
}

Test(posterior, draws_follow_mean_and_covariance_before_and_after_measurements)
{
    struct rue_posterior *posterior = open_posterior();
    expect_draws_agree(posterior);
    static const size_t cells[] = {0, 7, 7, 15, 3};
    static const double errors[] = {0.1, -0.05, -0.03, 0.02, 0.08};
    for (int i = 0; i < 5; i++) {
        observe(posterior, cells[i], errors[i]);
        rue_posterior_wait(posterior, 300);
    }
    expect_draws_agree(posterior);
    close_posterior(posterior);
}

Test(posterior, measurements_draw_a_cell_to_what_was_measured)
{
    struct rue_posterior *posterior = open_posterior();
    double before = rue_posterior_covariance(posterior, 4, 4);
    for (int i = 0; i < 50; i++) {
        observe(posterior, 4, 0.1);
        rue_posterior_wait(posterior, 1000);
    }
    cr_assert_float_eq(rue_posterior_mean(posterior)[4], 0.1, 0.02);
    cr_assert_lt(rue_posterior_covariance(posterior, 4, 4), before / 20);
    cr_assert_gt(rue_posterior_mean(posterior)[3], 0.02, "its neighbour is believed to be off alike");
    close_posterior(posterior);
}

Test(posterior, a_disturbed_trial_counts_little)
{
    struct rue_posterior *posterior = open_posterior();
    for (int i = 0; i < 4; i++) observe(posterior, 4, 0);
    double before = rue_posterior_mean(posterior)[4];
    cr_assert_gt(observe(posterior, 4, 0.5), RUE_ERROR_OUTLIER);
    cr_assert_float_eq(rue_posterior_mean(posterior)[4], before, 0.005);
    cr_assert_lt(observe(posterior, 4, 0.01), RUE_ERROR_OUTLIER);
    close_posterior(posterior);
}

static double variance_of(const struct rue_posterior *posterior, const double *weights)
{
    double sum = 0;
    for (size_t i = 0; i < CELLS; i++)
        for (size_t j = 0; j < CELLS; j++)
            sum += weights[i] * weights[j] * rue_posterior_covariance(posterior, i, j);
    return sum;
}

Test(posterior, a_gain_is_what_the_trials_then_bring)
{
    static const double part[PARAMETERS] = {0.3, 0.7};
    static const struct rue_posterior_trial trials[2] = {{4, part, 0.02}, {9, NULL, 0.03}};
    for (size_t count = 1; count <= 2; count++) {
        struct rue_posterior *posterior = open_posterior();
        double weights[CELLS] = {[4] = 0.5, [9] = -0.5, [15] = 0.25};
        double direction[CELLS + PARAMETERS + 1];
        rue_posterior_direct(posterior, weights, direction);
        double before = variance_of(posterior, weights),
               gain = rue_posterior_gain(posterior, direction, trials, count);
        for (size_t i = 0; i < count; i++) rue_posterior_observe(posterior, &trials[i], 0.01);
        cr_assert_float_eq(before - variance_of(posterior, weights), gain, 1e-12, "%zu trials", count);
        cr_assert_gt(gain, 0);
        close_posterior(posterior);
    }
}
