#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "job_time.h"
#include "random.h"

enum { BATCHES_MAX = RUE_BATCH_TIMES_MAX, PAIRED_MAX = 4000 };

/* A loader and its consumer; all in ns. Batch i of k images is loaded by worker i mod W, which starts when it
 * has loaded its previous one and there is room in the window; the consumer takes batches in order. */
struct machine {
    double start_up;       /* until the workers run */
    double load_per_image; /* of one worker */
    double compute_per_image;
    double shut_down;
    bool burst;    /* the first W * pf batches cost nothing to load */
    double jitter; /* of loading, a ratio */
};

static struct rue_config make_config(int batch, int workers, int prefetch)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = batch;
    config.value[RUE_NUM_WORKERS] = workers;
    config.value[RUE_PREFETCH_FACTOR] = prefetch;
    return config;
}

/* `result` borrows a static array: it is not to be closed. */
static struct rue_trial_result simulate(const struct machine *machine, struct rue_config config,
                                        uint64_t images)
{
    static uint64_t ready_ns[BATCHES_MAX];
    static double loaded[BATCHES_MAX], taken[BATCHES_MAX];
    uint64_t batch = (uint64_t)config.value[RUE_BATCH_SIZE], count = (images + batch - 1) / batch, random = 5;
    uint64_t workers = (uint64_t)config.value[RUE_NUM_WORKERS],
             window = workers * (uint64_t)config.value[RUE_PREFETCH_FACTOR];
    struct rue_trial_result result = rue_trial_result_empty();
    double end = 0, compute = 0;
    cr_assert_leq(count, BATCHES_MAX);
    for (uint64_t i = 0; i < count; i++) {
        double k = (double)(i + 1 < count ? batch : images - i * batch);
        double noise = 1 + machine->jitter * ((double)rue_random_below(&random, 2001) / 1000 - 1);
        double service = machine->burst && i < window ? 0 : k * machine->load_per_image * noise;
        double start = workers == 0 ? end : machine->start_up;
        if (workers > 0 && i >= window) start = taken[i - window];
        if (workers > 0 && i >= workers && loaded[i - workers] > start) start = loaded[i - workers];
        loaded[i] = start + service;
        taken[i] = loaded[i] > end ? loaded[i] : end;
        ready_ns[i] = (uint64_t)taken[i];
        end = taken[i] + k * machine->compute_per_image;
        compute += k * machine->compute_per_image;
    }
    result.outcome = RUE_TRIAL_OK;
    result.config = config;
    result.images = (int64_t)images;
    result.batches = (int64_t)count;
    result.first_batch_ns = (int64_t)ready_ns[0];
    result.compute_ns = (int64_t)compute;
    result.shutdown_ns = (int64_t)machine->shut_down;
    result.end_to_end_ns = (int64_t)(end + machine->shut_down);
    result.load_wait_ns = result.end_to_end_ns - result.compute_ns - result.shutdown_ns;
    result.ready_count = count;
    result.batch_ready_ns = ready_ns;
    return result;
}

static double true_ns(const struct machine *machine, struct rue_config config, uint64_t job_images)
{
    return (double)simulate(machine, config, job_images).end_to_end_ns;
}

/* How far the estimate from `images` images is off the whole job, a ratio with its sign. */
static double relative_error(const struct machine *machine, struct rue_config config, uint64_t images,
                             uint64_t job_images)
{
    bool predicted = false;
    double truth = true_ns(machine, config, job_images);
    struct rue_trial_result result = simulate(machine, config, images);
    double estimate = rue_job_time_ns(&result, job_images, false, &predicted);
    cr_assert(predicted);
    return estimate / truth - 1;
}

static double relative_line_error(const struct machine *machine, struct rue_config config, uint64_t images,
                                  uint64_t job_images)
{
    double truth = true_ns(machine, config, job_images);
    return (double)simulate(machine, config, images).end_to_end_ns * (double)job_images / (double)images /
               truth -
           1;
}

static const struct machine loader_bound = {
    .start_up = 5e7, .load_per_image = 4e6, .compute_per_image = 1e4, .shut_down = 2e7};
