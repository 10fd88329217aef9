#include "loader.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "batch_plan.h"
#include "batch_reader.h"
#include "clock.h"
#include "loader_sizes.h"
#include "slab_pool.h"

enum { WORKER_STACK_BYTES = 1 << 20 };

#define STOPPED "the loader was stopped"

/* A batch that is being loaded, or is loaded and not yet delivered. */
struct slot {
    struct rue_batch *batch; /* NULL: none */
    atomic_size_t remaining; /* tickets that are not done yet */
    atomic_bool dropped;     /* it will not be delivered */
    rue_error error;         /* error of the first item that failed */
};

struct worker {
    struct rue_loader *loader;
    struct rue_batch_reader *reader;
    struct slot *slot; /* of the ticket that it loads; NULL: none */
    pthread_t thread;
};

/* The sizes of an epoch; constant. */
struct sizes {
    uint64_t window;
    size_t batch_size, item_bytes, slab_bytes;
    size_t grain; /* items of one ticket, which a worker claims at once */
    uint64_t tickets_of_batch;
};

struct crew {
    struct worker *workers; /* [count]; with num_workers = 0 one worker without a thread */
    size_t count;
    atomic_size_t started;
};

/* Read by workers without the lock. Written under the lock, except the ticket, so no wait misses a change.
 * Batches and tickets are counted over all epochs, so a worker that is late cannot claim a ticket twice. */
struct work {
    atomic_uint_least64_t ticket; /* the next to claim; tickets follow the order of the batches */
    atomic_uint_least64_t begun;  /* batches that may be loaded, so far */
    atomic_size_t sleepers;       /* workers that wait for work */
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
    uint64_t delivered;            /* batches delivered or dropped so far */
    uint64_t epoch, undelivered;   /* the epoch that is delivered, and its images that were not */
    rue_error failure;             /* every rue_loader_next returns it */
    bool waited;                   /* an earlier call waited for the next batch */
    bool stopped, closed;
};

/* ---- loading ---- */

