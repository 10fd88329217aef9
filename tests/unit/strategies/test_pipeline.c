#include <criterion/criterion.h>
#include <math.h>

#include "pipeline.h"

static const struct rue_pipeline_loader quick = {
    .value = {[RUE_PIPELINE_start_s] = 0.5,
              [RUE_PIPELINE_start_worker_s] = 0.25,
              [RUE_PIPELINE_batch_s] = 0.125,
              [RUE_PIPELINE_inline_ratio] = 1,
              [RUE_PIPELINE_beside_ratio] = 1,
              [RUE_PIPELINE_warm_up_ratio] = 0,
              [RUE_PIPELINE_item_s] = 0.0625,
              [RUE_PIPELINE_stop_worker_s] = 2},
    .cpus = 64,
};

static struct rue_config make_config(int batch_size, int num_workers, int prefetch_factor,
                                     enum rue_parallelism parallelism)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = batch_size;
    config.value[RUE_NUM_WORKERS] = num_workers;
    config.value[RUE_PREFETCH_FACTOR] = prefetch_factor;
    config.value[RUE_PARALLELISM] = (int)parallelism;
    return config;
}

static struct rue_pipeline_times predict(const struct rue_pipeline_loader *loader, double batch_s,
                                         double image_s, struct rue_config config, uint64_t images)
{
    const struct rue_pipeline_consumer consumer = {batch_s, image_s, 0, false};
    return rue_pipeline_predict(loader, &consumer, &config, images);
}

static void expect(double value, double wanted)
{
    cr_assert_float_eq(value, wanted, 1e-9 * wanted, "%.9g, not %.9g", value, wanted);
}

Test(pipeline, one_worker_that_is_slower_than_the_model_sets_the_pace)
{
    struct rue_pipeline_times times = predict(&quick, 0.25, 0, make_config(2, 1, 2, RUE_PARALLEL_BATCH), 20);
    expect(times.first_batch_s, 0.75 + 0.25);
    expect(times.end_to_end_s, 0.75 + 10 * 0.25 + 0.25 + 2);
    expect(times.shutdown_s, 2);
}

Test(pipeline, a_model_that_is_slower_than_the_workers_sets_the_pace)
{
    struct rue_pipeline_times times = predict(&quick, 1, 0.5, make_config(2, 4, 2, RUE_PARALLEL_BATCH), 20);
    expect(times.end_to_end_s, 1.5 + 0.25 + 10 * 2 + 8);
}

Test(pipeline, workers_load_side_by_side)
{
    /* 4 at a time: the third volley ends the job, and its last batch is computed. */
    struct rue_pipeline_times times =
        predict(&quick, 0.0625, 0, make_config(2, 4, 2, RUE_PARALLEL_BATCH), 24);
    expect(times.end_to_end_s, 1.5 + 3 * 0.25 + 4 * 0.0625 + 8);
}

Test(pipeline, a_short_last_batch_costs_less)
{
    struct rue_pipeline_times whole = predict(&quick, 0, 1, make_config(8, 1, 2, RUE_PARALLEL_BATCH), 32),
                              part = predict(&quick, 0, 1, make_config(8, 1, 2, RUE_PARALLEL_BATCH), 27);
    expect(whole.end_to_end_s - part.end_to_end_s, 5);
}

Test(pipeline, a_window_of_one_batch_makes_loading_wait_for_the_model)
{
    /* The worker begins batch i when batch i - 1 is taken; the model takes longer. */
    struct rue_pipeline_times times = predict(&quick, 1, 0, make_config(2, 1, 1, RUE_PARALLEL_BATCH), 6);
    expect(times.end_to_end_s, 0.75 + 0.25 + 3 + 2);
    /* The model is quicker: each batch is loaded after the one before it was taken. */
    times = predict(&quick, 0.125, 0, make_config(2, 1, 1, RUE_PARALLEL_BATCH), 6);
    expect(times.end_to_end_s, 0.75 + 3 * 0.25 + 0.125 + 2);
}

