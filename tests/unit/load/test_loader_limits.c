/* The loader where something is wrong or scarce: damaged items, memory, slabs. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "loader_fixture.h"

enum { PHOTOS = 9, DAMAGED = 4 };

static const int worker_counts[] = {0, 1, 2, 3, 8};
enum { WORKER_COUNTS = sizeof worker_counts / sizeof *worker_counts };

/* Flat, so that items come as they are numbered. */
static void setup(void)
{
    temporary_folder_make();
    for (unsigned i = 0; i < PHOTOS; i++) {
        struct jpeg_file file = data_photo(i);
        char name[32];
        snprintf(name, sizeof name, "flat/%u.jpg", i);
        temporary_file(name, file.data, i == DAMAGED ? file.bytes / 2 : file.bytes);
        free(file.data);
    }
}

TestSuite(loader_limits, .init = setup, .fini = temporary_folder_remove, .timeout = 120);

static struct rue_loader_options in_order(struct loader_case knobs, uint64_t images)
{
    struct rue_loader_options options = make_loader_options(knobs, images);
    options.sampler.shuffle = false;
    return options;
}

Test(loader_limits, a_damaged_item_fails_its_batch_and_ends_loading)
{
    struct rue_source *source = data_open("flat");
    for (int batch_size = 1; batch_size <= 3; batch_size++)
        for (int w = 0; w < WORKER_COUNTS; w++)
            for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
                struct rue_loader_options options =
                    in_order((struct loader_case){batch_size, worker_counts[w], 2, (enum rue_parallelism)way},
                             2 * PHOTOS);
                const char *fault = loader_damage_fault(source, &options, DAMAGED, "/flat/4.jpg");
                cr_assert_null(fault, "%s: %s", loader_case_name(&options), fault);
            }
    rue_source_close(source);
}

Test(loader_limits, replaced_items_do_not_depend_on_the_workers)
{
    struct rue_source *source = data_open("flat");
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
            struct rue_loader_options options =
                in_order((struct loader_case){2, worker_counts[w], 2, (enum rue_parallelism)way}, 2 * PHOTOS);
            options.fetcher.bad_images = RUE_BAD_REPLACE;
            struct data_items items = data_items_fetch(source, options.fetcher);
            cr_assert_eq(items.crcs[DAMAGED], items.crcs[DAMAGED + 1]);
            struct rue_loader *loader;
            cr_assert_eq(rue_loader_open(source, &options, &loader, NULL), RUE_OK);
            const char *fault = loader_drain(loader, &options, &items);
            cr_assert_null(fault, "%s: %s", loader_case_name(&options), fault);
            rue_error example = {0};
            cr_assert_eq(rue_loader_bad_images(loader, &example), 2, "once an epoch");
            cr_assert(strstr(example.message, "/flat/4.jpg is truncated"), "%s", example.message);
            rue_loader_close(loader);
            data_items_free(&items);
        }
    rue_source_close(source);
}

Test(loader_limits, slab_count_is_batches_in_flight_plus_held)
{
    struct rue_source *source = data_open("flat");
    static const struct {
        struct loader_case knobs;
        int images, held, slabs;
    } cases[] = {
        {{1, 2, 3, RUE_PARALLEL_BATCH}, 100, 1, 7}, {{1, 2, 3, RUE_PARALLEL_SAMPLE}, 100, 4, 10},
        {{4, 8, 4, RUE_PARALLEL_BATCH}, 9, 1, 4},   {{100, 8, 4, RUE_PARALLEL_BATCH}, 9, 2, 3},
        {{1, 1, 1, RUE_PARALLEL_BATCH}, 1, 1, 2},   {{2, 0, 8, RUE_PARALLEL_BATCH}, 100, 1, 1},
        {{2, 0, 8, RUE_PARALLEL_BATCH}, 100, 3, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct loader_slabs slabs = {.available = 1000};
        struct rue_slab_allocator allocator = loader_slab_allocator(&slabs);
        struct rue_loader_options options = in_order(cases[i].knobs, (uint64_t)cases[i].images);
        options.fetcher.bad_images = RUE_BAD_REPLACE;
        options.max_held = cases[i].held;
        options.allocator = &allocator;
        options.images = 1; /* slabs are those of the trial, their limit is that of the job */
        options.job_images = (uint64_t)cases[i].images;
        uint64_t job_bytes = rue_loader_slab_bytes(&options);
        options.images = options.job_images;
        cr_assert_eq(rue_loader_slab_bytes(&options), job_bytes);
        struct data_items items = data_items_fetch(source, options.fetcher);
        const char *fault = loader_run_fault(source, &items, &options);
        cr_assert_null(fault, "case %zu: %s", i, fault);
        cr_assert_eq(slabs.allocated, cases[i].slabs, "case %zu: %d slabs", i, slabs.allocated);
        cr_assert_eq(slabs.released, slabs.allocated);
        cr_assert_eq(slabs.bytes, job_bytes, "case %zu", i);
        data_items_free(&items);
    }
    rue_source_close(source);
}

Test(loader_limits, a_cap_on_the_queue_saves_slabs)
{
    static const struct {
        int workers, cap, slabs;
    } cases[] = {{4, 3, 4}, {4, 16, 17}, {4, 99, 17}, {4, 0, 17}, {0, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_loader_options options =
            in_order((struct loader_case){1, cases[i].workers, 4, RUE_PARALLEL_BATCH}, 100);
        options.max_queue_size = cases[i].cap;
        cr_assert_eq(rue_loader_slab_bytes(&options),
                     (uint64_t)cases[i].slabs * (RUE_TENSOR_ITEMS * rue_dtype_bytes[options.fetcher.dtype]),
                     "%zu", i);
    }
}

Test(loader_limits, a_failing_allocator_is_infeasible_and_its_slabs_are_freed)
{
    struct rue_source *source = data_open("flat");
    for (int available = 0; available < 5; available++) {
        struct loader_slabs slabs = {.available = available};
        struct rue_slab_allocator allocator = loader_slab_allocator(&slabs);
        struct rue_loader_options options = in_order((struct loader_case){2, 2, 2, RUE_PARALLEL_BATCH}, 100);
        struct rue_loader *loader;
        rue_error error = {0};
        char figures[32];
        options.allocator = &allocator;
        snprintf(figures, sizeof figures, "only %d of 5 batch buffers", available);
        cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_INFEASIBLE);
        cr_assert(strstr(error.message, figures), "%s", error.message);
        cr_assert(slabs.allocated == available && slabs.released == available);
    }
    rue_source_close(source);
}

Test(loader_limits, memory_is_checked_for_the_job_with_figures)
{
    struct rue_source *source = data_open("flat");
    struct rue_loader_options options = in_order((struct loader_case){64, 8, 4, RUE_PARALLEL_BATCH}, 9);
    struct rue_loader *loader;
    rue_error error = {0};
    options.job_images = 1000000;
    uint64_t needed = UINT64_C(33) * 64 * 602112;
    cr_assert_eq(rue_loader_slab_bytes(&options), needed);
    options.memory_bytes = needed - 1;
    cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "1.3 GB (33 of 39 MB)"), "%s", error.message);
    options.memory_bytes = needed;
    cr_assert_eq(rue_loader_open(source, &options, &loader, NULL), RUE_OK, "exactly enough is enough");
    rue_loader_close(loader);
    rue_source_close(source);
}

