#include "loader.h"

#include <criterion/criterion.h>

#include "loader_fixture.h"

enum { PHOTOS = 11 };

static const int worker_counts[] = {0, 1, 2, 3, 8};
enum { WORKER_COUNTS = sizeof worker_counts / sizeof *worker_counts };

static struct rue_source *source;
static struct data_items items;

static const struct rue_fetcher_options fetching = {.dtype = RUE_FLOAT32,
                                                    .max_pixels = RUE_MAX_PIXELS_DEFAULT};

static void setup(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "tensors", RUE_UINT8);
    source = data_open("tensors");
    items = data_items_fetch(source, fetching);
}

static void teardown(void)
{
    data_items_free(&items);
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(loader, .init = setup, .fini = teardown, .timeout = 120);

static void expect_run(struct rue_loader_options options)
{
    const char *fault = loader_run_fault(source, &items, &options);
    cr_assert_null(fault, "%s, %d images: %s", loader_case_name(&options), (int)options.images, fault);
}

static struct rue_loader *begin(const struct rue_loader_options *options)
{
    rue_error error = {0};
    struct rue_loader *loader;
    cr_assert_eq(rue_loader_open(source, options, &loader, &error), RUE_OK, "%s", error.message);
    return loader;
}

static struct rue_batch *next_batch(struct rue_loader *loader)
{
    rue_error error = {0};
    struct rue_batch *batch;
    cr_assert_eq(rue_loader_next(loader, &batch, &error), RUE_OK, "%s", error.message);
    return batch;
}

Test(loader, batches_do_not_depend_on_the_workers)
{
    static const int prefetch_factors[] = {1, 2, 4};
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int p = 0; p < 3; p++)
            for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
                struct loader_case knobs = {4, worker_counts[w], prefetch_factors[p],
                                            (enum rue_parallelism)way};
                expect_run(make_loader_options(knobs, PHOTOS));
            }
}

Test(loader, files_give_the_same_batches_as_tensors)
{
    struct rue_source *tensors = source;
    source = data_open("photos");
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
            struct loader_case knobs = {4, worker_counts[w], 2, (enum rue_parallelism)way};
            expect_run(make_loader_options(knobs, PHOTOS));
        }
    rue_source_close(source);
    source = tensors;
}

Test(loader, float32_tensors_are_the_same_with_every_access)
{
    static const enum rue_access accesses[] = {RUE_ACCESS_READ, RUE_ACCESS_VIEW, RUE_ACCESS_DIRECT};
    struct rue_source *before = source;
    data_tensor_make("photos", "float32", RUE_FLOAT32);
    source = data_open("float32");
    for (int a = 0; a < 3; a++)
        for (int w = 0; w < WORKER_COUNTS; w++)
            for (int shuffle = 0; shuffle <= 1; shuffle++) {
                struct rue_loader_options options = make_loader_options(
                    (struct loader_case){5, worker_counts[w], 2, RUE_PARALLEL_BATCH}, 2 * PHOTOS + 3);
                options.sampler.shuffle = shuffle;
                options.fetcher.access = accesses[a];
                expect_run(options);
            }
    rue_source_close(source);
    source = before;
}

Test(loader, batches_do_not_depend_on_the_queue_or_on_the_reads)
{
    static const char *const paths[] = {"photos", "tensors"};
    static const int caps[] = {0, 1, 2, 5, 1000};
    struct rue_source *before = source;
    for (int p = 0; p < 2; p++) {
        source = data_open(paths[p]);
        for (int w = 0; w < WORKER_COUNTS; w++)
            for (int c = 0; c < 5; c++)
                for (int read = 0; read < RUE_READ_COUNT; read++) {
                    struct loader_case knobs = {4, worker_counts[w], 4, (enum rue_parallelism)(c % 2)};
                    struct rue_loader_options options = make_loader_options(knobs, PHOTOS);
                    options.max_queue_size = caps[c];
                    options.fetcher.access = RUE_ACCESS_READ;
                    options.fetcher.read = (enum rue_read)read;
                    expect_run(options);
                }
        rue_source_close(source);
    }
    source = before;
}

Test(loader, uint8_values_are_loaded_unchanged)
{
    struct rue_loader_options options =
        make_loader_options((struct loader_case){3, 2, 2, RUE_PARALLEL_BATCH}, PHOTOS);
    options.fetcher.dtype = RUE_UINT8;
    data_items_free(&items);
    items = data_items_fetch(source, options.fetcher);
    expect_run(options);
}

/* Sizes of batch and job around each other's multiples, 0 and 2 workers. */
static void expect_counts(bool drop_last)
{
    static const int batch_sizes[] = {1, 2, PHOTOS - 1, PHOTOS, PHOTOS + 1, 3 * PHOTOS};
    static const uint64_t images[] = {1, 2, PHOTOS - 1, PHOTOS, PHOTOS + 1, 2 * PHOTOS + 3};
    for (size_t b = 0; b < sizeof batch_sizes / sizeof *batch_sizes; b++)
        for (size_t i = 0; i < sizeof images / sizeof *images; i++)
            for (int workers = 0; workers <= 2; workers += 2) {
                if (drop_last && images[i] < (uint64_t)batch_sizes[b]) continue;
                struct rue_loader_options options = make_loader_options(
                    (struct loader_case){batch_sizes[b], workers, 2, RUE_PARALLEL_SAMPLE}, images[i]);
                options.drop_last = drop_last;
                uint64_t size = (uint64_t)batch_sizes[b];
                cr_assert_eq(rue_loader_batches(&options),
                             drop_last ? images[i] / size : (images[i] + size - 1) / size);
                cr_assert_eq(rue_loader_images(&options), drop_last ? images[i] / size * size : images[i]);
                expect_run(options);
            }
}