Test(pipeline, a_capped_queue_leaves_workers_idle)
{
    struct rue_config config = make_config(2, 8, 4, RUE_PARALLEL_BATCH);
    for (int processes = 0; processes <= 1; processes++) {
        struct rue_pipeline_loader loader = quick;
        loader.round_robin = processes;
        config.value[RUE_MAX_QUEUE_SIZE] = 32;
        expect(predict(&loader, 0.0625, 0, config, 64).end_to_end_s, 2.5 + 0.25 + 32 * 0.0625 + 16);
        config.value[RUE_MAX_QUEUE_SIZE] = 1; /* one batch after the other; the model is quicker */
        expect(predict(&loader, 0.0625, 0, config, 64).end_to_end_s, 2.5 + 32 * 0.25 + 0.0625 + 16);
    }
}

Test(pipeline, storage_and_cpus_bound_the_rate_of_workers)
{
    struct rue_pipeline_loader loader = quick;
    loader.value[RUE_PIPELINE_storage_s] = 0.5;
    loader.value[RUE_PIPELINE_batch_s] = 0;
    /* 8 workers with 8 batches of 2 images: each image waits for 7 others. */
    struct rue_pipeline_times times = predict(&loader, 0, 0, make_config(2, 8, 1, RUE_PARALLEL_BATCH), 16);
    expect(times.first_batch_s, 0.5 + 8 * 0.25 + 2 * 8 * 0.5);
    loader = quick;
    loader.value[RUE_PIPELINE_batch_s] = 0;
    loader.cpus = 2;
    times = predict(&loader, 0, 0, make_config(2, 8, 1, RUE_PARALLEL_BATCH), 16);
    expect(times.first_batch_s, 0.5 + 8 * 0.25 + 2 * 0.0625 * 4);
}

Test(pipeline, shared_batches_are_earlier_but_not_faster)
{
    struct rue_pipeline_loader loader = quick;
    loader.value[RUE_PIPELINE_batch_s] = 0;
    struct rue_config shared = make_config(16, 4, 2, RUE_PARALLEL_SAMPLE),
                      whole = make_config(16, 4, 2, RUE_PARALLEL_BATCH);
    struct rue_pipeline_times a = predict(&loader, 0, 0, shared, 1024),
                              b = predict(&loader, 0, 0, whole, 1024);
    expect(a.first_batch_s, 1.5 + 4 * 0.0625);
    expect(b.first_batch_s, 1.5 + 16 * 0.0625);
    expect(a.end_to_end_s, 1.5 + 1024 * 0.0625 / 4 + 8);
    expect(b.end_to_end_s, a.end_to_end_s);
}

Test(pipeline, loading_and_computing_alternate_without_workers)
{
    struct rue_pipeline_times times =
        predict(&quick, 0.5, 0.25, make_config(4, 0, 2, RUE_PARALLEL_BATCH), 10);
    expect(times.first_batch_s, 0.125 + 4 * 0.0625);
    expect(times.end_to_end_s, 3 * (0.125 + 0.5) + 10 * (0.0625 + 0.25));
    struct rue_pipeline_loader loader = quick; /* loading takes half as long where nothing is handed over */
    loader.value[RUE_PIPELINE_inline_ratio] = 0.5;
    times = predict(&loader, 0.5, 0.25, make_config(4, 0, 2, RUE_PARALLEL_BATCH), 10);
    expect(times.first_batch_s, (0.125 + 4 * 0.0625) / 2);
    expect(times.end_to_end_s, 3 * (0.125 / 2 + 0.5) + 10 * (0.0625 / 2 + 0.25));
}

Test(pipeline, workers_in_turn_wait_for_the_slow_one)
{
    /* A short last batch frees its worker; in turn the next batch is another's. With equal batches both
     * agree. */
    struct rue_pipeline_loader in_turn = quick;
    in_turn.round_robin = true;
    for (int workers = 1; workers <= 8; workers++) {
        struct rue_config config = make_config(4, workers, 2, RUE_PARALLEL_BATCH);
        expect(predict(&in_turn, 0.125, 0, config, 400).end_to_end_s,
               predict(&quick, 0.125, 0, config, 400).end_to_end_s);
    }
}

