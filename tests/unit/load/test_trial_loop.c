#include "trial_loop.h"

#include <criterion/criterion.h>
#include <math.h>

#include "data_fixture.h"
#include "model_sleep.h"
#include "trial_options.h"

enum { PHOTOS = 10 };

static struct rue_source *source;
static struct rue_model model;
static struct rue_trial_result result;

static void setup(void)
{
    struct rue_profile profile = {.per_batch_ns = 200000, .per_image_ns = 50000};
    temporary_folder_make();
    data_photos_make(PHOTOS);
    source = data_open("photos");
    cr_assert_eq(rue_model_sleep_open(&profile, &model, NULL), RUE_OK);
    result = rue_trial_result_empty();
}

static void teardown(void)
{
    rue_trial_result_close(&result);
    rue_model_close(&model);
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(trial_loop, .init = setup, .fini = teardown, .timeout = 120);

static struct rue_trial_request make_request(enum rue_measure measure, int batch_size, int workers)
{
    struct rue_trial_request request = {.measure = measure,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .images = PHOTOS,
                                        .job_images = PHOTOS};
    request.config.value[RUE_BATCH_SIZE] = batch_size;
    request.config.value[RUE_NUM_WORKERS] = workers;
    return request;
}

static void run(const struct rue_trial_request *request)
{
    rue_trial_result_close(&result);
    rue_trial_run(NULL, request, source, &model, &result);
}

static void run_ok(const struct rue_trial_request *request)
{
    run(request);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_str_eq(result.reason, "");
}

static void expect_sums(void)
{
    cr_assert_eq(result.load_wait_ns + result.compute_ns + result.shutdown_ns, result.end_to_end_ns);
    cr_assert(result.load_wait_ns > 0 && result.compute_ns >= 0 && result.shutdown_ns >= 0);
    cr_assert(result.first_batch_ns > 0 && result.first_batch_ns <= result.end_to_end_ns);
}

Test(trial_loop, the_parts_of_a_joint_trial_sum_to_the_whole)
{
    for (int workers = 0; workers < 4; workers++)
        for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
            struct rue_trial_request request = make_request(RUE_JOINT, 4, workers);
            request.config.value[RUE_PARALLELISM] = way;
            run_ok(&request);
            expect_sums();
            cr_assert_eq(result.images, PHOTOS);
            cr_assert_eq(result.batches, 3);
            cr_assert_geq(result.compute_ns, 3 * 200000 + PHOTOS * 50000, "the model slept its time");
            cr_assert_geq(result.sleep_overshoot_ns, 0);
            cr_assert(rue_config_equal(&result.config, &request.config));
        }
}

Test(trial_loop, figures_of_the_machine_are_reported)
{
    struct rue_trial_request request = make_request(RUE_JOINT, 4, 2);
    run_ok(&request);
    cr_assert_eq(result.bad_images, 0);
    cr_assert_gt(result.anon_peak_bytes, 0);
    cr_assert_gt(result.file_peak_bytes, 0);
    cr_assert_geq(result.read_bytes, 0);
    cr_assert(isfinite(result.cpu_ratio) && result.cpu_ratio >= 0);
    cr_assert_eq(result.h2d_ns, RUE_ABSENT);
    cr_assert_eq(result.cost_ns, RUE_ABSENT, "on a real clock wall time counts");
}

