#include <criterion/criterion.h>
#include <math.h>

#include "pipeline_fit.h"
#include "pipeline_fixture.h"
#include "random.h"

TestSuite(pipeline_fit, .timeout = 60);

static const struct rue_pipeline_loader threads = {
    .value = {[RUE_PIPELINE_start_s] = 1e-4,
              [RUE_PIPELINE_start_worker_s] = 4e-5,
              [RUE_PIPELINE_batch_s] = 1e-5,
              [RUE_PIPELINE_inline_ratio] = 1,
              [RUE_PIPELINE_beside_ratio] = 1,
              [RUE_PIPELINE_warm_up_ratio] = 0.05,
              [RUE_PIPELINE_item_s] = 1.2e-3,
              [RUE_PIPELINE_contention_ratio] = 0.02,
              [RUE_PIPELINE_storage_s] = 1e-5,
              [RUE_PIPELINE_stop_worker_s] = 3e-5,
              [RUE_PIPELINE_jitter_ratio] = 0.06},
    .cpus = 2,
};

static const struct rue_pipeline_consumer nothing = {1e-6, 1e-8, 0, false};

static struct rue_config make_config(int batch_size, int num_workers)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = batch_size;
    config.value[RUE_NUM_WORKERS] = num_workers;
    return config;
}

static double predict_s(const struct rue_pipeline_loader *loader, struct rue_pipeline_consumer consumer,
                        struct rue_config config, uint64_t images)
{
    return rue_pipeline_predict(loader, &consumer, &config, images).end_to_end_s;
}

/* What a trial of `rounds` batches a worker would measure. */
static struct rue_pipeline_sample make_sample(const struct rue_pipeline_loader *loader,
                                              struct rue_pipeline_consumer consumer, int batch_size,
                                              int num_workers, int rounds, double factor)
{
    struct rue_pipeline_sample sample = {.config = make_config(batch_size, num_workers),
                                         .images = (uint64_t)(batch_size * num_workers * rounds),
                                         .consumer = consumer,
                                         .unknown_consumer = RUE_PIPELINE_KNOWN};
    sample.times = rue_pipeline_predict(loader, &consumer, &sample.config, sample.images);
    sample.times.first_batch_s *= factor;
    sample.times.end_to_end_s *= factor;
    sample.times.shutdown_s *= factor;
    return sample;
}

static const int probes[][3] = {{32, 1, 6},  {256, 1, 2},  {32, 4, 6}, {128, 8, 3},
                                {32, 16, 4}, {128, 16, 3}, {32, 32, 4}};
enum { PROBES = sizeof probes / sizeof *probes };

/* The largest error of a prediction for 9,000 images over a grid of sizes and workers that were not all
 * tried. */
static double worst_error(const struct rue_pipeline_loader *truth, const struct rue_pipeline_loader *estimate,
                          struct rue_pipeline_consumer consumer)
{
    static const int sizes[] = {16, 64, 128, 512}, workers[] = {1, 2, 6, 12, 24};
    double worst = 0;
    for (int b = 0; b < 4; b++)
        for (int w = 0; w < 5; w++) {
            struct rue_config config = make_config(sizes[b], workers[w]);
            double right = predict_s(truth, consumer, config, 9000),
                   guess = predict_s(estimate, consumer, config, 9000);
            worst = fmax(worst, fabs(guess / right - 1));
        }
    return worst;
}

static rue_status open_fit(const struct rue_pipeline_sample *samples, size_t count, size_t consumers,
                           const struct rue_pipeline_loader *truth, const struct rue_pipeline_prior *prior,
                           struct rue_pipeline_fit **out, rue_error *error)
{
    const struct rue_pipeline_fit_setup setup = {.samples = samples,
                                                 .sample_count = count,
                                                 .consumer_count = consumers,
                                                 .cpus = truth->cpus,
                                                 .round_robin = truth->round_robin,
                                                 .prior = prior};
    return rue_pipeline_fit_open(&setup, out, error);
}