Test(pipeline, a_job_too_long_to_follow_is_extended)
{
    static const double consumers[] = {0, 0.03125, 2};
    for (int c = 0; c < 3; c++)
        for (int workers = 1; workers <= 6; workers++) {
            struct rue_config config = make_config(4, workers, 2, RUE_PARALLEL_BATCH);
            uint64_t batches = RUE_PIPELINE_BATCHES_MAX, more = 1000 * (uint64_t)workers;
            double followed = predict(&quick, consumers[c], 0, config, 4 * batches).end_to_end_s,
                   extended = predict(&quick, consumers[c], 0, config, 4 * (batches + more)).end_to_end_s,
                   pace = fmax(consumers[c], (0.125 + 0.25) / workers);
            expect(extended - followed, pace * (double)more);
        }
}

/* With jitter, and more workers than CPUs. */
static struct rue_pipeline_loader uneven(bool in_turn)
{
    return (struct rue_pipeline_loader){.value = {[RUE_PIPELINE_start_s] = 0.5,
                                                  [RUE_PIPELINE_start_worker_s] = 0.25,
                                                  [RUE_PIPELINE_batch_s] = 0.125,
                                                  [RUE_PIPELINE_inline_ratio] = 1,
                                                  [RUE_PIPELINE_beside_ratio] = 1,
                                                  [RUE_PIPELINE_warm_up_ratio] = 0,
                                                  [RUE_PIPELINE_item_s] = 0.0625,
                                                  [RUE_PIPELINE_contention_ratio] = 0.02,
                                                  [RUE_PIPELINE_storage_s] = 0.001,
                                                  [RUE_PIPELINE_jitter_ratio] = 0.15,
                                                  [RUE_PIPELINE_stop_worker_s] = 2},
                                        .cpus = 5,
                                        .round_robin = in_turn};
}

Test(pipeline, a_job_is_extended_at_its_steady_rate)
{
    static const double consumers[] = {0.001, 0.05, 0.3};
    for (int c = 0; c < 3; c++)
        for (int workers = 1; workers <= 16; workers++) {
            const struct rue_pipeline_loader loader = uneven(workers % 2);
            const struct rue_pipeline_consumer consumer = {consumers[c], 0, c == 1, false};
            struct rue_config config = make_config(4, workers, 1 + workers % 3, RUE_PARALLEL_BATCH);
            /* As many batches again take as long as the second half of those that are followed, twice. */
            uint64_t images = 4 * RUE_PIPELINE_BATCHES_MAX;
            double half = rue_pipeline_predict(&loader, &consumer, &config, images / 2).end_to_end_s,
                   all = rue_pipeline_predict(&loader, &consumer, &config, images).end_to_end_s,
                   twice = rue_pipeline_predict(&loader, &consumer, &config, 2 * images).end_to_end_s;
            cr_expect_float_eq((twice - all) / (all - half) / 2, 1, 0.01,
                               "%d workers, a model of %g s: %g s after %g s", workers, consumers[c], twice,
                               all);
        }
}

Test(pipeline, a_computing_model_slows_images_and_first_batches)
{
    struct rue_pipeline_loader loader = quick;
    struct rue_config one = make_config(4, 1, 2, RUE_PARALLEL_BATCH),
                      none = make_config(4, 0, 2, RUE_PARALLEL_BATCH);
    struct rue_pipeline_consumer alone = {0, 0, 0, false}, model = {0, 0, 0, true};
    struct rue_pipeline_times times;
    loader.value[RUE_PIPELINE_beside_ratio] = 1.5;
    loader.value[RUE_PIPELINE_warm_up_ratio] = 3;
    times = rue_pipeline_predict(&loader, &alone, &one, 8);
    expect(times.first_batch_s, 0.75 + 3 * 0.25 + 0.375);
    expect(times.end_to_end_s - 2, 0.75 + 3 * 0.25 + 2 * 0.375);
    times = rue_pipeline_predict(&loader, &model, &one, 8);
    expect(times.first_batch_s, 0.75 + 3 * 0.25 + 0.5);
    expect(times.end_to_end_s - 2, 0.75 + 3 * 0.25 + 2 * 0.5);
    times = rue_pipeline_predict(&loader, &model, &none, 8);
    expect(times.first_batch_s, 3 * 0.25 + 0.375);
    expect(times.end_to_end_s, 3 * 0.25 + 2 * 0.375);
}

