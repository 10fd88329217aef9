#include <criterion/criterion.h>

#include "replay.h"

static uint64_t load_ns[12], consume_ns[12];

static struct rue_replay replay_of(int batch_size, int num_workers, int prefetch_factor,
                                   enum rue_parallelism parallelism, size_t batches)
{
    struct rue_replay replay = {.config = rue_config_default(),
                                .measured = batches,
                                .measured_images = batches * (uint64_t)batch_size,
                                .images = batches * (uint64_t)batch_size,
                                .load_ns = load_ns,
                                .consume_ns = consume_ns,
                                .start_s = 0.5,
                                .shutdown_s = 0.25};
    replay.config.value[RUE_BATCH_SIZE] = batch_size;
    replay.config.value[RUE_NUM_WORKERS] = num_workers;
    replay.config.value[RUE_PREFETCH_FACTOR] = prefetch_factor;
    replay.config.value[RUE_PARALLELISM] = (int)parallelism;
    return replay;
}

/* Every batch takes so many seconds. */
static void fill(double load_s, double consume_s)
{
    for (size_t i = 0; i < 12; i++) {
        load_ns[i] = (uint64_t)(load_s * 1e9);
        consume_ns[i] = (uint64_t)(consume_s * 1e9);
    }
}

static void expect(const struct rue_replay *replay, double first_batch_s, double end_to_end_s)
{
    struct rue_pipeline_times times;
    cr_assert_eq(rue_replay_predict(replay, &times, NULL), RUE_OK);
    cr_assert_float_eq(times.first_batch_s, first_batch_s, 1e-9, "first batch %.9g, not %.9g",
                       times.first_batch_s, first_batch_s);
    cr_assert_float_eq(times.end_to_end_s, end_to_end_s, 1e-9, "end %.9g, not %.9g", times.end_to_end_s,
                       end_to_end_s);
    cr_assert_float_eq(times.shutdown_s, replay->shutdown_s, 0);
}

Test(replay, one_slow_batch_holds_up_what_was_loaded_behind_it)
{
    fill(1, 0.5);
    load_ns[1] = 4000000000;
    /* Workers load 0 and 1; then one of them 2, 3, 4 while the consumer waits for 1 until 4.5. */
    struct rue_replay replay = replay_of(4, 2, 4, RUE_PARALLEL_BATCH, 6);
    expect(&replay, 1.5, 4.5 + 5 * 0.5 + 0.25);
}

Test(replay, a_smaller_window_lets_workers_wait_for_the_consumer)
{
    fill(1, 2);
    struct rue_replay deep = replay_of(4, 2, 4, RUE_PARALLEL_BATCH, 6),
                      flat = replay_of(4, 1, 1, RUE_PARALLEL_BATCH, 6);
    expect(&deep, 1.5, 1.5 + 6 * 2 + 0.25);
    expect(&flat, 1.5, 1.5 + 6 * 2 + 0.25);
    fill(2, 1);
    /* One worker, one batch ahead: begun when the one before is taken. */
    expect(&flat, 2.5, 2.5 + 5 * 2 + 1 + 0.25);
}

Test(replay, workers_that_share_a_batch_bring_it_sooner)
{
    fill(4, 0.5);
    struct rue_replay shared = replay_of(4, 4, 2, RUE_PARALLEL_SAMPLE, 3);
    /* Four images of a second each, one for each worker. */
    expect(&shared, 1.5, 3.5 + 0.5 + 0.25);
    shared.config.value[RUE_NUM_WORKERS] = 2;
    expect(&shared, 2.5, 0.5 + 3 * 2 + 0.5 + 0.25);
}

Test(replay, without_workers_loading_and_computing_take_turns)
{
    fill(1, 0.25);
    struct rue_replay replay = replay_of(4, 0, 2, RUE_PARALLEL_BATCH, 4);
    expect(&replay, 1.5, 0.5 + 4 * 1.25 + 0.25);
}

Test(replay, a_trial_with_details_is_replayed_as_it_was)
{
    uint64_t ready[] = {1100000000, 1600000000, 2200000000}, load[] = {1000000000, 1500000000, 1000000000},
             compute[] = {100000000, 100000000, 300000000};
    struct rue_trial_result result = rue_trial_result_empty();
    result.config.value[RUE_BATCH_SIZE] = 8;
    result.config.value[RUE_NUM_WORKERS] = 2;
    result.images = 19;
    result.shutdown_ns = 50000000;
    result.batch_ready_ns = ready;
    result.batch_load_ns = load;
    result.batch_compute_ns = compute;
    result.ready_count = result.load_count = result.compute_count = 3;
    struct rue_replay replay;
    rue_error error = {0};
    cr_assert_eq(rue_replay_of(&result, &replay, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(replay.images, 19);
    expect(&replay, 1.1, 2.1 + 0.3 + 0.05);

    result.load_count = 2;
    cr_assert_eq(rue_replay_of(&result, &replay, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "detail"), "%s", error.message);
    result.load_count = 3;
    result.config.value[RUE_NUM_WORKERS] = RUE_KNOB_UNKNOWN;
    cr_assert_eq(rue_replay_of(&result, &replay, NULL), RUE_USAGE);
    result.config.value[RUE_NUM_WORKERS] = 2;
    result.images = 8;
    cr_assert_eq(rue_replay_of(&result, &replay, NULL), RUE_USAGE, "three batches of 8 are not 8 images");
}

Test(replay, a_longer_job_repeats_what_was_measured)
{
    fill(1, 0.5);
    load_ns[0] = 2000000000;
    struct rue_replay replay = replay_of(4, 1, 2, RUE_PARALLEL_BATCH, 3);
    expect(&replay, 2.5, 0.5 + 4 + 0.5 + 0.25);
    /* 3 batches, the same again, and half of the first. */
    replay.images = 26;
    expect(&replay, 2.5, 0.5 + 4 + 4 + 1 + 0.25 + 0.25);
    replay.images = UINT64_C(4) * RUE_BATCH_TIMES_MAX + 1;
    struct rue_pipeline_times times;
    cr_assert_eq(rue_replay_predict(&replay, &times, NULL), RUE_USAGE);
}

Test(replay, agrees_with_the_pipeline_where_all_batches_are_equal)
{
    static const struct rue_pipeline_loader loader = {.value = {[RUE_PIPELINE_start_s] = 0.5,
                                                                [RUE_PIPELINE_batch_s] = 1,
                                                                [RUE_PIPELINE_item_s] = 0.25,
                                                                [RUE_PIPELINE_inline_ratio] = 1,
                                                                [RUE_PIPELINE_beside_ratio] = 1,
                                                                [RUE_PIPELINE_warm_up_ratio] = 0},
                                                      .cpus = 64};
    static const double consumer_s[] = {0, 0.375, 0.5, 3};
    for (int workers = 0; workers <= 5; workers++)
        for (int prefetch = 1; prefetch <= 3; prefetch++)
            for (int c = 0; c < 4; c++) {
                struct rue_pipeline_consumer consumer = {consumer_s[c], 0, 0, false};
                struct rue_pipeline_times times;
                fill(2, consumer_s[c]);
                struct rue_replay replay = replay_of(4, workers, prefetch, RUE_PARALLEL_BATCH, 12);
                replay.shutdown_s = 0;
                if (workers == 0) replay.start_s = 0;
                cr_assert_eq(rue_pipeline_predict(&loader, &consumer, &replay.config, 48, &times, NULL),
                             RUE_OK);
                expect(&replay, times.first_batch_s, times.end_to_end_s);
            }
}
