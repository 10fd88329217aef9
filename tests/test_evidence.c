#include "evidence.h"

#include <criterion/criterion.h>
#include <math.h>

#include "error_prior_fixture.h"
#include "posterior.h"
#include "random.h"

TestSuite(evidence, .timeout = 60);

enum { HYPOTHESES = 6, TRIALS = 40 };

static const struct rue_error_hypothesis hypotheses[HYPOTHESES] = {{{1, 1}, 0}, {{1.5, 1}, 0}, {{2, 1}, -0.5},
                                                                   {{3, 2}, 0}, {{6, 1}, 0.5}, {{1, 4}, -1}};

struct told {
    struct rue_posterior_trial trial;
    double jacobian[PARAMETERS], log_ratio, seconds;
};

static void make_trials(struct told *out, double sd, uint64_t seed)
{
    for (int i = 0; i < TRIALS; i++) {
        struct told *told = &out[i];
        bool part = rue_random_below(&seed, 2), disturbed = rue_random_below(&seed, 10) == 0;
        told->trial.cell = (size_t)rue_random_below(&seed, CELLS);
        for (int p = 0; p < PARAMETERS; p++) told->jacobian[p] = rue_random_unit(&seed);
        told->trial.jacobian = part ? told->jacobian : NULL;
        told->trial.sd = 0.01 + 0.02 * rue_random_unit(&seed);
        told->log_ratio = sd * rue_random_normal(&seed) + (disturbed ? 0.6 : 0);
        told->seconds = rue_random_below(&seed, 8) ? 500 * rue_random_unit(&seed) : INFINITY;
    }
}

/* The logarithm of the trials' probability: each is expected from those before it. */
static double weigh(const struct rue_error_prior *prior, struct rue_error_scales scales,
                    const struct told *trials)
{
    struct rue_posterior *posterior;
    rue_error error = {0};
    cr_assert_eq(rue_posterior_open(prior, scales.alpha, 0, 1, &posterior, &error), RUE_OK, "%s",
                 error.message);
    double sum = 0;
    for (int i = 0; i < TRIALS; i++) {
        double mean, sd;
        struct rue_posterior_trial trial = trials[i].trial;
        trial.sd *= scales.noise;
        rue_posterior_wait(posterior, trials[i].seconds);
        rue_posterior_expect(posterior, &trial, &mean, &sd);
        double distance = rue_posterior_observe(posterior, &trial, trials[i].log_ratio);
        cr_assert_float_eq(distance, (trials[i].log_ratio - mean) / sd, 1e-9);
        double variance = sd * sd + rue_error_prior_disturbance(distance);
        sum -= 0.5 * (log(variance) + pow(trials[i].log_ratio - mean, 2) / variance);
    }
    rue_posterior_close(posterior);
    return sum;
}

/* Roots of the mean squares, where hypotheses are as probable as a posterior expected the trials by each. */
static struct rue_error_scales expected_scales(const struct rue_error_prior *prior, const struct told *trials)
{
    double logs[HYPOTHESES], most = -INFINITY, sum = 0, alpha = 0, noise = 0;
    for (int h = 0; h < HYPOTHESES; h++) {
        logs[h] = hypotheses[h].log_prior;
        if (trials) logs[h] += weigh(prior, hypotheses[h].scales, trials);
        most = fmax(most, logs[h]);
    }
    for (int h = 0; h < HYPOTHESES; h++) {
        double weight = exp(logs[h] - most);
        sum += weight;
        alpha += weight * pow(hypotheses[h].scales.alpha, 2);
        noise += weight * pow(hypotheses[h].scales.noise, 2);
    }
    return (struct rue_error_scales){sqrt(alpha / sum), sqrt(noise / sum)};
}

Test(evidence, weighs_hypotheses_as_a_posterior_by_each_expected_the_trials)
{
    struct rue_error_prior *prior = open_prior();
    struct rue_error_scales least = {INFINITY, INFINITY}, most = {0, 0};
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct told trials[TRIALS];
        struct rue_evidence *evidence;
        rue_error error = {0};
        make_trials(trials, 0.03 * exp2((double)(seed % 6) / 2), rue_mix64(seed));
        cr_assert_eq(rue_evidence_open(prior, hypotheses, HYPOTHESES, &evidence, &error), RUE_OK);
        for (int i = 0; i < TRIALS; i++) {
            const struct rue_posterior_trial *trial = &trials[i].trial;
            rue_evidence_wait(evidence, trials[i].seconds);
            cr_assert_eq(rue_evidence_add(evidence, trial->cell, trial->jacobian, trials[i].log_ratio,
                                          trial->sd, &error),
                         RUE_OK);
        }
        struct rue_error_scales told = rue_evidence_scales(evidence),
                                expected = expected_scales(prior, trials);
        cr_assert_float_eq(told.alpha, expected.alpha, 1e-6 * told.alpha, "seed %d", (int)seed);
        cr_assert_float_eq(told.noise, expected.noise, 1e-6 * told.noise, "seed %d", (int)seed);
        least.alpha = fmin(least.alpha, told.alpha);
        least.noise = fmin(least.noise, told.noise);
        most.alpha = fmax(most.alpha, told.alpha);
        most.noise = fmax(most.noise, told.noise);
        rue_evidence_close(evidence);
    }
    cr_expect(least.alpha < 1.1 && most.alpha > 2.5, "alphas between %g and %g", least.alpha, most.alpha);
    cr_expect(least.noise < 1.1 && most.noise > 3, "noises between %g and %g", least.noise, most.noise);
    rue_error_prior_close(prior);
}

Test(evidence, without_trials_believes_what_it_was_told_before)
{
    struct rue_error_prior *prior = open_prior();
    struct rue_evidence *evidence;
    rue_error error = {0};
    cr_assert_eq(rue_evidence_open(prior, hypotheses, HYPOTHESES, &evidence, &error), RUE_OK);
    struct rue_error_scales told = rue_evidence_scales(evidence), expected = expected_scales(prior, NULL);
    cr_assert_float_eq(told.alpha, expected.alpha, 1e-12);
    cr_assert_float_eq(told.noise, expected.noise, 1e-12);
    rue_evidence_close(evidence);
    rue_error_prior_close(prior);
}

Test(evidence, has_its_fill_of_many_trials)
{
    struct rue_error_prior *prior = open_prior();
    struct rue_evidence *evidence;
    rue_error error = {0};
    cr_assert_eq(rue_evidence_open(prior, hypotheses, HYPOTHESES, &evidence, &error), RUE_OK);
    for (int i = 0; i < 3 * RUE_EVIDENCE_TRIALS; i++) {
        bool late = i >= RUE_EVIDENCE_TRIALS;
        size_t cell = (size_t)i % CELLS;
        double log_ratio = late ? (cell % 2 ? 0.5 : -0.5) : 0;
        cr_assert_eq(rue_evidence_add(evidence, cell, NULL, log_ratio, 0.02, &error), RUE_OK);
    }
    cr_assert_lt(rue_evidence_scales(evidence).alpha, 1.5);
    rue_evidence_close(evidence);
    rue_error_prior_close(prior);
}