static struct rue_pipeline_fit *make_fit(const struct rue_pipeline_sample *samples, size_t count,
                                         size_t consumers, const struct rue_pipeline_loader *truth)
{
    struct rue_pipeline_fit *fit;
    rue_error error = {0};
    rue_status status = open_fit(samples, count, consumers, truth, NULL, &fit, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return fit;
}

/* Of the time from the first batch to the last, measured over found. */
static double slow_ratio(const struct rue_pipeline_sample *sample, const struct rue_pipeline_loader *estimate)
{
    struct rue_pipeline_times times =
        rue_pipeline_predict(estimate, &nothing, &sample->config, sample->images);
    return rue_pipeline_middle_s(&sample->times) / rue_pipeline_middle_s(&times);
}

static void expect_found(const struct rue_pipeline_loader *truth, double noise, double disturbed,
                         double limit)
{
    struct rue_pipeline_sample samples[PROBES];
    uint64_t seed = 3;
    for (int p = 0; p < PROBES; p++) {
        double factor = exp(noise * (2 * rue_random_unit(&seed) - 1)) * (p == 3 ? disturbed : 1);
        samples[p] = make_sample(truth, nothing, probes[p][0], probes[p][1], probes[p][2], factor);
    }
    struct rue_pipeline_fit *fit = make_fit(samples, PROBES, 0, truth);
    static const struct rue_pipeline_consumer models[] = {
        {1e-6, 1e-8, 0, false}, {2e-3, 1e-4, 0, false}, {5e-3, 2e-3, 0, false}, {5e-3, 1e-2, 0, false}};
    for (int m = 0; m < 4; m++) {
        double error = worst_error(truth, &fit->loader, models[m]);
        cr_assert_lt(error, limit, "model %d: off by %.1f %%", m, 100 * error);
    }
    if (disturbed > 1) cr_assert_gt(slow_ratio(&samples[3], &fit->loader), 1 + (disturbed - 1) / 2);
    rue_pipeline_fit_close(fit);
}

Test(pipeline_fit, a_few_probes_identify_a_loader_of_processes)
{
    expect_found(&pipeline_large, 0, 1, 0.03);
    expect_found(&pipeline_large, 0.03, 1, 0.1);
}

Test(pipeline_fit, a_few_probes_identify_late_first_batches)
{
    struct rue_pipeline_loader truth = pipeline_large;
    for (double late = 1; late < 10; late *= 3) {
        truth.value[RUE_PIPELINE_warm_up_ratio] = late;
        expect_found(&truth, 0, 1, 0.03);
        expect_found(&truth, 0.03, 1, 0.1);
    }
}

Test(pipeline_fit, a_few_probes_identify_a_loader_of_threads)
{
    expect_found(&threads, 0, 1, 0.03);
    expect_found(&threads, 0.03, 1, 0.1);
}

Test(pipeline_fit, a_probe_identifies_loading_without_workers)
{
    struct rue_pipeline_loader truth = pipeline_large;
    truth.value[RUE_PIPELINE_inline_ratio] = 0.6;
    struct rue_pipeline_sample samples[PROBES + 1];
    for (int p = 0; p < PROBES; p++)
        samples[p] = make_sample(&truth, nothing, probes[p][0], probes[p][1], probes[p][2], 1);
    samples[PROBES] = make_sample(&truth, nothing, 32, 1, 6, 1);
    samples[PROBES].config.value[RUE_NUM_WORKERS] = 0;
    samples[PROBES].times =
        rue_pipeline_predict(&truth, &nothing, &samples[PROBES].config, samples[PROBES].images);
    struct rue_pipeline_fit *fit = make_fit(samples, PROBES + 1, 0, &truth);
    struct rue_config config = make_config(128, 0);
    double right = predict_s(&truth, nothing, config, 9000),
           error = predict_s(&fit->loader, nothing, config, 9000) / right - 1;
    cr_assert_lt(fabs(error), 0.05, "off by %.1f %%", 100 * error);
    rue_pipeline_fit_close(fit);
}

Test(pipeline_fit, a_trial_that_was_disturbed_is_seen_and_pulls_little)
{
    expect_found(&pipeline_large, 0, 1.5, 0.1);
    expect_found(&threads, 0, 1.5, 0.1);
}

Test(pipeline_fit, joint_trials_identify_loader_and_models)
{
    static const struct rue_pipeline_consumer models[] = {
        {2e-3, 1e-4, 0, false}, {5e-3, 2e-3, 0, false}, {5e-3, 1e-2, 0, false}};
    enum { MODELS = 3, PER_MODEL = 6 };
    struct rue_pipeline_sample samples[MODELS * PER_MODEL];
    size_t count = 0;
    for (size_t m = 0; m < MODELS; m++)
        for (int p = 0; p < PER_MODEL; p++) {
            samples[count] =
                make_sample(&pipeline_large, models[m], probes[p][0], probes[p][1], probes[p][2], 1);
            samples[count++].unknown_consumer = m;
        }
    struct rue_pipeline_fit *fit = make_fit(samples, count, MODELS, &pipeline_large);
    for (size_t m = 0; m < MODELS; m++) {
        static const int sizes[] = {32, 128, 256}, workers[] = {2, 6, 12};
        for (int i = 0; i < 9; i++) {
            struct rue_config config = make_config(sizes[i / 3], workers[i % 3]);
            double right = predict_s(&pipeline_large, models[m], config, 9000),
                   guess = predict_s(&fit->loader, fit->consumers[m], config, 9000);
            cr_assert_lt(fabs(guess / right - 1), 0.05, "model %zu, %d/%d: %.1f %% off", m, sizes[i / 3],
                         workers[i % 3], 100 * (guess / right - 1));
        }
    }
    rue_pipeline_fit_close(fit);
}

Test(pipeline_fit, estimation_fails_without_trials)
{
    struct rue_pipeline_fit *fit;
    struct rue_pipeline_sample nothing_known = {.config = make_config(32, 2),
                                                .images = 64,
                                                .unknown_consumer = RUE_PIPELINE_KNOWN,
                                                .times = {NAN, NAN, NAN}};
    cr_assert_eq(open_fit(NULL, 0, 0, &pipeline_large, NULL, &fit, NULL), RUE_USAGE);
    cr_assert_eq(open_fit(&nothing_known, 1, 0, &pipeline_large, NULL, &fit, NULL), RUE_USAGE);
}

static struct rue_pipeline_prior make_prior(const struct rue_pipeline_loader *loader, double sd)
{
    struct rue_pipeline_prior prior = {.consumers = NULL};
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++) {
        prior.value[p] = loader->value[p];
        prior.sd[p] = sd;
    }
    return prior;
}

