/* The queue of loaded batches, over storage whose clock is virtual: each item takes one tick, and ticks pass
 * only while the consumer waits for a batch. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>

#include "loader_fixture.h"
#include "no_work_source.h"

enum { EARLY = 30, BATCHES = 3 * EARLY };

static const double tick_s = 2.586; /* of the published notes: 1 worker, queues of 1 to 8 batches */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t permitted; /* items below it may be read */
    uint64_t read, asked;
} storage = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static rue_status read_when_permitted(const struct rue_index *index, uint64_t item, void *into,
                                      rue_error *error)
{
    pthread_mutex_lock(&storage.lock);
    if (item >= storage.asked) storage.asked = item + 1;
    while (item >= storage.permitted) pthread_cond_wait(&storage.changed, &storage.lock);
    storage.read++;
    pthread_cond_broadcast(&storage.changed);
    pthread_mutex_unlock(&storage.lock);
    return no_work_read(index, item, into, error);
}

static const struct rue_source_ops slow_ops = {
    .format = "none", .has_mode = {[RUE_PREPROCESSED] = true}, .read = read_when_permitted};

static void permit(uint64_t items)
{
    pthread_mutex_lock(&storage.lock);
    storage.permitted = items;
    pthread_cond_broadcast(&storage.changed);
    pthread_mutex_unlock(&storage.lock);
}

static void wait_until_read(uint64_t items)
{
    pthread_mutex_lock(&storage.lock);
    while (storage.read < items) pthread_cond_wait(&storage.changed, &storage.lock);
    cr_assert_eq(storage.asked, items, "no more than the queue holds is in flight");
    pthread_mutex_unlock(&storage.lock);
}

/* Fills the queue, then takes all batches; the ticks until each was delivered. */
static void run_queue(struct rue_source *source, int workers, int size, uint64_t ticks[BATCHES])
{
    struct rue_loader_options options =
        make_loader_options((struct loader_case){1, workers, 8, RUE_PARALLEL_BATCH}, BATCHES);
    struct rue_loader *loader;
    rue_error error = {0};
    options.sampler.shuffle = false;
    options.max_queue_size = size;
    storage.permitted = (uint64_t)size;
    storage.read = storage.asked = 0;
    cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_OK, "%s", error.message);
    wait_until_read((uint64_t)size);
    for (uint64_t i = 0, passed = 0; i < BATCHES; i++) {
        struct rue_batch *batch;
        if (i >= (uint64_t)size) permit((uint64_t)size + ++passed);
        cr_assert_eq(rue_loader_next(loader, &batch, NULL), RUE_OK);
        ticks[i] = passed;
        uint64_t most = i < (uint64_t)size ? (uint64_t)size - i : 1;
        /* A worker that began to read its next batch has finished the one before. */
        uint64_t least = workers == 1 && i + 1 < (uint64_t)size ? (uint64_t)size - 1 - i : 0;
        cr_assert(batch->queued <= most && batch->queued >= least, "batch %d: %zu of %d to %d", (int)i,
                  batch->queued, (int)least, (int)most);
        rue_loader_release(loader, batch);
    }
    rue_loader_close(loader);
}

static double mean_s(const uint64_t ticks[BATCHES], int from, int to)
{
    return tick_s * (double)(ticks[to - 1] - (from ? ticks[from - 1] : 0)) / (to - from);
}

Test(queue, a_longer_queue_is_only_a_head_start_where_storage_sets_the_pace, .timeout = 120)
{
    static const int worker_counts[] = {1, 2, 4};
    struct rue_source *source = no_work_source_open_as(&slow_ops, BATCHES);
    for (int w = 0; w < 3; w++)
        for (int size = 1; size <= 8; size++) {
            uint64_t ticks[BATCHES];
            run_queue(source, worker_counts[w], size, ticks);
            /* 2.5 s an iteration with a queue of 1, 1.9 s with 8. */
            cr_assert_float_eq(mean_s(ticks, 0, EARLY), tick_s * (EARLY - size) / EARLY, 1e-9);
            cr_assert(size > 1 || fabs(mean_s(ticks, 0, EARLY) - 2.5) < 0.05);
            cr_assert(size < 8 || fabs(mean_s(ticks, 0, EARLY) - 1.9) < 0.05);
            cr_assert_float_eq(mean_s(ticks, EARLY, BATCHES), tick_s, 1e-9, "then the rate of storage");
        }
    rue_source_close(source);
}