Test(pipeline, workers_share_the_cpus_at_every_moment)
{
    /* 3 batches on 2 CPUs: all three come 1.5 times as late; a fourth then has a CPU to itself. */
    struct rue_pipeline_loader loader = quick;
    loader.value[RUE_PIPELINE_batch_s] = 0;
    loader.cpus = 2;
    struct rue_pipeline_times times = predict(&loader, 0, 0, make_config(4, 3, 2, RUE_PARALLEL_BATCH), 16);
    expect(times.first_batch_s, 0.5 + 3 * 0.25 + 4 * 0.0625 * 1.5);
    expect(times.end_to_end_s - 6, times.first_batch_s + 4 * 0.0625);
}

Test(pipeline, threads_without_a_cpu_do_not_slow_the_others)
{
    struct rue_pipeline_loader threads = quick, processes;
    threads.value[RUE_PIPELINE_batch_s] = threads.value[RUE_PIPELINE_start_worker_s] = 0;
    threads.value[RUE_PIPELINE_contention_ratio] = 0.5;
    threads.cpus = 2;
    processes = threads;
    processes.round_robin = true;
    const struct rue_config two = make_config(4, 2, 4, RUE_PARALLEL_BATCH),
                            eight = make_config(4, 8, 1, RUE_PARALLEL_BATCH);
    struct rue_pipeline_times a = predict(&threads, 0, 0, two, 320), b = predict(&threads, 0, 0, eight, 320);
    expect(b.end_to_end_s - b.shutdown_s, a.end_to_end_s - a.shutdown_s);
    a = predict(&processes, 0, 0, two, 320), b = predict(&processes, 0, 0, eight, 320);
    expect(b.end_to_end_s - b.shutdown_s - 0.5, (a.end_to_end_s - a.shutdown_s - 0.5) * 4.5 / 1.5);
}

Test(pipeline, a_computing_consumer_occupies_a_cpu_of_the_workers)
{
    struct rue_pipeline_loader loader = quick;
    loader.value[RUE_PIPELINE_batch_s] = loader.value[RUE_PIPELINE_stop_worker_s] = 0;
    loader.cpus = 2;
    struct rue_config config = make_config(4, 2, 2, RUE_PARALLEL_BATCH);
    struct rue_pipeline_consumer sleeps = {0.2, 0, 0, false}, computes = {0.2, 0, 1, false};
    struct rue_pipeline_times asleep, busy;
    asleep = rue_pipeline_predict(&loader, &sleeps, &config, 4000);
    busy = rue_pipeline_predict(&loader, &computes, &config, 4000);
    /* 3 threads on 2 CPUs all the time: a batch each 0.25 * 1.5 / 2 s, which is less than the 0.2 s. */
    expect(asleep.end_to_end_s, busy.end_to_end_s);
    computes.batch_s = sleeps.batch_s = 0.15;
    asleep = rue_pipeline_predict(&loader, &sleeps, &config, 4000);
    busy = rue_pipeline_predict(&loader, &computes, &config, 4000);
    /* The workers bring 8 batches a second less 2 for each that is computed meanwhile, 0.15 s long: without
     * the half of a CPU that a computing consumer takes they had time to spare. */
    cr_assert_gt(busy.end_to_end_s, 1.05 * asleep.end_to_end_s);
}
