#include "loader.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "batch_plan.h"
#include "batch_reader.h"
#include "slab_pool.h"
#include "units.h"

enum { WORKER_STACK_BYTES = 1 << 20 };

/* A batch that is being loaded, or is loaded and not yet delivered. */
struct slot {
    struct rue_batch *batch;
    atomic_size_t remaining; /* tickets that are not done yet */
    rue_error error;         /* error of the first item that failed */
};

struct worker {
    struct rue_loader *loader;
    struct rue_batch_reader *reader;
    pthread_t thread;
};

/* The sizes of the job; constant. */
struct sizes {
    uint64_t window;
    size_t batch_size, tensor_bytes, slab_bytes;
    size_t grain; /* items of one ticket, which a worker claims at once */
    uint64_t tickets_of_batch;
};

struct crew {
    struct worker *workers; /* [count]; with num_workers = 0 one worker without a thread */
    size_t count;
    atomic_size_t started;
};

/* Read by workers without the lock. Written under the lock, except the ticket, so no wait misses a change. */
struct work {
    atomic_uint_least64_t ticket; /* the next to claim; tickets follow the order of the batches */
    atomic_uint_least64_t begun;  /* batches that may be loaded, so far */
    atomic_size_t sleepers;       /* workers that wait for work */
    atomic_bool complete;         /* no more batches will be begun */
    atomic_bool waking;           /* a worker was signalled and does not run yet */
};

struct rue_loader {
    struct rue_loader_options options;
    struct sizes sizes;
    struct rue_batch_plan plan; /* guarded by the lock */
    struct rue_slab_pool pool;  /* guarded by the lock */
    struct rue_batch_reading reading;
    struct crew crew;
    struct work work;

    pthread_mutex_t lock;          /* guards all members below */
    pthread_cond_t work_available; /* there are tickets, or no more will come */
    pthread_cond_t ready;          /* a batch is loaded */
    struct slot *slots;            /* [window]; batch b is in slot b % window */
    uint64_t delivered;            /* batches delivered so far */
    rue_error failure; /* the error that ended the loader; every later rue_loader_next returns it */
};

/* ---- sizes ---- */

/* Batches in flight for a job of `batches`: min(W * prefetch_factor, max_queue_size, batches), at least 1. */
static uint64_t choose_window(const struct rue_loader_options *options, uint64_t batches)
{
    uint64_t window = (uint64_t)options->num_workers * (uint64_t)options->prefetch_factor;
    uint64_t cap = (uint64_t)options->max_queue_size;
    if (cap && window > cap) window = cap;
    if (window < 1) window = 1;
    return window < batches || batches == 0 ? window : batches;
}

struct rue_sampler rue_loader_sampler(const struct rue_loader_options *options)
{
    struct rue_sampler sampler = options->sampler;
    if (options->batch_strategy == RUE_BATCHES_ROUND_ROBIN) sampler.turn = (uint64_t)options->batch_size;
    return sampler;
}

uint64_t rue_loader_batches(const struct rue_loader_options *options)
{
    return rue_batch_plan_batches(options, options->images);
}

uint64_t rue_loader_images(const struct rue_loader_options *options)
{
    return rue_batch_plan_images(options, options->images);
}

static uint64_t slab_count(const struct rue_loader_options *options, uint64_t images)
{
    uint64_t in_flight = options->num_workers == 0
                             ? 0 /* a loaded batch is delivered at once */
                             : choose_window(options, rue_batch_plan_batches(options, images));
    return in_flight + (uint64_t)options->max_held;
}

static uint64_t slab_bytes(const struct rue_loader_options *options)
{
    uint64_t values = options->item_values ? options->item_values : RUE_TENSOR_ITEMS;
    return (uint64_t)options->batch_size * values * rue_dtype_bytes[options->fetcher.dtype];
}

uint64_t rue_loader_slab_bytes(const struct rue_loader_options *options)
{
    uint64_t job = options->job_images > options->images ? options->job_images : options->images;
    return slab_count(options, job) * slab_bytes(options);
}

/* ---- loading ---- */