/* Needs the lock. */
static struct rue_batch *acquire_slab(struct rue_loader *loader)
{
    struct rue_batch *batch = rue_slab_pool_acquire(&loader->pool);
    size_t before = batch->count;
    rue_batch_plan_next(&loader->plan, batch);
    if (batch->count < before && loader->options.batch_strategy == RUE_BATCHES_MEMORY)
        rue_slab_pool_trim(&loader->pool, batch, batch->count * loader->sizes.item_bytes);
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

/* Needs the lock. Whether there are more batches to begin: of the epoch, or of the next one. */
static bool plan_batches(struct rue_loader *loader)
{
    struct rue_batch_plan *plan = &loader->plan;
    if (loader->options.continues && rue_batch_plan_is_complete(plan) && plan->epoch == loader->epoch)
        rue_batch_plan_begin(plan, &loader->options, plan->epoch + 1, 0);
    return !rue_batch_plan_is_complete(plan);
}

/* Needs the lock. Begins as many batches as the window and the free slabs allow. */
static void begin_batches(struct rue_loader *loader)
{
    uint64_t begun = loader->work.begun, limit = loader->delivered + loader->sizes.window;
    if (loader->stopped) return;
    for (; plan_batches(loader) && begun < limit && loader->pool.free_count > 0; begun++) {
        struct slot *slot = &loader->slots[begun % loader->sizes.window];
        if (slot->batch) break; /* it was dropped, and a worker still loads an item of it */
        slot->batch = acquire_slab(loader);
        slot->remaining = loader->sizes.tickets_of_batch;
        slot->dropped = false;
        rue_error_clear(&slot->error);
        loader->work.begun = begun + 1;
    }
    wake_worker(loader);
}

/* Needs the lock. Returns the slab of a batch that was dropped, if no worker loads it. */
static void free_slot(struct rue_loader *loader, struct slot *slot)
{
    if (!slot->batch || !slot->dropped || slot->remaining > 0) return;
    rue_slab_pool_release(&loader->pool, slot->batch);
    slot->batch = NULL;
}

/* Needs the lock. Drops all batches that were not delivered. */
static void drop_batches(struct rue_loader *loader)
{
    uint64_t begun = loader->work.begun, tickets = loader->sizes.tickets_of_batch;
    uint64_t claimed = atomic_exchange(&loader->work.ticket, begun * tickets);
    for (; loader->delivered < begun; loader->delivered++) {
        struct slot *slot = &loader->slots[loader->delivered % loader->sizes.window];
        uint64_t end = (loader->delivered + 1) * tickets, unclaimed = claimed < end ? end - claimed : 0;
        slot->dropped = true;
        slot->remaining -= unclaimed < tickets ? unclaimed : tickets;
        free_slot(loader, slot);
    }
    rue_batch_sizer_drop(&loader->plan.sizer);
}

/* Claims the next ticket; false: there is none now. */
static bool claim_ticket(struct rue_loader *loader, uint64_t *out)
{
    *out = loader->work.ticket;
    while (has_work(loader))
        if (atomic_compare_exchange_weak(&loader->work.ticket, out, *out + 1)) return true;
    return false;
}

/* Waits for work. False: the loader was stopped. */
static bool wait_for_work(struct rue_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->work.sleepers++;
    while (!has_work(loader) && !loader->stopped) {
        pthread_cond_wait(&loader->work_available, &loader->lock);
        loader->work.waking = false;
    }
    loader->work.sleepers--;
    bool stopped = loader->stopped;
    pthread_mutex_unlock(&loader->lock);
    return !stopped;
}

static void set_failed(struct rue_loader *loader, struct slot *slot, const rue_error *error)
{
    pthread_mutex_lock(&loader->lock);
    rue_fail(&slot->error, error->status, "%s", error->message);
    pthread_mutex_unlock(&loader->lock);
}

/* Begins to load the items of a ticket. A small batch has none for its last tickets. */
static void begin_ticket(struct worker *worker, uint64_t ticket)
{
    const struct sizes *sizes = &worker->loader->sizes;
    struct slot *slot = &worker->loader->slots[ticket / sizes->tickets_of_batch % sizes->window];
    size_t position = (size_t)(ticket % sizes->tickets_of_batch) * sizes->grain, items = slot->batch->count;
    size_t count = position >= items ? 0 : items - position < sizes->grain ? items - position : sizes->grain;
    worker->slot = slot;
    rue_batch_reader_begin(worker->reader, slot->batch, position, count, &slot->dropped);
}

/* Loads the items of the worker's ticket. False: the deadline passed before the last of them. */
static bool load_ticket(struct worker *worker, uint64_t deadline_ns)
{
    struct rue_loader *loader = worker->loader;
    struct slot *slot = worker->slot;
    rue_error error = {0};
    rue_status status = rue_batch_reader_load(worker->reader, deadline_ns, &error);
    if (status == RUE_TIMEOUT) return false;
    if (status != RUE_OK) set_failed(loader, slot, &error);
    worker->slot = NULL;
    if (atomic_fetch_sub(&slot->remaining, 1) > 1) return true;
    pthread_mutex_lock(&loader->lock);
    free_slot(loader, slot);
    begin_batches(loader);
    pthread_cond_signal(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
    return true;
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    struct rue_loader *loader = worker->loader;
    uint64_t ticket;
    do {
        while (claim_ticket(loader, &ticket)) {
            wake_next_worker(loader);
            begin_ticket(worker, ticket);
            load_ticket(worker, UINT64_MAX);
        }
    } while (wait_for_work(loader));
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

static rue_status start_workers(struct rue_loader *loader, rue_error *error)
{
    pthread_attr_t attributes;
    if (loader->options.num_workers == 0) return RUE_OK;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    int failed = 0;
    for (; !failed && loader->crew.started < loader->crew.count; loader->crew.started += !failed) {
        struct worker *worker = &loader->crew.workers[loader->crew.started];
        failed = pthread_create(&worker->thread, &attributes, run_worker, worker);
    }
    pthread_attr_destroy(&attributes);
    if (!failed) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE, "could start only %zu of %zu worker threads: %s%s",
                    loader->crew.started, loader->crew.count, strerror(failed), rue_advice(failed));
}

static struct sizes choose_sizes(const struct rue_loader_options *options, size_t item_bytes)
{
    size_t batch = (size_t)options->batch_size;
    bool by_item = options->parallelism == RUE_PARALLEL_SAMPLE && options->num_workers > 0;
    return (struct sizes){.window = rue_loader_window(options, options->images),
                          .batch_size = batch,
                          .item_bytes = item_bytes,
                          .slab_bytes = batch * item_bytes,
                          .grain = by_item ? 1 : batch,
                          .tickets_of_batch = by_item ? batch : 1};
}

/* Initialises the locks. The consumer's waits end by the monotonic clock. */
static void open_locks(struct rue_loader *loader)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_mutex_init(&loader->reading.lock, NULL);
    pthread_cond_init(&loader->work_available, NULL);
    pthread_cond_init(&loader->ready, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static rue_status open_memory(struct rue_loader *loader, rue_error *error)
{
    const struct rue_loader_options *options = &loader->options;
    loader->slots = calloc(loader->sizes.window, sizeof *loader->slots);
    if (!loader->slots) return rue_fail_memory(error, "slots", loader->sizes.window * sizeof *loader->slots);
    rue_status status = rue_slab_pool_open(&loader->pool, options->allocator,
                                           (size_t)rue_loader_slabs(options, options->images),
                                           loader->sizes.batch_size, loader->sizes.slab_bytes, error);
    return status == RUE_OK ? open_workers(loader, error) : status;
}

rue_status rue_loader_open(const struct rue_source *source, const struct rue_loader_options *given,
                           struct rue_loader **out, rue_error *error)
{
    struct rue_loader_options options = *given;
    const struct rue_item_shape item = rue_fetcher_shape(source, &options.fetcher);
    options.item_values = item.all_values;
    options.sampler = rue_loader_sampler(given);
    options.fetcher.access = rue_fetcher_access(source, given->fetcher.access); /* the same for all workers */
    if (!options.allocator) options.allocator = &rue_slab_allocator_default;
    rue_status status = rue_loader_check(&options, rue_source_cache_bytes(source), error);
    if (status != RUE_OK) return status;
    struct rue_loader *loader = calloc(1, sizeof *loader);
    if (!loader) return rue_fail_memory(error, "a loader", sizeof *loader);
    status = rue_sampler_open(&options.sampler, source, error);
    if (status != RUE_OK) return free(loader), status;
    rue_source_trim(source); /* what an earlier loader decoded */
    loader->options = options;
    loader->sizes = choose_sizes(&options, options.item_values * rue_dtype_bytes[options.fetcher.dtype]);
    loader->plan = rue_batch_plan_make(&loader->options);
    loader->reading.source = source;
    loader->reading.options = &loader->options;
    loader->reading.item = item;
    open_locks(loader);
    status = open_memory(loader, error);
    loader->options.fetcher.views = NULL; /* the fetchers have copies */
    if (status == RUE_OK) status = rue_loader_rewind(loader, options.sampler.epoch, options.first, error);
    if (status == RUE_OK) status = start_workers(loader, error);
    if (status != RUE_OK) return rue_loader_close(loader), status;
    *out = loader;
    return RUE_OK;
}

/* Without workers: ends a ticket whose batch was dropped. */
static void end_ticket(struct rue_loader *loader)
{
    if (loader->options.num_workers == 0 && loader->crew.workers && loader->crew.workers[0].slot)
        load_ticket(&loader->crew.workers[0], UINT64_MAX);
}

rue_status rue_loader_rewind(struct rue_loader *loader, uint64_t epoch, uint64_t first, rue_error *error)
{
    uint64_t images = loader->options.images;
    if (first > images)
        return rue_fail(error, RUE_USAGE, "an epoch of %llu images cannot begin at image %llu",
                        (unsigned long long)images, (unsigned long long)first);
    pthread_mutex_lock(&loader->lock);
    bool stopped = loader->stopped;
    if (!stopped) {
        bool follows = !loader->undelivered && first == 0 && epoch == loader->epoch + 1;
        if (!follows || loader->plan.epoch != epoch) {
            drop_batches(loader);
            rue_batch_plan_begin(&loader->plan, &loader->options, epoch, first);
        }
        rue_error_clear(&loader->failure);
        loader->waited = false;
        loader->epoch = epoch;
        loader->undelivered = rue_batch_plan_images(&loader->options, images - first);
        begin_batches(loader);
    }
    pthread_mutex_unlock(&loader->lock);
    end_ticket(loader);
    return stopped ? rue_fail(error, RUE_INTERRUPTED, STOPPED) : RUE_OK;
}

void rue_loader_stop(struct rue_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    if (loader->undelivered) rue_fail(&loader->failure, RUE_INTERRUPTED, STOPPED);
    loader->stopped = true;
    drop_batches(loader);
    pthread_cond_broadcast(&loader->work_available);
    pthread_cond_broadcast(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
    for (size_t i = 0; i < loader->crew.started; i++) pthread_join(loader->crew.workers[i].thread, NULL);
    loader->crew.started = 0;
}

static void free_loader(struct rue_loader *loader)
{
    pthread_cond_destroy(&loader->work_available);
    pthread_cond_destroy(&loader->ready);
    pthread_mutex_destroy(&loader->lock);
    pthread_mutex_destroy(&loader->reading.lock);
    free(loader);
}

void rue_loader_close(struct rue_loader *loader)
{
    if (!loader) return;
    rue_loader_stop(loader);
    end_ticket(loader);
    for (size_t i = 0; i < loader->crew.count; i++) rue_batch_reader_close(loader->crew.workers[i].reader);
    rue_source_trim(loader->reading.source);
    rue_sampler_close(&loader->options.sampler);
    free(loader->crew.workers);
    free(loader->slots);
    pthread_mutex_lock(&loader->lock);
    loader->closed = true;
    bool last = rue_slab_pool_close(&loader->pool);
    pthread_mutex_unlock(&loader->lock);
    if (last) free_loader(loader);
}

/* ---- delivery ---- */

/* Needs the lock. Number of batches that can be delivered without waiting. */
static size_t count_queued(const struct rue_loader *loader)
{
    uint64_t batch = loader->delivered, begun = loader->work.begun;
    while (batch < begun && loader->slots[batch % loader->sizes.window].remaining == 0) batch++;
    return (size_t)(batch - loader->delivered);
}

/* Needs the lock. Waits for a change, or without workers loads items. False: the deadline passed first. */
static bool wait_for_change(struct rue_loader *loader, uint64_t deadline_ns)
{
    struct worker *worker = &loader->crew.workers[0];
    if (loader->options.num_workers == 0 && (worker->slot || has_work(loader))) {
        uint64_t ticket;
        pthread_mutex_unlock(&loader->lock);
        if (!worker->slot && claim_ticket(loader, &ticket)) begin_ticket(worker, ticket);
        bool done = !worker->slot || load_ticket(worker, deadline_ns);
        pthread_mutex_lock(&loader->lock);
        return done;
    }
    if (deadline_ns == UINT64_MAX) return pthread_cond_wait(&loader->ready, &loader->lock) == 0;
    const struct timespec until = {(time_t)(deadline_ns / 1000000000), (long)(deadline_ns % 1000000000)};
    return deadline_ns && pthread_cond_timedwait(&loader->ready, &loader->lock, &until) == 0;
}

/* Needs the lock. Waits until the next batch is loaded. */
static rue_status wait_loaded(struct rue_loader *loader, const struct slot *slot, uint64_t deadline_ns)
{
    while (!loader->stopped && (loader->work.begun <= loader->delivered || slot->remaining > 0))
        if (!wait_for_change(loader, deadline_ns)) return RUE_TIMEOUT;
    if (!loader->stopped && slot->error.status != RUE_OK)
        rue_fail(&loader->failure, slot->error.status, "%s", slot->error.message);
    return loader->failure.status;
}

/* Needs the lock. Delivers the next batch, if there is one. */
static rue_status deliver_batch(struct rue_loader *loader, uint64_t deadline_ns, struct rue_batch **out)
{
    struct slot *slot = &loader->slots[loader->delivered % loader->sizes.window];
    if (loader->failure.status != RUE_OK || !loader->undelivered) return loader->failure.status;
    size_t queued = loader->waited ? 0 : count_queued(loader);
    rue_status status = wait_loaded(loader, slot, deadline_ns);
    loader->waited = status == RUE_TIMEOUT;
    if (status != RUE_OK) return status;
    *out = slot->batch;
    slot->batch->queued = loader->options.num_workers ? queued : 0;
    loader->delivered++;
    loader->undelivered -= slot->batch->count;
    slot->batch = NULL;
    rue_batch_plan_observe(&loader->plan, *out);
    begin_batches(loader);
    return RUE_OK;
}

rue_status rue_loader_next_within(struct rue_loader *loader, uint64_t timeout_ns, struct rue_batch **out,
                                  rue_error *error)
{
    uint64_t deadline_ns = timeout_ns;
    bool forever = timeout_ns && __builtin_add_overflow(rue_clock_now_ns(), timeout_ns, &deadline_ns);
    *out = NULL;
    pthread_mutex_lock(&loader->lock);
    rue_status status = deliver_batch(loader, forever ? UINT64_MAX : deadline_ns, out);
    if (status != RUE_OK && status != RUE_TIMEOUT) rue_fail(error, status, "%s", loader->failure.message);
    pthread_mutex_unlock(&loader->lock);
    return status;
}

rue_status rue_loader_next(struct rue_loader *loader, struct rue_batch **out, rue_error *error)
{
    return rue_loader_next_within(loader, UINT64_MAX, out, error);
}

void rue_loader_release(struct rue_loader *loader, struct rue_batch *batch)
{
    pthread_mutex_lock(&loader->lock);
    rue_slab_pool_release(&loader->pool, batch);
    bool last = loader->closed && rue_slab_pool_close(&loader->pool);
    begin_batches(loader);
    pthread_cond_signal(&loader->ready); /* a consumer without workers may wait for a slab */
    pthread_mutex_unlock(&loader->lock);
    if (last) free_loader(loader);
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