static const struct machine consumer_bound = {
    .start_up = 5e7, .load_per_image = 1e6, .compute_per_image = 1e6, .shut_down = 2e7};

Test(job_time, a_full_trial_is_its_own_answer)
{
    bool predicted = true;
    struct rue_trial_result result = simulate(&loader_bound, make_config(32, 4, 2), 9469);
    cr_assert_float_eq(rue_job_time_ns(&result, 9469, false, &predicted), (double)result.end_to_end_ns, 0);
    cr_assert_not(predicted);
    cr_assert_float_eq(rue_job_time_ns(&result, 5000, false, &predicted), (double)result.end_to_end_ns, 0);
    cr_assert_not(predicted, "nor is a trial of more than the job");
}

Test(job_time, the_last_partial_batch_belongs_to_the_job_unless_dropped)
{
    bool predicted = false;
    struct rue_trial_result result = simulate(&loader_bound, make_config(32, 4, 2), 9472 - 32);
    cr_assert_gt(rue_job_time_ns(&result, 9469, false, &predicted), (double)result.end_to_end_ns);
    cr_assert(predicted, "29 images are not there yet");
    cr_assert_float_eq(rue_job_time_ns(&result, 9469, true, &predicted), (double)result.end_to_end_ns, 0);
    cr_assert_not(predicted, "9440 images are all that drop_last leaves");
}

Test(job_time, drop_last_shortens_the_job_of_a_truncated_trial)
{
    bool predicted;
    struct rue_trial_result result = simulate(&consumer_bound, make_config(32, 4, 2), 1280);
    double kept = rue_job_time_ns(&result, 9469, false, &predicted);
    double dropped = rue_job_time_ns(&result, 9469, true, &predicted);
    cr_assert(predicted);
    cr_assert_float_eq(dropped, rue_job_time_ns(&result, 9440, false, &predicted), 1);
    cr_assert_float_eq(kept - dropped, 29 * consumer_bound.compute_per_image, 1e4);
}

Test(job_time, a_steady_loader_is_extended_exactly)
{
    static const int workers[] = {0, 1};
    for (size_t i = 0; i < 2; i++) {
        struct rue_config config = make_config(32, workers[i], 2);
        double error = relative_error(&loader_bound, config, rue_job_min_images(&config, 9469), 9469);
        cr_assert_lt(fabs(error), 1e-3, "%d workers: %+.4f", workers[i], error);
    }
}

Test(job_time, a_consumer_bound_trial_is_extended_exactly)
{
    static const int workers[] = {2, 4, 16};
    for (size_t i = 0; i < 3; i++) {
        struct rue_config config = make_config(32, workers[i], 2);
        double error = relative_error(&consumer_bound, config, rue_job_min_images(&config, 9469), 9469);
        cr_assert_lt(fabs(error), 5e-3, "%d workers: %+.4f", workers[i], error);
    }
}

/* Workers that load whole batches deliver W at once. */
Test(job_time, a_rest_of_whole_volleys_is_extended_exactly_and_any_other_within_a_volley)
{
    struct rue_config config = make_config(32, 16, 1);
    uint64_t least = rue_job_min_images(&config, 1000000) / 32;
    double exact = 0, worst = 0, worst_line = 0, volley_ns = 32 * loader_bound.load_per_image;
    for (uint64_t n = least; n < least + 16; n++)
        for (uint64_t job = 150; job < 150 + 16; job++) {
            double error = fabs(relative_error(&loader_bound, config, n * 32, job * 32));
            if ((job - n) % 16 == 0) exact = fmax(exact, error);
            worst = fmax(worst, error * true_ns(&loader_bound, config, job * 32));
            worst_line = fmax(worst_line, fabs(relative_line_error(&loader_bound, config, n * 32, job * 32)));
        }
    cr_assert_lt(exact, 0.001, "off by %.4f", exact);
    cr_assert_lt(worst, volley_ns, "off by %.4f volleys", worst / volley_ns);
    cr_assert_gt(worst_line, 0.1, "the straight line is off by %.4f only: not the case it should be",
                 worst_line);
}