Test(trial_loop, load_trials_do_not_wait_for_a_model)
{
    struct rue_model none = rue_model_none();
    struct rue_trial_request request = make_request(RUE_LOAD, 3, 2);
    rue_trial_run(NULL, &request, source, &none, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    expect_sums();
    cr_assert_eq(result.images, PHOTOS);
    cr_assert_eq(result.batches, 4);
    cr_assert_eq(result.sleep_overshoot_ns, RUE_ABSENT);
    rue_model_close(&none);
}

Test(trial_loop, compute_trials_need_no_data)
{
    struct rue_trial_request request = make_request(RUE_COMPUTE, 8, 0);
    request.batches = 5;
    rue_trial_run(NULL, &request, NULL, &model, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert(result.batches == 5 && result.compute_count == 5 && result.images == 40);
    uint64_t sum = 0;
    for (size_t i = 0; i < result.compute_count; i++) {
        cr_assert_geq(result.batch_compute_ns[i], 200000 + 8 * 50000);
        sum += result.batch_compute_ns[i];
    }
    cr_assert_eq(result.compute_ns, (int64_t)sum);
    cr_assert_eq(result.end_to_end_ns, result.compute_ns);
    cr_assert_geq(result.warmup_ns, 200000 + 8 * 50000);
}

Test(trial_loop, compute_trials_have_limits_too)
{
    struct rue_trial_request request = make_request(RUE_COMPUTE, 8, 0);
    request.batches = RUE_BATCH_TIMES_MAX + 1;
    run(&request);
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
    request.batches = 100;
    request.limits.memory_bytes = 8 * 602112 - 1;
    run(&request);
    cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
    cr_assert(strstr(result.reason, "8 images") && strstr(result.reason, "4816895"), "%s", result.reason);
    request.limits = (struct rue_limits){.time_ns = 1};
    run(&request);
    cr_assert_eq(result.outcome, RUE_TRIAL_TIMEOUT);
}

Test(trial_loop, a_truncated_trial_has_whole_batches)
{
    static const struct {
        uint64_t images, job_images;
        int batch_size;
        int64_t taken;
    } cases[] = {
        {7, 10, 3, 6},  {1, 10, 4, 4},   {9, 10, 10, 10}, {10, 10, 4, 10}, {12, 10, 4, 10},
        {10, 25, 4, 8}, {3, 10, 16, 10}, {5, 0, 4, 5},    {8, 9, 4, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_trial_request request = make_request(RUE_LOAD, cases[i].batch_size, 2);
        request.images = cases[i].images;
        request.job_images = cases[i].job_images;
        run_ok(&request);
        cr_assert_eq(result.images, cases[i].taken, "case %zu took %d", i, (int)result.images);
    }
}

Test(trial_loop, drop_last_is_part_of_the_workload)
{
    struct rue_trial_request request = make_request(RUE_JOINT, 4, 1);
    request.workload.drop_last = true;
    run_ok(&request);
    cr_assert(result.images == 8 && result.batches == 2);
    request.config.value[RUE_BATCH_SIZE] = PHOTOS + 1;
    run(&request);
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
    cr_assert(strstr(result.reason, "drop_last"), "%s", result.reason);
}

Test(trial_loop, details_have_the_time_of_each_batch)
{
    for (int workers = 0; workers < 4; workers += 3) {
        struct rue_trial_request request = make_request(RUE_JOINT, 2, workers);
        request.detail = true;
        run_ok(&request);
        cr_assert_eq(result.ready_count, 5);
        cr_assert_eq(result.batch_ready_ns[0], (uint64_t)result.first_batch_ns);
        for (size_t i = 1; i < result.ready_count; i++)
            cr_assert_gt(result.batch_ready_ns[i], result.batch_ready_ns[i - 1]);
        cr_assert_leq(result.batch_ready_ns[4], (uint64_t)result.end_to_end_ns);
        cr_assert(result.load_count == 5 && result.compute_count == 5);
        uint64_t compute_ns = 0;
        for (size_t i = 0; i < 5; i++) {
            compute_ns += result.batch_compute_ns[i];
            cr_assert_gt(result.batch_load_ns[i], 0);
        }
        cr_assert_eq(compute_ns, (uint64_t)result.compute_ns);
        cr_assert_eq(result.queued_count, workers ? 5 : 0);
        cr_assert_eq(result.images_count, 5);
        for (size_t i = 0; i < 5; i++) cr_assert_eq(result.batch_images[i], 2);
        cr_assert(workers ? result.queue_waits >= 0 && result.queue_waits < 5 && result.queue_fills >= 0
                          : result.queue_waits == RUE_ABSENT && result.queue_fills == RUE_ABSENT);
        cr_assert_leq(result.batch_load_ns[0], (uint64_t)result.first_batch_ns);
    }
    struct rue_trial_request plain = make_request(RUE_JOINT, 2, 0);
    run_ok(&plain);
    cr_assert(result.ready_count == 0 && result.load_count == 0 && result.compute_count == 0);
}

Test(trial_loop, a_time_limit_ends_the_trial_at_the_next_batch)
{
    for (int workers = 0; workers < 4; workers += 2) {
        struct rue_trial_request request = make_request(RUE_JOINT, 2, workers);
        request.limits.time_ns = 1;
        run(&request);
        cr_assert_eq(result.outcome, RUE_TRIAL_TIMEOUT);
        cr_assert(strstr(result.reason, "time limit of 1 ns after 2 images"), "%s", result.reason);
        cr_assert(result.images == 2 && result.end_to_end_ns > 0);
    }
}

Test(trial_loop, memory_beyond_the_job_s_limit_is_infeasible_at_once)
{
    struct rue_trial_request request = make_request(RUE_JOINT, 2, 4);
    request.job_images = 1000000;
    request.limits.memory_bytes = 9 * 2 * 602112 - 1;
    run(&request);
    cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
    cr_assert(strstr(result.reason, "the limit is"), "%s", result.reason);
    cr_assert_eq(result.images, RUE_ABSENT, "nothing was run");
    cr_assert_eq(result.refused, RUE_ABSENT, "the system was not asked");
    request.limits.memory_bytes++;
    run_ok(&request);
}

Test(trial_loop, a_damaged_image_fails_the_trial_and_is_named)
{
    data_photo_damage(5);
    rue_source_close(source);
    source = data_open("photos");
    for (int workers = 0; workers < 4; workers++) {
        struct rue_trial_request request = make_request(RUE_JOINT, 4, workers);
        run(&request);
        cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
        cr_assert(strstr(result.reason, data_photo_name(5)) && strstr(result.reason, "truncated"), "%s",
                  result.reason);
        request.workload.bad_images = RUE_BAD_REPLACE;
        run(&request);
        cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
        cr_assert(strstr(result.reason, "replaced 1") && strstr(result.reason, data_photo_name(5)), "%s",
                  result.reason);
        cr_assert_eq(result.bad_images, 1);
        cr_assert_eq(result.images, PHOTOS);
    }
}

static rue_status fail_to_submit(void *state, const struct rue_batch *batch, uint64_t *ticket,
                                 rue_error *error)
{
    (void)state, (void)ticket;
    return batch->index == 1 ? rue_fail(error, RUE_INTERNAL, "the device fell off the bus") : RUE_OK;
}

static rue_status wait_for_nothing(void *state, uint64_t ticket, rue_error *error)
{
    (void)state, (void)ticket, (void)error;
    return RUE_OK;
}

Test(trial_loop, a_model_that_fails_ends_the_trial)
{
    static const struct rue_model_ops failing = {
        .name = "failing", .submit = fail_to_submit, .wait = wait_for_nothing};
    struct rue_model broken = {.ops = &failing};
    for (int workers = 0; workers < 3; workers++) {
        struct rue_trial_request request = make_request(RUE_JOINT, 2, workers);
        rue_trial_result_close(&result);
        rue_trial_run(NULL, &request, source, &broken, &result);
        cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
        cr_assert_str_eq(result.reason, "the device fell off the bus");
    }
}

static struct rue_model_input prepared;

static rue_status prepare_nothing(void *state, const struct rue_model_input *input, rue_error *error)
{
    (void)state;
    prepared = *input;
    return input->images < 8 ? RUE_OK : rue_fail(error, RUE_INFEASIBLE, "no memory for %zu", input->images);
}

Test(trial_loop, a_model_is_prepared_before_the_trial_with_its_batches)
{
    struct rue_model_ops ops = *rue_model_none().ops;
    struct rue_model careful = {.ops = &ops};
    ops.prepare = prepare_nothing;
    for (int measure = RUE_JOINT; measure < RUE_MEASURE_COUNT; measure += RUE_COMPUTE) {
        struct rue_trial_request request = make_request((enum rue_measure)measure, 4, 0);
        rue_trial_result_close(&result);
        rue_trial_run(NULL, &request, source, &careful, &result);
        cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
        cr_assert(prepared.images == 4 && prepared.dtype == RUE_FLOAT32);
        cr_assert_geq(prepared.batch_bytes, 4 * 602112);
        request.config.value[RUE_BATCH_SIZE] = 8;
        rue_trial_result_close(&result);
        rue_trial_run(NULL, &request, source, &careful, &result);
        cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
        cr_assert_str_eq(result.reason, "no memory for 8");
        cr_assert_eq(result.refused, 1, "it was not the limit");
    }
}

Test(trial_loop, uint8_batches_need_a_fourth_of_the_memory)
{
    struct rue_model_ops ops = *rue_model_none().ops;
    struct rue_model careful = {.ops = &ops};
    ops.prepare = prepare_nothing;
    for (int measure = RUE_JOINT; measure < RUE_MEASURE_COUNT; measure++) {
        struct rue_trial_request request = make_request((enum rue_measure)measure, 2, 2);
        int batches = measure == RUE_COMPUTE ? 1 : 5; /* as many as the job has, and the one held */
        request.config.value[RUE_PREFETCH_FACTOR] = 2;
        request.workload.batch_dtype = RUE_UINT8;
        request.limits.memory_bytes = (uint64_t)batches * 2 * 150528 - 1;
        cr_assert(!rue_trial_fits_limit(&request));
        run(&request);
        cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
        cr_assert_eq(result.refused, RUE_ABSENT, "the system was not asked");
        request.limits.memory_bytes++;
        cr_assert(rue_trial_fits_limit(&request));
        rue_trial_result_close(&result);
        rue_trial_run(NULL, &request, source, &careful, &result);
        cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
        cr_assert(prepared.dtype == RUE_UINT8 && prepared.batch_bytes == (uint64_t)batches * 2 * 150528);
    }
}

/* What was measured with more memory must not stand for trials in which each loader has too little. */
Test(trial_loop, loaders_share_the_memory_of_a_limit)
{
    struct rue_trial_request request = make_request(RUE_COMPUTE, 2, 2);
    request.workload.world_size = 3;
    request.limits.memory_bytes = 3 * 2 * 602112 - 1;
    cr_assert(!rue_trial_fits_limit(&request));
    request.workload.remote_ranks = true;
    cr_assert(rue_trial_fits_limit(&request), "the other loaders are on other machines");
    request.workload.remote_ranks = false;
    request.limits.memory_bytes++;
    cr_assert(rue_trial_fits_limit(&request));
    request.limits.memory_bytes = 0;
    cr_assert(rue_trial_fits_limit(&request), "there is no limit");
}

static uint8_t first_level;

static rue_status look_at_levels(void *state, const struct rue_batch *batch, uint64_t *ticket,
                                 rue_error *error)
{
    (void)state, (void)ticket, (void)error;
    if (batch->index == 0) first_level = *(const uint8_t *)batch->images;
    return RUE_OK;
}

Test(trial_loop, a_model_receives_the_uint8_values)
{
    static const struct rue_model_ops looking = {
        .name = "looking", .submit = look_at_levels, .wait = wait_for_nothing};
    struct rue_model model_that_looks = {.ops = &looking};
    struct rue_trial_request request = make_request(RUE_JOINT, 4, 0);
    const struct rue_fetcher_options options = {.dtype = RUE_UINT8, .max_pixels = RUE_MAX_PIXELS_DEFAULT};
    static uint8_t levels[RUE_TENSOR_ITEMS];
    struct rue_fetcher *fetcher;
    uint64_t loaded;
    request.workload.shuffle = false;
    request.workload.batch_dtype = RUE_UINT8;
    cr_assert_eq(rue_fetcher_open(source, &options, &fetcher, NULL), RUE_OK);
    cr_assert_eq(rue_fetcher_fetch(fetcher, 0, (void *[]){levels}, &loaded, NULL, NULL), RUE_OK);
    rue_fetcher_close(fetcher);
    first_level = (uint8_t)(levels[0] + 1);
    rue_trial_result_close(&result);
    rue_trial_run(NULL, &request, source, &model_that_looks, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_eq(first_level, levels[0]);
}

Test(trial_loop, the_loader_has_the_requested_options)
{
    struct rue_trial_request request = make_request(RUE_JOINT, 32, 3);
    request.workload.seed = 99;
    request.workload.epoch = 4;
    request.workload.rank = 1;
    request.workload.world_size = 2;
    request.workload.shuffle = false;
    request.workload.bad_images = RUE_BAD_REPLACE;
    request.workload.max_pixels = 777;
    request.workload.batch_dtype = RUE_UINT8;
    request.limits.memory_bytes = 12345;
    request.job_images = 1000;
    struct rue_loader_options options = rue_trial_loader_options(&request);
    cr_assert(options.sampler.seed == 99 && options.sampler.epoch == 4 && options.sampler.rank == 1 &&
              options.sampler.world_size == 2 && !options.sampler.shuffle);
    cr_assert(options.fetcher.dtype == RUE_UINT8 && options.fetcher.max_pixels == 777 &&
              options.fetcher.bad_images == RUE_BAD_REPLACE);
    cr_assert(options.memory_bytes == 12345 && options.job_images == 1000 && options.images == 32);
    cr_assert_eq(options.batch_size, request.config.value[RUE_BATCH_SIZE]);
    cr_assert_eq(options.num_workers, request.config.value[RUE_NUM_WORKERS]);
    cr_assert_eq(options.prefetch_factor, request.config.value[RUE_PREFETCH_FACTOR]);
    cr_assert_eq((int)options.parallelism, request.config.value[RUE_PARALLELISM]);
    cr_assert_eq(options.max_queue_size, request.config.value[RUE_MAX_QUEUE_SIZE]);
    cr_assert_eq((int)options.fetcher.read, request.config.value[RUE_READ]);
    cr_assert_eq((int)options.batch_strategy, request.config.value[RUE_BATCH_STRATEGY]);
}