Test(loader_limits, impossible_options_are_refused)
{
    struct rue_source *source = data_open("flat");
    const struct rue_loader_options good = in_order((struct loader_case){1, 1, 1, RUE_PARALLEL_BATCH}, 1);
    static const char *const said[] = {
        "batch_size 65537", "num_workers 257", "prefetch_factor 65", "parallelism 2", "images",
        "max_held",         "world_size",      "max_queue_size",     "read 3",        "batch_strategy 4"};
    for (int k = 0; k < 10; k++) {
        struct rue_loader_options options = good;
        struct rue_loader *loader;
        rue_error error = {0};
        if (k == 0) options.batch_size = RUE_BATCH_SIZE_MAX + 1;
        if (k == 1) options.num_workers = RUE_NUM_WORKERS_MAX + 1;
        if (k == 2) options.prefetch_factor = RUE_PREFETCH_FACTOR_MAX + 1;
        if (k == 3) options.parallelism = RUE_PARALLEL_COUNT;
        if (k == 4) options.images = 0;
        if (k == 5) options.max_held = 0;
        if (k == 6) options.sampler.world_size = 0;
        if (k == 7) options.max_queue_size = -1;
        if (k == 8) options.fetcher.read = RUE_READ_COUNT;
        if (k == 9) options.batch_strategy = RUE_BATCHES_COUNT;
        cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_USAGE, "case %d", k);
        cr_assert(strstr(error.message, said[k]), "%s", error.message);
    }
    rue_source_close(source);
}

Test(loader_limits, a_source_that_the_fetcher_refuses_is_refused)
{
    static const float values[64];
    data_shaped_tensor_make("small", 1, 8, RUE_FLOAT32, values);
    struct rue_source *source = data_open("small");
    for (int workers = 0; workers < 3; workers++) {
        struct rue_loader_options options =
            in_order((struct loader_case){1, workers, 1, RUE_PARALLEL_BATCH}, 1);
        struct rue_loader *loader;
        rue_error error = {0};
        options.fetcher.dtype = RUE_UINT8;
        cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_USAGE);
        cr_assert(strstr(error.message, "/small"), "%s", error.message);
    }
    rue_source_close(source);
}

/* Threads that the system still gives; negative: as many as there are. */
static int threads_left = -1;

/* In the place of the library's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    union {
        void *object;
        create *function;
    } real = {dlsym(RTLD_NEXT, "pthread_create")};
    if (threads_left == 0) return EAGAIN;
    if (threads_left > 0) threads_left--;
    return real.function(thread, attributes, run, argument);
}

Test(loader_limits, refused_threads_are_infeasible_and_the_others_are_stopped)
{
    struct rue_source *source = data_open("flat");
    for (int given = 0; given < 4; given++) {
        struct rue_loader_options options = in_order((struct loader_case){2, 4, 2, RUE_PARALLEL_BATCH}, 4);
        struct rue_loader *loader;
        rue_error error = {0};
        char figures[48];
        snprintf(figures, sizeof figures, "start only %d of 4 worker threads", given);
        threads_left = given;
        rue_status status = rue_loader_open(source, &options, &loader, &error);
        threads_left = -1;
        cr_assert_eq(status, RUE_INFEASIBLE, "status %d", status);
        cr_assert(strstr(error.message, figures), "%s", error.message);
    }
    rue_source_close(source);
}