Test(job_time, an_opening_burst_is_not_extended)
{
    struct machine machine = loader_bound;
    struct rue_config config = make_config(32, 8, 2);
    uint64_t images = rue_job_min_images(&config, 9469);
    machine.burst = true;
    double line = relative_line_error(&machine, config, images, 9469),
           error = relative_error(&machine, config, images, 9469);
    cr_assert_eq(images, 64 * 32);
    cr_assert_lt(line, -0.1, "the straight line is off by %+.4f only: not the case it should be", line);
    cr_assert_lt(fabs(error), 0.02, "off by %+.4f", error);
}

Test(job_time, jitter_is_averaged_out)
{
    struct machine machine = loader_bound;
    static const int workers[] = {1, 4, 8, 16};
    machine.jitter = 0.2;
    for (size_t i = 0; i < 4; i++) {
        struct rue_config config = make_config(16, workers[i], 2);
        double error = relative_error(&machine, config, 2 * rue_job_min_images(&config, 16000), 16000);
        cr_assert_lt(fabs(error), 0.05, "%d workers: %+.4f", workers[i], error);
    }
}

/* Samples that the workers share come one batch after the other: no volleys. */
Test(job_time, shared_batches_have_no_volleys)
{
    bool predicted;
    double truth = true_ns(&loader_bound, make_config(32, 1, 2), 32 * 101);
    struct rue_trial_result result = simulate(&loader_bound, make_config(32, 1, 2), 32 * 40);
    result.config.value[RUE_NUM_WORKERS] = 6;
    result.config.value[RUE_PARALLELISM] = RUE_PARALLEL_SAMPLE;
    double estimate = rue_job_time_ns(&result, 32 * 101, false, &predicted);
    cr_assert_eq(rue_trial_wave_batches(&result.config), 1);
    cr_assert_float_eq(estimate, truth, 1e-4 * truth);
}

Test(job_time, fewer_ready_times_than_batches_are_enough)
{
    bool predicted;
    double truth = true_ns(&loader_bound, make_config(8, 4, 2), 16000);
    struct rue_trial_result result = simulate(&loader_bound, make_config(8, 4, 2), 8000);
    result.ready_count = 300;
    cr_assert_float_eq(rue_job_time_ns(&result, 16000, false, &predicted), truth, 1e-3 * truth);
}

Test(job_time, without_ready_times_the_line_runs_from_first_to_last_delivery)
{
    static const struct machine *const machines[] = {&loader_bound, &consumer_bound};
    for (size_t i = 0; i < 2; i++) {
        bool predicted;
        double truth = true_ns(machines[i], make_config(32, 1, 2), 9469);
        struct rue_trial_result result = simulate(machines[i], make_config(32, 1, 2), 320);
        result.batch_ready_ns = NULL;
        result.ready_count = 0;
        double estimate = rue_job_time_ns(&result, 9469, false, &predicted);
        cr_assert(predicted);
        cr_assert_float_eq(estimate, truth, 0.002 * truth, "machine %zu: %+.4f", i, estimate / truth - 1);
    }
}

/* 2 * W * b images: all of the trial is in the opening burst or among the last W batches. */
Test(job_time, a_short_trial_falls_back_to_the_line)
{
    bool predicted;
    struct rue_trial_result result = simulate(&consumer_bound, make_config(32, 4, 2), 8 * 32);
    double expected = (double)result.end_to_end_ns + (9469 - 256) * consumer_bound.compute_per_image;
    cr_assert_float_eq(rue_job_time_ns(&result, 9469, false, &predicted), expected, 1e-3 * expected);
    result.compute_ns = RUE_ABSENT;
    double slope = (double)(result.end_to_end_ns - result.first_batch_ns - result.shutdown_ns) / (256 - 32);
    expected = (double)result.end_to_end_ns + (9469 - 256) * slope;
    cr_assert_float_eq(rue_job_time_ns(&result, 9469, false, &predicted), expected, 1);
}

