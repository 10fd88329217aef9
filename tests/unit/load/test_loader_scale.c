/* The loader with more items and more workers than any machine has use for, and stopped while it loads. */
#include <criterion/criterion.h>
#include <dirent.h>

#include "loader_fixture.h"
#include "no_work_source.h"

TestSuite(loader_scale, .timeout = 120);

/* Each item marks its tensor with its number. */
static void expect_order(uint64_t items, struct loader_case knobs, uint64_t images)
{
    struct rue_source *source = no_work_source_open(items);
    struct rue_loader_options options = make_loader_options(knobs, images);
    struct rue_sampler sampler = options.sampler;
    struct rue_loader *loader;
    struct rue_batch *batch;
    rue_error error = {0};
    uint64_t place = 0;
    sampler.items = items;
    cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_OK, "%s", error.message);
    for (;;) {
        cr_assert_eq(rue_loader_next(loader, &batch, &error), RUE_OK, "%s", error.message);
        if (!batch) break;
        for (size_t i = 0; i < batch->count; i++, place++) {
            uint64_t item = rue_sampler_item(&sampler, place);
            const char *tensor =
                (const char *)batch->images + i * (RUE_TENSOR_ITEMS * rue_dtype_bytes[RUE_FLOAT32]);
            cr_assert_eq(*(const uint64_t *)tensor, item, "%s, place %d", loader_case_name(&options),
                         (int)place);
        }
        rue_loader_release(loader, batch);
    }
    cr_assert_eq(place, images);
    rue_loader_close(loader);
    rue_source_close(source);
}

Test(loader_scale, a_hundred_million_items_are_in_order)
{
    for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++)
        for (int workers = 0; workers <= 4; workers += 2)
            expect_order(100000000, (struct loader_case){16, workers, 2, (enum rue_parallelism)way}, 1000);
}

Test(loader_scale, two_hundred_and_fifty_six_workers_share_small_batches)
{
    for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++)
        for (int batch_size = 1; batch_size <= 3; batch_size++)
            expect_order(1000, (struct loader_case){batch_size, 256, 1, (enum rue_parallelism)way}, 2000);
}

static int count_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    cr_assert_not_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));) count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

Test(loader_scale, no_worker_ends_before_the_job_does)
{
    enum { WORKERS = 8, BATCHES = 1000000 };
    struct rue_source *source = no_work_source_open(UINT64_C(1) << 40);
    struct rue_loader_options options =
        make_loader_options((struct loader_case){4, WORKERS, 2, RUE_PARALLEL_SAMPLE}, UINT64_C(1) << 40);
    options.sampler.shuffle = false;
    struct rue_loader *loader;
    struct rue_batch *batch;
    rue_error error = {0};
    int others = count_threads();
    cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_OK, "%s", error.message);
    for (int i = 0; i < BATCHES; i++) {
        cr_assert_eq(rue_loader_next(loader, &batch, &error), RUE_OK, "%s", error.message);
        rue_loader_release(loader, batch);
    }
    cr_assert_eq(count_threads(), others + WORKERS);
    rue_loader_close(loader);
    rue_source_close(source);
}

static struct rue_loader *to_be_stopped;

static rue_status read_and_stop(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    if (item == 3) rue_loader_stop(to_be_stopped);
    return no_work_read(index, item, into, error);
}

Test(loader_scale, a_stop_in_the_middle_of_a_batch_delivers_no_batch)
{
    struct rue_source_ops ops = no_work_ops;
    struct rue_batch *batch = NULL;
    rue_error error = {0};
    ops.read = read_and_stop;
    struct rue_source *source = no_work_source_open_as(&ops, 100);
    cr_assert(source);
    struct rue_loader_options options =
        make_loader_options((struct loader_case){16, 0, 2, RUE_PARALLEL_BATCH}, 100);
    options.sampler.shuffle = false;
    cr_assert_eq(rue_loader_open(source, &options, &to_be_stopped, &error), RUE_OK, "%s", error.message);
    for (int again = 0; again < 2; again++) {
        error = (rue_error){0};
        cr_assert_eq(rue_loader_next(to_be_stopped, &batch, &error), RUE_INTERRUPTED);
        cr_assert(!batch && strstr(error.message, "stopped"), "%s", error.message);
    }
    rue_loader_close(to_be_stopped);
    rue_source_close(source);
}
