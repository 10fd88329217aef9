#include "evidence.h"

#include <criterion/criterion.h>
#include <math.h>

#include "posterior.h"
#include "random.h"

TestSuite(evidence, .timeout = 60);

enum { MODELS = 3, CONFIGS = 6, CELLS = MODELS * CONFIGS, PARAMETERS = 2, ALPHAS = 5, TRIALS = 40 };

static const double alphas[ALPHAS] = {1, 1.5, 2, 3, 6};

static struct rue_error_prior *open_prior(void)
{
    static const double covariance[PARAMETERS * PARAMETERS] = {0.01, 0.004, 0.004, 0.02};
    struct rue_config configs[CONFIGS];
    double jacobian[CELLS * PARAMETERS], share[CELLS];
    bool measured[CELLS];
    for (int c = 0; c < CONFIGS; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = c % 2 ? 128 : 32;
        configs[c].value[RUE_NUM_WORKERS] = 1 + c / 2;
    }
    for (int i = 0; i < CELLS; i++) {
        share[i] = (double)(i / CONFIGS) / MODELS;
        measured[i] = i % 3 > 0;
        jacobian[i * PARAMETERS] = 1 - share[i];
        jacobian[i * PARAMETERS + 1] = 0.1 * (i % CONFIGS);
    }
    const struct rue_error_prior_setup setup = {.model_count = MODELS,
                                                .config_count = CONFIGS,
                                                .configs = configs,
                                                .parameter_count = PARAMETERS,
                                                .jacobian = jacobian,
                                                .covariance = covariance,
                                                .consumer_share = share,
                                                .compute_measured = measured};
    struct rue_error_prior *prior;
    rue_error error = {0};
    cr_assert_eq(rue_error_prior_open(&setup, &prior, &error), RUE_OK, "%s", error.message);
    return prior;
}

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
static double weigh(const struct rue_error_prior *prior, double alpha, const struct told *trials)
{
    struct rue_posterior *posterior;
    rue_error error = {0};
    cr_assert_eq(rue_posterior_open(prior, alpha, 0, 1, &posterior, &error), RUE_OK, "%s", error.message);
    double sum = 0;
    for (int i = 0; i < TRIALS; i++) {
        double mean, sd;
        rue_posterior_wait(posterior, trials[i].seconds);
        rue_posterior_expect(posterior, &trials[i].trial, &mean, &sd);
        double distance = rue_posterior_observe(posterior, &trials[i].trial, trials[i].log_ratio);
        cr_assert_float_eq(distance, (trials[i].log_ratio - mean) / sd, 1e-9);
        double variance = sd * sd + rue_error_prior_disturbance(distance);
        sum -= 0.5 * (log(variance) + pow(trials[i].log_ratio - mean, 2) / variance);
    }
    rue_posterior_close(posterior);
    return sum;
}

/* The root of the mean square, where each alpha is as probable as a posterior expected the trials by it. */
static double expected_alpha(const struct rue_error_prior *prior, const struct told *trials)
{
    double logs[ALPHAS], most = -INFINITY, sum = 0, squares = 0;
    for (int a = 0; a < ALPHAS; a++) most = fmax(most, logs[a] = weigh(prior, alphas[a], trials));
    for (int a = 0; a < ALPHAS; a++) {
        sum += exp(logs[a] - most);
        squares += exp(logs[a] - most) * alphas[a] * alphas[a];
    }
    return sqrt(squares / sum);
}

Test(evidence, weighs_alphas_as_a_posterior_by_each_expected_the_trials)
{
    struct rue_error_prior *prior = open_prior();
    double least = INFINITY, most = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct told trials[TRIALS];
        struct rue_evidence *evidence;
        rue_error error = {0};
        make_trials(trials, 0.03 * exp2((double)(seed % 6) / 2), rue_mix64(seed));
        cr_assert_eq(rue_evidence_open(prior, alphas, ALPHAS, &evidence, &error), RUE_OK);
        for (int i = 0; i < TRIALS; i++) {
            const struct rue_posterior_trial *trial = &trials[i].trial;
            rue_evidence_wait(evidence, trials[i].seconds);
            cr_assert_eq(rue_evidence_add(evidence, trial->cell, trial->jacobian, trials[i].log_ratio,
                                          trial->sd, &error),
                         RUE_OK);
        }
        double told = rue_evidence_alpha(evidence);
        cr_assert_float_eq(told, expected_alpha(prior, trials), 1e-6 * told, "seed %d", (int)seed);
        least = fmin(least, told);
        most = fmax(most, told);
        rue_evidence_close(evidence);
    }
    cr_expect(least < 1.1 && most > 5, "trials tell alphas between %g and %g only", least, most);
    rue_error_prior_close(prior);
}

Test(evidence, without_trials_holds_all_alphas_alike)
{
    struct rue_error_prior *prior = open_prior();
    struct rue_evidence *evidence;
    rue_error error = {0};
    cr_assert_eq(rue_evidence_open(prior, alphas, ALPHAS, &evidence, &error), RUE_OK);
    double squares = 0;
    for (int a = 0; a < ALPHAS; a++) squares += alphas[a] * alphas[a];
    cr_assert_float_eq(rue_evidence_alpha(evidence), sqrt(squares / ALPHAS), 1e-12);
    rue_evidence_close(evidence);
    rue_error_prior_close(prior);
}

Test(evidence, has_its_fill_of_many_trials)
{
    struct rue_error_prior *prior = open_prior();
    struct rue_evidence *evidence;
    rue_error error = {0};
    cr_assert_eq(rue_evidence_open(prior, alphas, ALPHAS, &evidence, &error), RUE_OK);
    for (int i = 0; i < 3 * RUE_EVIDENCE_TRIALS; i++) {
        bool late = i >= RUE_EVIDENCE_TRIALS;
        size_t cell = (size_t)i % CELLS;
        double log_ratio = late ? (cell % 2 ? 0.5 : -0.5) : 0;
        cr_assert_eq(rue_evidence_add(evidence, cell, NULL, log_ratio, 0.02, &error), RUE_OK);
    }
    cr_assert_lt(rue_evidence_alpha(evidence), alphas[1]);
    rue_evidence_close(evidence);
    rue_error_prior_close(prior);
}
