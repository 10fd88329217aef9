#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "posterior.h"

TestSuite(posterior, .timeout = 60);

/* A grid of 2 x 2 for two models, and one parameter that matters: every time is in proportion to it. */
enum { MODELS = 2, CONFIGS = 4, CELLS = MODELS * CONFIGS, DRAWS = 4000 };

static const double parameter_variance = 0.09, floor_variance = 0.0004;
static const double everything = 0.2 * 0.2;

static struct rue_config configs[CONFIGS];
static struct rue_posterior_point points[CELLS];

/* `mean` of the parameter, less that of the predictions. */
static struct rue_posterior *open_posterior_at(double mean)
{
    double means[RUE_LOADER_SLOPES] = {[RUE_PIPELINE_item_s] = mean};
    double covariance[RUE_LOADER_SLOPES * RUE_LOADER_SLOPES] = {0};
    for (size_t p = 0; p < RUE_LOADER_SLOPES; p++)
        covariance[p * (RUE_LOADER_SLOPES + 1)] = parameter_variance;
    for (size_t c = 0; c < CONFIGS; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = c / 2 ? 64 : 16;
        configs[c].value[RUE_NUM_WORKERS] = c % 2 ? 7 : 1;
    }
    for (size_t i = 0; i < CELLS; i++) {
        points[i] = (struct rue_posterior_point){.site = {.model = i / CONFIGS, .config = i % CONFIGS}};
        points[i].site.amplitude[RUE_AMPLITUDE_ONE] = 1;
        points[i].slopes[RUE_PIPELINE_item_s] = 1;
    }
    const struct rue_posterior_setup setup = {.model_count = MODELS,
                                              .config_count = CONFIGS,
                                              .configs = configs,
                                              .parameter_count = RUE_LOADER_SLOPES,
                                              .mean = means,
                                              .covariance = covariance};
    struct rue_posterior *posterior;
    rue_error error = {0};
    cr_assert_eq(rue_posterior_open(&setup, &posterior, &error), RUE_OK, "%s", error.message);
    return posterior;
}

static struct rue_posterior *open_posterior(void)
{
    return open_posterior_at(0);
}

static void add_trial(struct rue_posterior *posterior, size_t cell, double log_ratio, double noise)
{
    const struct rue_posterior_trial trial = {
        .point = points[cell], .log_ratio = log_ratio, .noise_variance = noise};
    rue_posterior_add(posterior, &trial);
}

/* Before any trial scales are the means of their logarithms. */
static double cell_scale(void)
{
    double weights = 0, sum = 0;
    for (int i = 0; i < 4; i++) {
        double weight = exp(-0.5 * pow(log(pow(2, i)) / 1.2, 2));
        weights += weight;
        sum += weight * log(pow(2, i));
    }
    return exp(sum / weights);
}

static double two(double a, double b, double one)
{
    double weights = exp(-0.5 * pow(log(a) / one, 2)) + exp(-0.5 * pow(log(b) / one, 2));
    return exp((exp(-0.5 * pow(log(a) / one, 2)) * log(a) + exp(-0.5 * pow(log(b) / one, 2)) * log(b)) /
               weights);
}

static double matern(double distance)
{
    return (1 + sqrt(3) * distance) * exp(-sqrt(3) * distance);
}

/* The covariance of two cells, worked out from the table of the fields by hand. */
static double covariance_by_hand(size_t a, size_t b)
{
    double model = two(0.7, 3, 1.2), cell = cell_scale(), smooths[] = {0.5, 2, 6}, weights = 0, smooth = 0;
    for (int i = 0; i < 3; i++) {
        double weight = exp(-0.5 * pow(log(smooths[i]) / 1.2, 2));
        weights += weight;
        smooth += weight * log(smooths[i]);
    }
    smooth = exp(smooth / weights);
    bool same_model = a / CONFIGS == b / CONFIGS, same_config = a % CONFIGS == b % CONFIGS,
         same_batch = a % CONFIGS / 2 == b % CONFIGS / 2, same_workers = a % 2 == b % 2;
    double batch = same_batch ? 1 : matern(2 / 2.4), workers = same_workers ? 1 : matern(2 / 2.4);
    return parameter_variance + floor_variance + everything +
           same_model * pow(0.007 * model, 2) * (1 + batch) + pow(0.01 * smooth, 2) * batch * workers +
           pow(cell, 2) * (same_config * pow(0.005, 2) + (a == b) * pow(0.01, 2));
}