/* Needs the lock. */
static struct rue_batch *acquire_slab(struct rue_loader *loader)
{
    struct rue_batch *batch = rue_slab_pool_acquire(&loader->pool);
    size_t before = batch->count;
    rue_batch_plan_next(&loader->plan, batch);
    if (batch->count < before && loader->options.batch_strategy == RUE_BATCHES_MEMORY)
        rue_slab_pool_trim(&loader->pool, batch, batch->count * loader->sizes.tensor_bytes);
    return batch;
}

static bool has_work(const struct rue_loader *loader)
{
    return loader->work.ticket < loader->work.begun * loader->sizes.tickets_of_batch;
}

/* Needs the lock. Wakes one worker at a time: each worker that finds work wakes the next. So short work wakes
 * one worker, not one per ticket. */
static void wake_worker(struct rue_loader *loader)
{
    if (loader->work.sleepers == 0 || loader->work.waking || !has_work(loader)) return;
    loader->work.waking = true;
    pthread_cond_signal(&loader->work_available);
}

static void wake_next_worker(struct rue_loader *loader)
{
    if (loader->work.sleepers == 0 || loader->work.waking || !has_work(loader)) return;
    pthread_mutex_lock(&loader->lock);
    wake_worker(loader);
    pthread_mutex_unlock(&loader->lock);
}

/* Needs the lock. Begins as many batches as the window and the free slabs allow. */
static void begin_batches(struct rue_loader *loader)
{
    uint64_t begun = loader->work.begun, limit = loader->delivered + loader->sizes.window;
    for (; !rue_batch_plan_is_complete(&loader->plan) && begun < limit && loader->pool.free_count > 0;
         begun++) {
        struct slot *slot = &loader->slots[begun % loader->sizes.window];
        slot->batch = acquire_slab(loader);
        slot->remaining = loader->sizes.tickets_of_batch;
        rue_error_clear(&slot->error);
        loader->work.begun = begun + 1;
    }
    loader->work.complete = rue_batch_plan_is_complete(&loader->plan);
    if (loader->work.complete)
        pthread_cond_broadcast(&loader->work_available); /* workers without work may end */
    wake_worker(loader);
}

/* Claims the next ticket; false: there is none now. */
static bool claim_ticket(struct rue_loader *loader, uint64_t *out)
{
    *out = loader->work.ticket;
    while (has_work(loader))
        if (atomic_compare_exchange_weak(&loader->work.ticket, out, *out + 1)) return true;
    return false;
}

/* Waits for work. False: no more work will come. */
static bool wait_for_work(struct rue_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->work.sleepers++;
    while (!has_work(loader) && !loader->work.complete && !loader->reading.stopping) {
        pthread_cond_wait(&loader->work_available, &loader->lock);
        loader->work.waking = false;
    }
    loader->work.sleepers--;
    /* Another worker may have claimed the work, but there will be more. */
    bool has_more = !loader->reading.stopping && (has_work(loader) || !loader->work.complete);
    pthread_mutex_unlock(&loader->lock);
    return has_more;
}

static void set_failed(struct rue_loader *loader, struct slot *slot, const rue_error *error)
{
    pthread_mutex_lock(&loader->lock);
    rue_fail(&slot->error, error->status, "%s", error->message);
    pthread_mutex_unlock(&loader->lock);
}