Test(job_time, batches_of_changing_size_count_by_their_images)
{
    struct rue_trial_result result = simulate(&loader_bound, make_config(32, 4, 2), 320);
    result.config.value[RUE_BATCH_STRATEGY] = RUE_BATCHES_ADAPTIVE;
    result.end_to_end_ns = 1000, result.first_batch_ns = 100, result.shutdown_ns = 36;
    cr_assert_float_eq(rue_job_steady_ns(&result), 864.0 / (320 - 32), 1e-9);
    result.images = 32;
    cr_assert(isnan(rue_job_steady_ns(&result)), "one batch is not a line");
    result.images = 320, result.shutdown_ns = 901;
    cr_assert(isnan(rue_job_steady_ns(&result)));
}

Test(job_time, unknown_values_are_not_guessed)
{
    bool predicted;
    struct rue_trial_result whole = simulate(&loader_bound, make_config(32, 4, 2), 256), result = whole;
    result.batch_ready_ns = NULL;
    result.ready_count = 0;
    result.first_batch_ns = RUE_ABSENT;
    cr_assert(isnan(rue_job_time_ns(&result, 9469, false, &predicted)));
    result.first_batch_ns = whole.first_batch_ns;
    result.shutdown_ns = RUE_ABSENT;
    cr_assert(isnan(rue_job_time_ns(&result, 9469, false, &predicted)));
    result.shutdown_ns = whole.end_to_end_ns * 2;
    cr_assert(isnan(rue_job_time_ns(&result, 9469, false, &predicted)), "times that do not add up");
    result = whole;
    result.images = RUE_ABSENT;
    cr_assert(isnan(rue_job_time_ns(&result, 9469, false, &predicted)));
    result.images = 0;
    cr_assert(isnan(rue_job_time_ns(&result, 9469, false, &predicted)));
    result = whole;
    result.end_to_end_ns = RUE_ABSENT;
    cr_assert(isnan(rue_job_time_ns(&result, 9469, false, &predicted)));
    cr_assert(isnan(rue_job_time_ns(&result, 100, false, &predicted)));
    result = whole;
    result.images = 32;
    cr_assert(isnan(rue_job_time_ns(&result, 9469, false, &predicted)), "one batch has no rate");
}

Test(job_time, ready_times_out_of_order_are_ignored)
{
    bool predicted;
    struct rue_trial_result result = simulate(&consumer_bound, make_config(32, 2, 2), 64 * 32);
    double expected = rue_job_time_ns(&result, 9469, false, &predicted);
    for (size_t i = 0; i < result.ready_count / 2; i++) {
        uint64_t other = result.batch_ready_ns[result.ready_count - 1 - i];
        result.batch_ready_ns[result.ready_count - 1 - i] = result.batch_ready_ns[i];
        result.batch_ready_ns[i] = other;
    }
    cr_assert_float_eq(rue_job_time_ns(&result, 9469, false, &predicted), expected, 0.01 * expected);
}

Test(job_time, the_floor_is_whole_batches_or_the_job)
{
    struct rue_config config = make_config(32, 0, 2);
    cr_assert_eq(rue_job_min_images(&config, 9469), 8 * 32);
    config = make_config(32, 1, 1);
    cr_assert_eq(rue_job_min_images(&config, 9469), 8 * 32);
    config = make_config(32, 8, 2);
    cr_assert_eq(rue_job_min_images(&config, 9469), 64 * 32);
    cr_assert_eq(rue_job_min_images(&config, 2000), 2000, "the job is not longer");
    config = make_config(65536, 256, 64);
    cr_assert_eq(rue_job_min_images(&config, UINT64_MAX), UINT64_C(4) * 256 * 64 * 65536);
}

Test(job_time, the_steady_state_excludes_start_and_end)
{
    struct rue_trial_result result = simulate(&loader_bound, make_config(32, 4, 2), 4000);
    cr_assert_float_eq(rue_job_steady_ns(&result), 4e6 / 4, 4e6 / 4 * 0.01, "four workers side by side");
    struct machine slow_start = loader_bound;
    slow_start.start_up = 1e11;
    slow_start.shut_down = 1e11;
    struct rue_trial_result other = simulate(&slow_start, make_config(32, 4, 2), 4000);
    cr_assert_float_eq(rue_job_steady_ns(&other), 1e6, 1e4);
    other = simulate(&consumer_bound, make_config(32, 4, 2), 4000);
    cr_assert_float_eq(rue_job_steady_ns(&other), 1e6, 1e4);
}