Test(posterior, variance_before_any_trial_is_that_of_the_fields)
{
    struct rue_posterior *posterior = open_posterior();
    for (size_t i = 0; i < CELLS; i++) {
        double mean, variance;
        rue_posterior_predict(posterior, &points[i], &mean, &variance);
        cr_assert_eq(mean, 0);
        cr_assert_float_eq(variance, covariance_by_hand(i, i), 1e-9);
    }
    rue_posterior_close(posterior);
}

Test(posterior, one_trial_moves_every_cell_by_its_covariance)
{
    struct rue_posterior *posterior = open_posterior();
    double drift = 0.02 * 0.02, noise_scale = 0, weights = 0, noises[] = {0.5, 1, 2, 3.5};
    for (int i = 0; i < 4; i++) {
        double weight = exp(-0.5 * pow(log(noises[i]) / 1.2, 2));
        weights += weight;
        noise_scale += weight * log(noises[i]);
    }
    noise_scale = exp(noise_scale / weights);
    add_trial(posterior, 5, 0.4, 0.0004);
    double total_variance = covariance_by_hand(5, 5) + drift + noise_scale * noise_scale * 0.0004;
    for (size_t i = 0; i < CELLS; i++) {
        double mean, variance, with = covariance_by_hand(i, 5);
        rue_posterior_predict(posterior, &points[i], &mean, &variance);
        cr_assert_float_eq(mean, with / total_variance * 0.4, 1e-9, "cell %zu: %g", i, mean);
        cr_assert_float_eq(variance, covariance_by_hand(i, i) - with * with / total_variance, 1e-9);
    }
    rue_posterior_close(posterior);
}

static void add_trials(struct rue_posterior *posterior)
{
    static const struct {
        size_t cell;
        double off;
    } trials[] = {{0, 0.31}, {5, 0.28}, {2, 0.33}, {0, 0.30}, {7, 0.26}, {3, 0.35}, {6, 0.27}};
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++)
        add_trial(posterior, trials[t].cell, trials[t].off, 0.0004);
}

Test(posterior, draws_agree_with_mean_and_variance)
{
    struct rue_posterior *posterior = open_posterior();
    add_trials(posterior);
    double *latent = calloc(rue_posterior_latent_size(posterior), sizeof *latent);
    double sum[CELLS] = {0}, square[CELLS] = {0};
    uint64_t seed = 7;
    for (int d = 0; d < DRAWS; d++) {
        rue_posterior_sample(posterior, &seed, latent);
        for (size_t i = 0; i < CELLS; i++) {
            double off = rue_posterior_evaluate(posterior, latent, &points[i]);
            sum[i] += off;
            square[i] += off * off;
        }
    }
    rue_posterior_mean(posterior, latent);
    for (size_t i = 0; i < CELLS; i++) {
        double mean, variance, drawn = sum[i] / DRAWS;
        rue_posterior_predict(posterior, &points[i], &mean, &variance);
        cr_assert_float_eq(rue_posterior_evaluate(posterior, latent, &points[i]), mean, 1e-6);
        cr_assert_float_eq(drawn, mean, 4 * sqrt(variance / DRAWS), "cell %zu", i);
        cr_assert_float_eq(square[i] / DRAWS - drawn * drawn, variance, 0.15 * variance, "cell %zu", i);
    }
    free(latent);
    rue_posterior_close(posterior);
}

/* What a trial would bring is what it brings. */
Test(posterior, variance_reduction_equals_the_change_by_a_trial)
{
    struct rue_posterior *posterior = open_posterior();
    double *latent = calloc(rue_posterior_latent_size(posterior), sizeof *latent), mean, before, after;
    add_trials(posterior);
    const struct rue_posterior_trial trial = {.point = points[5], .noise_variance = 0.0004};
    rue_posterior_accumulate(posterior, &points[4], 1, latent);
    rue_posterior_set_contrast(posterior, latent);
    double gain = rue_posterior_variance_reduction(posterior, latent, &trial);
    rue_posterior_predict(posterior, &points[4], &mean, &before);
    cr_assert_float_eq(rue_posterior_evaluate(posterior, latent, &points[4]), before, 1e-6);
    rue_posterior_predict(posterior, &points[5], &mean, &after);
    add_trial(posterior, 5, mean, 0.0004);
    rue_posterior_predict(posterior, &points[4], &mean, &after);
    cr_assert_float_eq(before - after, gain, 1e-6 + 0.02 * gain);
    free(latent);
    rue_posterior_close(posterior);
}