static int asked;

static rue_status stop_in_the_midst(void)
{
    return ++asked > 1000 ? RUE_TERMINATED : RUE_OK;
}

Test(pipeline_fit, a_search_that_is_stopped_ends_at_once)
{
    struct rue_pipeline_sample samples[PROBES];
    for (int p = 0; p < PROBES; p++)
        samples[p] = make_sample(&pipeline_large, nothing, probes[p][0], probes[p][1], probes[p][2], 1);
    struct rue_pipeline_fit_setup setup = {.samples = samples,
                                           .sample_count = PROBES,
                                           .cpus = pipeline_large.cpus,
                                           .round_robin = pipeline_large.round_robin,
                                           .stop = stop_in_the_midst};
    struct rue_pipeline_fit *fit = NULL;
    rue_error error = {0};
    cr_assert_eq(rue_pipeline_fit_open(&setup, &fit, &error), RUE_TERMINATED);
    cr_assert_null(fit);
    cr_assert_lt(asked, 1100, "it was asked %d times", asked);
    cr_assert_str_eq(error.message, "interrupted");
}

Test(pipeline_fit, the_estimate_without_trials_is_the_prior)
{
    struct rue_pipeline_prior prior = make_prior(&pipeline_large, 0.3);
    struct rue_pipeline_fit *fit;
    cr_assert_eq(open_fit(NULL, 0, 0, &pipeline_large, &prior, &fit, NULL), RUE_OK);
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++) {
        cr_assert_float_eq(fit->loader.value[p] / pipeline_large.value[p], 1, 1e-6);
        for (int q = 0; q < RUE_PIPELINE_PARAMETER_COUNT; q++)
            cr_assert_float_eq(fit->covariance[(size_t)p * fit->count + (size_t)q], p == q ? 0.09 : 0, 1e-6);
    }
    rue_pipeline_fit_close(fit);
}

Test(pipeline_fit, one_probe_and_a_prior_detect_a_slower_loader)
{
    struct rue_pipeline_loader slower = pipeline_large;
    slower.value[RUE_PIPELINE_item_s] *= 1.3;
    struct rue_pipeline_prior prior = make_prior(&pipeline_large, 0.25);
    struct rue_pipeline_sample sample = make_sample(&slower, nothing, 64, 4, 6, 1);
    struct rue_pipeline_fit *fit;
    cr_assert_eq(open_fit(&sample, 1, 0, &pipeline_large, &prior, &fit, NULL), RUE_OK);
    double before = worst_error(&slower, &pipeline_large, nothing),
           after = worst_error(&slower, &fit->loader, nothing);
    cr_assert_lt(after, 0.5 * before, "%.3f, %.3f without the probe", after, before);
    rue_pipeline_fit_close(fit);
}

Test(pipeline_fit, end_to_end_times_are_informative)
{
    struct rue_pipeline_sample samples[PROBES];
    for (int p = 0; p < PROBES; p++) {
        samples[p] = make_sample(&pipeline_large, nothing, probes[p][0], probes[p][1], 10 * probes[p][2], 1);
        samples[p].times.first_batch_s = samples[p].times.shutdown_s = NAN;
    }
    struct rue_pipeline_fit *fit = make_fit(samples, PROBES, 0, &pipeline_large);
    cr_assert_lt(worst_error(&pipeline_large, &fit->loader, nothing), 0.15);
    double found_s = predict_s(&fit->loader, nothing, samples[0].config, samples[0].images);
    cr_assert_float_eq(samples[0].times.end_to_end_s / found_s, 1, 0.1);
    rue_pipeline_fit_close(fit);
}