Test(loader, the_last_batch_may_be_smaller_and_data_wrap_into_the_next_epoch)
{
    expect_counts(false);
}

Test(loader, drop_last_skips_a_batch_that_is_not_full)
{
    expect_counts(true);
}

Test(loader, drop_last_that_skips_every_image_is_refused)
{
    struct rue_loader_options options =
        make_loader_options((struct loader_case){8, 1, 2, RUE_PARALLEL_BATCH}, 7);
    struct rue_loader *loader;
    rue_error error = {0};
    options.drop_last = true;
    cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "batch_size 8") && strstr(error.message, "7 images"), "%s",
              error.message);
}

Test(loader, each_rank_loads_its_own_share)
{
    for (int rank = 0; rank < 3; rank++) {
        struct rue_loader_options options =
            make_loader_options((struct loader_case){2, 2, 2, RUE_PARALLEL_BATCH}, 5);
        options.sampler.rank = rank;
        options.sampler.world_size = 3;
        expect_run(options);
    }
}

Test(loader, every_call_after_the_last_batch_returns_none)
{
    for (int workers = 0; workers <= 2; workers++) {
        struct rue_loader_options options =
            make_loader_options((struct loader_case){4, workers, 2, RUE_PARALLEL_BATCH}, 5);
        struct rue_loader *loader = begin(&options);
        cr_assert_null(loader_drain(loader, &options, &items));
        for (int i = 0; i < 3; i++) cr_assert_null(next_batch(loader));
        rue_loader_close(loader);
    }
}

/* Holds up to three batches, gives them back in an order that is neither first nor last. */
static void hold_three(const struct rue_loader_options *options)
{
    struct rue_loader *loader = begin(options);
    struct rue_batch *held[3];
    uint64_t batches = rue_loader_batches(options), index = 0, given = 0;
    int count = 0;
    static const int order[] = {1, 0, 2, 2, 1, 0, 1};
    for (;;) {
        while (count < 3 && index < batches) {
            held[count] = next_batch(loader);
            cr_assert_not_null(held[count]);
            const char *fault = loader_batch_fault(options, &items, index++, held[count]);
            cr_assert_null(fault, "%s: %s", loader_case_name(options), fault);
            count++;
        }
        if (count == 0) break;
        int which = order[given++ % 7] % count;
        const char *fault = loader_batch_fault(options, &items, held[which]->index, held[which]);
        cr_assert_null(fault, "a batch on loan changed: %s", fault);
        rue_loader_release(loader, held[which]);
        held[which] = held[--count];
    }
    cr_assert_null(next_batch(loader));
    cr_assert_eq(given, batches);
    rue_loader_close(loader);
}

Test(loader, batches_may_be_held_and_released_in_any_order)
{
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
            struct rue_loader_options options = make_loader_options(
                (struct loader_case){2, worker_counts[w], 1, (enum rue_parallelism)way}, 2 * PHOTOS);
            options.max_held = 3;
            hold_three(&options);
        }
}

Test(loader, stopping_in_the_middle_is_clean)
{
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++)
            for (int taken = 0; taken < 3; taken++) {
                struct rue_loader_options options = make_loader_options(
                    (struct loader_case){3, worker_counts[w], 2, (enum rue_parallelism)way}, 10 * PHOTOS);
                options.max_held = 2;
                struct rue_loader *loader = begin(&options);
                struct rue_batch *held = NULL;
                for (int i = 0; i < taken; i++) {
                    held = next_batch(loader);
                    if (i == 0) rue_loader_release(loader, held);
                }
                rue_loader_stop(loader);
                rue_loader_stop(loader);
                rue_error error = {0};
                struct rue_batch *none;
                cr_assert_eq(rue_loader_next(loader, &none, &error), RUE_INTERRUPTED, "%s",
                             loader_case_name(&options));
                cr_assert_null(none);
                rue_loader_close(loader); /* with a batch on loan */
                if (taken == 2) rue_loader_release(loader, held);
            }
}

Test(loader, close_stops_running_workers_and_accepts_null)
{
    struct rue_loader_options options =
        make_loader_options((struct loader_case){3, 3, 2, RUE_PARALLEL_BATCH}, PHOTOS);
    struct rue_loader *loader = begin(&options);
    rue_loader_close(loader);
    cr_assert_eq(rue_loader_open(source, &options, &loader, NULL), RUE_OK);
    rue_loader_close(loader);
    rue_loader_close(NULL);
}

Test(loader, many_workers_and_few_images)
{
    for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++)
        for (uint64_t images = 1; images <= 4; images += 3)
            expect_run(
                make_loader_options((struct loader_case){2, 256, 64, (enum rue_parallelism)way}, images));
}