Test(posterior, a_disturbed_trial_changes_little)
{
    struct rue_posterior *calm = open_posterior(), *disturbed = open_posterior();
    double mean, other, variance;
    add_trials(calm);
    add_trials(disturbed);
    add_trial(disturbed, 1, 1.6, 0.0004);
    cr_assert_eq(rue_posterior_update(calm, NULL), RUE_OK);
    cr_assert_eq(rue_posterior_update(disturbed, NULL), RUE_OK);
    rue_posterior_predict(calm, &points[0], &mean, &variance);
    rue_posterior_predict(disturbed, &points[0], &other, &variance);
    cr_assert_float_eq(other, mean, 0.02);
    rue_posterior_predict(disturbed, &points[1], &other, &variance);
    cr_assert_lt(other, 0.6, "%g", other);
    rue_posterior_close(calm);
    rue_posterior_close(disturbed);
}

Test(posterior, a_trial_with_added_variance_counts_less)
{
    double means[2], variance;
    for (int i = 0; i < 2; i++) {
        struct rue_posterior *posterior = open_posterior();
        const struct rue_posterior_trial trial = {
            .point = points[0], .log_ratio = 0.1, .noise_variance = 1e-4, .added_variance = i ? 0.04 : 0};
        rue_posterior_add(posterior, &trial);
        rue_posterior_predict(posterior, &points[0], &means[i], &variance);
        rue_posterior_close(posterior);
    }
    cr_assert(means[0] > 0.09 && means[1] > 0 && means[1] < 0.9 * means[0], "%g, %g", means[0], means[1]);
}

/* Unexpected trials of other configurations raise the calibration ratio. */
Test(posterior, calibration_detects_overconfidence)
{
    struct rue_posterior *fits = open_posterior(), *misfits = open_posterior();
    for (size_t i = 0; i < CELLS; i++) {
        add_trial(fits, i, 0.3 + (i % 2 ? 0.002 : -0.002), 0.0004);
        add_trial(misfits, i, i % CONFIGS == 3 ? 0.9 : 0.3, 0.0004);
    }
    cr_assert_eq(rue_posterior_update(fits, NULL), RUE_OK);
    cr_assert_eq(rue_posterior_update(misfits, NULL), RUE_OK);
    struct rue_posterior_calibration good = rue_posterior_calibration(fits),
                                     bad = rue_posterior_calibration(misfits);
    cr_assert_eq(good.configs, CONFIGS);
    cr_assert_lt(good.ratio, 1, "%g", good.ratio);
    cr_assert_gt(bad.ratio, 2 * good.ratio, "%g and %g", bad.ratio, good.ratio);
    rue_posterior_close(fits);
    rue_posterior_close(misfits);
}

Test(posterior, grows_with_the_number_of_trials)
{
    struct rue_posterior *posterior = open_posterior();
    for (size_t i = 0; i < 80; i++) add_trial(posterior, i % CELLS, 0.1, 0.0004);
    double mean, variance;
    rue_posterior_predict(posterior, &points[0], &mean, &variance);
    cr_assert_eq(rue_posterior_trial_count(posterior), 80);
    cr_assert_float_eq(mean, 0.1, 0.01);
    cr_assert_lt(variance, 0.001, "little but the drift is left");
    rue_posterior_close(posterior);
}

/* Predictions with a parameter that is exp(0.4) times as large say the same if they are corrected by as much.
 */