/* Loads the items of a ticket. A small batch has none for its last tickets. */
static void load_ticket(struct rue_loader *loader, struct worker *worker, uint64_t ticket)
{
    const struct sizes *sizes = &loader->sizes;
    struct slot *slot = &loader->slots[ticket / sizes->tickets_of_batch % sizes->window];
    size_t position = (size_t)(ticket % sizes->tickets_of_batch) * sizes->grain, items = slot->batch->count;
    size_t count = position >= items ? 0 : items - position < sizes->grain ? items - position : sizes->grain;
    rue_error error = {0};
    if (count && rue_batch_reader_load(worker->reader, slot->batch, position, count, &error) != RUE_OK)
        set_failed(loader, slot, &error);
    if (atomic_fetch_sub(&slot->remaining, 1) > 1) return;
    pthread_mutex_lock(&loader->lock);
    pthread_cond_signal(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    struct rue_loader *loader = worker->loader;
    while (!loader->reading.stopping) {
        uint64_t ticket;
        if (claim_ticket(loader, &ticket)) {
            wake_next_worker(loader);
            load_ticket(loader, worker, ticket);
        } else if (!wait_for_work(loader)) {
            break;
        }
    }
    return NULL;
}

/* ---- opening and closing ---- */

static rue_status open_workers(struct rue_loader *loader, rue_error *error)
{
    int requested = loader->options.num_workers;
    size_t count = requested > 0 ? (size_t)requested : 1;
    loader->crew.workers = calloc(count, sizeof *loader->crew.workers);
    if (!loader->crew.workers) return rue_fail_memory(error, "workers", count * sizeof *loader->crew.workers);
    for (; loader->crew.count < count; loader->crew.count++) {
        struct worker *worker = &loader->crew.workers[loader->crew.count];
        worker->loader = loader;
        rue_status status = rue_batch_reader_open(&loader->reading, &worker->reader, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

/* `cache`: memory of decoded chunks. */
static rue_status check_memory(const struct rue_loader_options *options, uint64_t cache, rue_error *error)
{
    uint64_t slabs = rue_loader_slab_bytes(options);
    char need[RUE_UNIT_TEXT_BYTES], limit[RUE_UNIT_TEXT_BYTES], part[RUE_UNIT_TEXT_BYTES];
    if (!options->memory_bytes || slabs + cache <= options->memory_bytes) return RUE_OK;
    rue_format_bytes(slabs, need, sizeof need);
    rue_format_bytes(options->memory_bytes, limit, sizeof limit);
    if (cache)
        return rue_fail(error, RUE_INFEASIBLE,
                        "the batches in flight need %s, the cache of chunks %s, and the limit is %s", need,
                        rue_format_bytes(cache, part, sizeof part), limit);
    return rue_fail(error, RUE_INFEASIBLE, "the batches in flight need %s (%llu of %s), and the limit is %s",
                    need, (unsigned long long)(slabs / slab_bytes(options)),
                    rue_format_bytes(slab_bytes(options), part, sizeof part), limit);
}

static rue_status check_options(const struct rue_loader_options *options, rue_error *error)
{
    const struct {
        const char *name;
        int value, least, most;
    } bounds[] = {
        {"batch_size", options->batch_size, 1, RUE_BATCH_SIZE_MAX},
        {"num_workers", options->num_workers, 0, RUE_NUM_WORKERS_MAX},
        {"prefetch_factor", options->prefetch_factor, options->num_workers > 0, RUE_PREFETCH_FACTOR_MAX},
        {"max_queue_size", options->max_queue_size, 0, RUE_MAX_QUEUE_SIZE_MAX},
        {"parallelism", (int)options->parallelism, 0, RUE_PARALLEL_SAMPLE},
        {"read", (int)options->fetcher.read, 0, RUE_READ_ITEM},
        {"batch_strategy", (int)options->batch_strategy, 0, RUE_BATCHES_ADAPTIVE}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].value < bounds[i].least || bounds[i].value > bounds[i].most)
            return rue_fail(error, RUE_USAGE, "%s %d is out of range (%d to %d)", bounds[i].name,
                            bounds[i].value, bounds[i].least, bounds[i].most);
    if (options->images == 0 || options->max_held < 1)
        return rue_fail(error, RUE_USAGE, "images and max_held must be at least 1");
    if (rue_loader_batches(options) == 0)
        return rue_fail(error, RUE_USAGE,
                        "batch_size %d with drop_last skips all %llu images: use a smaller batch_size",
                        options->batch_size, (unsigned long long)options->images);
    if (options->item_values > RUE_ITEM_VALUES_MAX)
        return rue_fail(error, RUE_DATA, "items of %llu values are too large: the limit is %lld",
                        (unsigned long long)options->item_values, (long long)RUE_ITEM_VALUES_MAX);
    return RUE_OK;
}

rue_status rue_loader_open(const struct rue_source *source, const struct rue_loader_options *given,
                           struct rue_loader **out, rue_error *error)
{
    struct rue_loader_options opening = *given, *options = &opening;
    options->item_values = rue_fetcher_tensor_values(source);
    rue_status status = check_options(options, error);
    if (status == RUE_OK) status = check_memory(options, rue_source_cache_bytes(source), error);
    if (status != RUE_OK) return status;
    struct rue_loader *loader = calloc(1, sizeof *loader);
    if (!loader) return rue_fail_memory(error, "a loader", sizeof *loader);
    loader->options = *options;
    loader->options.sampler = rue_loader_sampler(options);
    status = rue_sampler_open(&loader->options.sampler, source, error);
    if (status != RUE_OK) return free(loader), status;
    loader->options.fetcher.access =
        rue_fetcher_access(source, options->fetcher.access); /* the same for all workers */
    if (!options->allocator) loader->options.allocator = &rue_slab_allocator_default;
    loader->sizes.batch_size = (size_t)options->batch_size;
    loader->plan = rue_batch_plan_make(&loader->options);
    loader->sizes.window = choose_window(options, rue_loader_batches(options));
    loader->sizes.tensor_bytes = rue_fetcher_tensor_bytes(source, options->fetcher.dtype);
    loader->reading.source = source;
    loader->reading.options = &loader->options;
    loader->reading.tensor_bytes = loader->sizes.tensor_bytes;
    loader->sizes.slab_bytes = loader->sizes.batch_size * loader->sizes.tensor_bytes;
    loader->sizes.grain = options->parallelism == RUE_PARALLEL_SAMPLE ? 1 : loader->sizes.batch_size;
    loader->sizes.tickets_of_batch =
        (loader->sizes.batch_size + loader->sizes.grain - 1) / loader->sizes.grain;
    pthread_mutex_init(&loader->lock, NULL);
    pthread_mutex_init(&loader->reading.lock, NULL);
    pthread_cond_init(&loader->work_available, NULL);
    pthread_cond_init(&loader->ready, NULL);
    loader->slots = calloc(loader->sizes.window, sizeof *loader->slots);
    if (!loader->slots)
        status = rue_fail_memory(error, "slots", loader->sizes.window * sizeof *loader->slots);
    if (status == RUE_OK)
        status = rue_slab_pool_open(&loader->pool, loader->options.allocator,
                                    (size_t)slab_count(&loader->options, loader->options.images),
                                    loader->sizes.batch_size, loader->sizes.slab_bytes, error);
    if (status == RUE_OK) status = open_workers(loader, error);
    if (status != RUE_OK) return rue_loader_close(loader), status;
    *out = loader;
    return RUE_OK;
}

rue_status rue_loader_start(struct rue_loader *loader, rue_error *error)
{
    assert(loader->crew.started == 0);
    rue_source_trim(loader->reading.source); /* what an earlier loader decoded */
    if (loader->options.num_workers == 0) return RUE_OK;
    begin_batches(loader);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    int failed = 0;
    for (; !failed && loader->crew.started < loader->crew.count; loader->crew.started += !failed) {
        struct worker *worker = &loader->crew.workers[loader->crew.started];
        failed = pthread_create(&worker->thread, &attributes, run_worker, worker);
    }
    pthread_attr_destroy(&attributes);
    if (!failed) return RUE_OK;
    size_t started = loader->crew.started;
    rue_loader_stop(loader);
    return rue_fail(error, RUE_INFEASIBLE, "could start only %zu of %zu worker threads: %s%s", started,
                    loader->crew.count, strerror(failed), rue_advice(failed));
}

static rue_status load_inline(struct rue_loader *loader, struct rue_batch **out, rue_error *error)
{
    if (loader->reading.stopping) return rue_fail(error, RUE_INTERRUPTED, "the loader was stopped");
    pthread_mutex_lock(&loader->lock);
    struct rue_batch *batch = acquire_slab(loader);
    pthread_mutex_unlock(&loader->lock);
    rue_status status =
        rue_batch_reader_load(loader->crew.workers[0].reader, batch, 0, batch->count, &loader->failure);
    if (loader->reading.stopping)
        status = rue_fail(&loader->failure, RUE_INTERRUPTED, "the loader was stopped");
    if (status != RUE_OK) {
        rue_loader_release(loader, batch);
        return rue_fail(error, status, "%s", loader->failure.message);
    }
    loader->delivered++;
    rue_batch_plan_observe(&loader->plan, batch);
    *out = batch;
    return RUE_OK;
}

/* Needs the lock. Number of batches that can be delivered without waiting. */
static size_t count_queued(const struct rue_loader *loader)
{
    uint64_t batch = loader->delivered, begun = loader->work.begun;
    while (batch < begun && loader->slots[batch % loader->sizes.window].remaining == 0) batch++;
    return (size_t)(batch - loader->delivered);
}

/* Needs the lock. Waits until the next batch is loaded, or the loader stops. */
static rue_status wait_loaded(struct rue_loader *loader, struct slot *slot)
{
    while ((loader->work.begun <= loader->delivered || slot->remaining > 0) && !loader->reading.stopping)
        pthread_cond_wait(&loader->ready, &loader->lock);
    if (loader->reading.stopping)
        return rue_fail(&loader->failure, RUE_INTERRUPTED, "the loader was stopped");
    return slot->error.status == RUE_OK
               ? RUE_OK
               : rue_fail(&loader->failure, slot->error.status, "%s", slot->error.message);
}

/* For the consumer's thread. */
static bool is_finished(const struct rue_loader *loader)
{
    if (loader->options.num_workers == 0)
        return rue_batch_plan_is_complete(&loader->plan) && loader->delivered == loader->plan.batches;
    return loader->work.complete && loader->delivered == loader->work.begun;
}

rue_status rue_loader_next(struct rue_loader *loader, struct rue_batch **out, rue_error *error)
{
    *out = NULL;
    if (is_finished(loader)) return RUE_OK;
    if (loader->reading.stopping) rue_fail(&loader->failure, RUE_INTERRUPTED, "the loader was stopped");
    if (loader->failure.status != RUE_OK)
        return rue_fail(error, loader->failure.status, "%s", loader->failure.message);
    if (loader->options.num_workers == 0) return load_inline(loader, out, error);
    assert(loader->crew.started > 0 || loader->reading.stopping);
    pthread_mutex_lock(&loader->lock);
    struct slot *slot = &loader->slots[loader->delivered % loader->sizes.window];
    size_t queued = count_queued(loader);
    rue_status status = wait_loaded(loader, slot);
    if (status == RUE_OK) {
        *out = slot->batch;
        slot->batch->queued = queued;
        loader->delivered++;
        rue_batch_plan_observe(&loader->plan, slot->batch);
        begin_batches(loader);
    } else {
        rue_fail(error, status, "%s", loader->failure.message);
    }
    pthread_mutex_unlock(&loader->lock);
    return status;
}

void rue_loader_release(struct rue_loader *loader, struct rue_batch *batch)
{
    pthread_mutex_lock(&loader->lock);
    rue_slab_pool_release(&loader->pool, batch);
    if (loader->options.num_workers > 0) begin_batches(loader);
    pthread_mutex_unlock(&loader->lock);
}

void rue_loader_stop(struct rue_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->reading.stopping = true;
    pthread_cond_broadcast(&loader->work_available);
    pthread_cond_broadcast(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
    for (size_t i = 0; i < loader->crew.started; i++) pthread_join(loader->crew.workers[i].thread, NULL);
    loader->crew.started = 0;
}

uint64_t rue_loader_bad_images(struct rue_loader *loader, rue_error *example)
{
    struct rue_batch_reading *reading = &loader->reading;
    pthread_mutex_lock(&reading->lock);
    uint64_t count = reading->bad_images;
    if (count) rue_fail(example, reading->damage.status, "%s", reading->damage.message);
    pthread_mutex_unlock(&reading->lock);
    return count;
}

void rue_loader_close(struct rue_loader *loader)
{
    if (!loader) return;
    rue_loader_stop(loader);
    rue_slab_pool_close(&loader->pool);
    for (size_t i = 0; i < loader->crew.count; i++) rue_batch_reader_close(loader->crew.workers[i].reader);
    pthread_cond_destroy(&loader->work_available);
    pthread_cond_destroy(&loader->ready);
    pthread_mutex_destroy(&loader->lock);
    pthread_mutex_destroy(&loader->reading.lock);
    rue_source_trim(loader->reading.source);
    rue_sampler_close(&loader->options.sampler);
    free(loader->crew.workers);
    free(loader->slots);
    free(loader);
}