Test(job_time, the_steady_state_without_ready_times_is_that_of_the_line)
{
    struct rue_trial_result result = simulate(&consumer_bound, make_config(32, 4, 2), 4000);
    result.batch_ready_ns = NULL;
    result.ready_count = 0;
    cr_assert_float_eq(rue_job_steady_ns(&result), 1e6, 1e4);
}

Test(job_time, one_batch_has_no_steady_state)
{
    struct rue_trial_result result = simulate(&consumer_bound, make_config(32, 4, 2), 32);
    cr_assert(isnan(rue_job_steady_ns(&result)));
    struct rue_trial_result nothing = rue_trial_result_empty();
    cr_assert(isnan(rue_job_steady_ns(&nothing)));
}

/* `batches` of 10 images with two workers that deliver in pairs every 200 ns, the first after `start_ns`; the
 * model takes 5 ns an image, shutting down 70 ns. */
static struct rue_trial_result make_pairs(uint64_t batches, uint64_t start_ns)
{
    static uint64_t ready_ns[PAIRED_MAX];
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

Test(job_line, a_job_of_the_trial_s_length_has_its_time)
{
    for (uint64_t batches = 1; batches <= PAIRED_MAX; batches = batches * 3 + 1) {
        struct rue_trial_result result = make_pairs(batches, 1000);
        struct rue_job_line line = rue_job_line_from(&result);
        cr_assert_float_eq(rue_job_line_ns(&line, batches * 10), (double)result.end_to_end_ns, 1e-6);
    }
}

Test(job_line, shorter_jobs_end_with_the_volley_of_their_last_batch)
{
    struct rue_trial_result longer = make_pairs(1000, 1000);
    struct rue_job_line line = rue_job_line_from(&longer);
    for (uint64_t batches = 1; batches < 1000; batches++) {
        struct rue_trial_result result = make_pairs(batches, 1000);
        double truth = (double)result.end_to_end_ns;
        cr_assert_float_eq(rue_job_line_ns(&line, batches * 10), truth, 151, "a volley at most: %d",
                           (int)batches);
    }
}

Test(job_line, longer_jobs_go_on_as_in_the_steady_state)
{
    struct rue_trial_result shorter = make_pairs(100, 1000), longer = make_pairs(2000, 1000);
    struct rue_job_line line = rue_job_line_from(&shorter);
    cr_assert_float_eq(rue_job_line_ns(&line, 20000), (double)longer.end_to_end_ns,
                       0.001 * (double)longer.end_to_end_ns);
}

Test(job_line, without_ready_times_deliveries_are_evenly_spaced)
{
    struct rue_trial_result result = make_pairs(1000, 100000);
    result.ready_count = 0;
    result.batch_ready_ns = NULL;
    struct rue_job_line line = rue_job_line_from(&result);
    cr_assert_float_eq(rue_job_line_ns(&line, 10000), (double)result.end_to_end_ns, 1e-6);
    cr_assert_float_eq(rue_job_line_ns(&line, 10), 100000 + 50 + 70, 1e-6);
    cr_assert_float_eq(rue_job_line_ns(&line, 5000), 150000, 200);
}

Test(job_line, the_last_batch_may_be_short)
{
    struct rue_trial_result result = make_pairs(100, 1000);
    struct rue_job_line line = rue_job_line_from(&result);
    cr_assert_float_eq(rue_job_line_ns(&line, 3), 1000 + 15 + 70, 1e-6);
    cr_assert_lt(rue_job_line_ns(&line, 995), rue_job_line_ns(&line, 1000));
    cr_assert_gt(rue_job_line_ns(&line, 995), rue_job_line_ns(&line, 980));
}

Test(job_line, unreported_values_are_unknown)
{
    struct rue_trial_result result = make_pairs(10, 1000);
    result.first_batch_ns = RUE_ABSENT;
    struct rue_job_line line = rue_job_line_from(&result);
    cr_assert(isnan(rue_job_line_ns(&line, 100)));
    struct rue_trial_result nothing = rue_trial_result_empty();
    line = rue_job_line_from(&nothing);
    cr_assert_eq(line.images, 0);
}