Test(posterior, the_prior_stays_where_it_is_linearised)
{
    static const double moved = 0.4, ratios[3] = {0.3, 0.25, 0.5};
    struct rue_posterior *here = open_posterior(), *there = open_posterior_at(-moved);
    rue_error error = {0};
    for (size_t i = 0; i < 3; i++) {
        add_trial(here, 3 * i, ratios[i], 1e-4);
        add_trial(there, 3 * i, ratios[i] - moved, 1e-4);
    }
    cr_assert_eq(rue_posterior_update(here, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_posterior_update(there, &error), RUE_OK, "%s", error.message);
    size_t size = rue_posterior_latent_size(here);
    double *latent = calloc(4 * size, sizeof *latent);
    uint64_t seeds[2] = {5, 5};
    rue_posterior_mean(here, latent);
    rue_posterior_mean(there, latent + size);
    rue_posterior_sample(here, &seeds[0], latent + 2 * size);
    rue_posterior_sample(there, &seeds[1], latent + 3 * size);
    for (size_t i = 0; i < CELLS; i++) {
        double mean[2], variance[2];
        rue_posterior_predict(here, &points[i], &mean[0], &variance[0]);
        rue_posterior_predict(there, &points[i], &mean[1], &variance[1]);
        cr_expect_float_eq(mean[0], mean[1] + moved, 1e-9);
        cr_expect_float_eq(variance[0], variance[1], 1e-9);
        for (size_t k = 0; k < 4; k += 2)
            cr_expect_float_eq(rue_posterior_evaluate(here, latent + k * size, &points[i]),
                               rue_posterior_evaluate(there, latent + (k + 1) * size, &points[i]) + moved,
                               1e-9);
    }
    free(latent);
    rue_posterior_close(here);
    rue_posterior_close(there);
}

Test(posterior, an_indefinite_covariance_is_refused)
{
    double covariance[4] = {1, 2, 2, 1};
    struct rue_posterior *posterior = open_posterior();
    rue_posterior_close(posterior);
    const struct rue_posterior_setup setup = {.model_count = MODELS,
                                              .config_count = CONFIGS,
                                              .configs = configs,
                                              .parameter_count = 2,
                                              .covariance = covariance};
    cr_assert_eq(rue_posterior_open(&setup, &posterior, NULL), RUE_INTERNAL);
}

/* Of a space of two batch sizes and a knob that a runner declares; the two trials are of its first value. */
static void learn_declared(const struct rue_knob_info *knob, double *seen, double *unseen)
{
    static struct rue_config declared[CONFIGS];
    double covariance[RUE_LOADER_SLOPES * RUE_LOADER_SLOPES] = {0}, mean, variance;
    struct rue_knobs knobs = rue_own_knobs;
    struct rue_posterior *posterior;
    knobs.at[knobs.count++] = knob;
    for (size_t c = 0; c < CONFIGS; c++) {
        declared[c] = rue_config_default_for(&knobs);
        declared[c].value[RUE_BATCH_SIZE] = c / 2 ? 64 : 16;
        declared[c].value[RUE_OWN_KNOB_COUNT] = c % 2 ? knob->max : knob->min;
    }
    for (size_t p = 0; p < RUE_LOADER_SLOPES; p++) covariance[p * (RUE_LOADER_SLOPES + 1)] = 1e-6;
    const struct rue_posterior_setup setup = {.model_count = 1,
                                              .config_count = CONFIGS,
                                              .configs = declared,
                                              .parameter_count = RUE_LOADER_SLOPES,
                                              .covariance = covariance};
    cr_assert_eq(rue_posterior_open(&setup, &posterior, NULL), RUE_OK);
    for (size_t c = 0; c < CONFIGS; c += 2) add_trial(posterior, c, 0.4, 0.0004);
    struct rue_posterior_point point = points[0];
    rue_posterior_predict(posterior, &point, &mean, &variance);
    *seen = sqrt(variance);
    point.site.config = 1;
    rue_posterior_predict(posterior, &point, &mean, &variance);
    *unseen = sqrt(variance);
    rue_posterior_close(posterior);
}

Test(posterior, a_knob_that_a_runner_declares_is_a_stratum_or_a_smooth_axis)
{
    static const char *const words[] = {"fork", "spawn", NULL}, *const levels[] = {"0", "0.5", "1", NULL};
    static const double numbers[] = {0, 0.5, 1};
    static const struct rue_knob_info category = {.name = "context",
                                                  .kind = RUE_KIND_CATEGORY,
                                                  .words = words,
                                                  .max = 1,
                                                  .help = ""},
                                      number = {.name = "level",
                                                .kind = RUE_KIND_NUMBER,
                                                .words = levels,
                                                .numbers = numbers,
                                                .max = 2,
                                                .help = ""};
    double seen, unseen, far;
    rue_posterior_close(open_posterior());
    learn_declared(&category, &seen, &unseen);
    cr_assert(seen < 0.1 && unseen > 0.3, "%g and %g: the other word may be 30 %% off", seen, unseen);
    learn_declared(&number, &seen, &far);
    cr_assert(seen < 0.1 && far > 0.15 && far < unseen, "%g and %g: neighbours are informative", seen, far);
}
