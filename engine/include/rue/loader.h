/* The loader: worker threads fill reused slabs with batches in the sampler's order; the consumer borrows them
 * with `next` and hands them back with `release`, in any order.
 *
 * num_workers = 0 loads in the thread that calls `next`. With W >= 1 workers at most W * prefetch_factor
 * batches are in flight: loading, or loaded and not yet taken. parallelism = batch: a worker loads whole
 * batches; sample: the workers share each batch, item by item. Both deliver the same bytes in the same order,
 * whatever the number of workers.
 *
 * Items are checked by decoding them; records of a tensor file are not compared with their CRC-32C here: that
 * is rue_source_verify's work, once, before they are loaded again and again.
 *
 * Life: open (allocates everything), start (starts the workers), next/release ..., stop (joins them), close.
 */
#ifndef RUE_LOADER_H
#define RUE_LOADER_H

#include "fetcher.h"
#include "loading.h"
#include "sampler.h"

struct rue_loader;

/* Where slabs come from. `allocate` may answer NULL. Alignment: 4096 bytes. */
struct rue_slab_allocator {
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *slab, size_t bytes);
    void *context;
    const char *what; /* (optional) that memory, for messages: "page-locked memory" */
};

extern const struct rue_slab_allocator rue_slab_allocator_default;

enum { RUE_BATCH_SIZE_MAX = 65536, RUE_NUM_WORKERS_MAX = 256, RUE_PREFETCH_FACTOR_MAX = 64 };

struct rue_loader_options {
    int batch_size;                   /* 1 to RUE_BATCH_SIZE_MAX */
    int num_workers;                  /* 0 to RUE_NUM_WORKERS_MAX */
    int prefetch_factor;              /* 1 to RUE_PREFETCH_FACTOR_MAX; without workers it means nothing */
    enum rue_parallelism parallelism; /* likewise */
    struct rue_sampler sampler;       /* its `items` is filled in from the source */
    uint64_t images;                  /* to deliver, from position 0 of the sampler on; at least 1 */
    uint64_t job_images;              /* of the job that memory is judged for; 0: images */
    bool drop_last;                   /* leave out a last batch that is not full */
    struct rue_fetcher_options fetcher;
    uint64_t memory_bytes; /* slabs that would need more are RUE_INFEASIBLE; 0: no limit */
    int max_held;          /* batches that the consumer may hold at once, at least 1 */
    const struct rue_slab_allocator *allocator; /* (optional) NULL: the default */
    /* (optional) [batches], 0 before: what workers spend on loading each batch is added, all of them summed;
     * of batch i it is complete when the batch is lent. Borrowed for the loader's life. */
    uint64_t *batch_load_ns;
};

/* A batch on loan: read-only for the consumer, valid until it is released. */
struct rue_batch {
    uint64_t index;  /* 0, 1, ... */
    size_t count;    /* images: batch_size, fewer in the last batch */
    void *images;    /* [count] tensors, CHW, of the fetcher's dtype */
    int32_t *labels; /* [count] */
};

/* Batches and images that the options make; images = batches * batch_size but for the last batch. */
uint64_t rue_loader_batches(const struct rue_loader_options *options);
uint64_t rue_loader_images(const struct rue_loader_options *options);

/* Bytes of the slabs that the job needs: min(W * prefetch_factor, batches of the job) + max_held. */
uint64_t rue_loader_slab_bytes(const struct rue_loader_options *options);

/* `source` is borrowed for the loader's life. RUE_INFEASIBLE with the figures when the slabs do not fit the
 * limit or the allocator has none; RUE_USAGE when drop_last leaves no batch; RUE_DATA, RUE_MEMORY. */
rue_status rue_loader_open(const struct rue_source *source, const struct rue_loader_options *options,
                           struct rue_loader **out, rue_error *error) RUE_MUST_CHECK;

/* Starts the workers, once. RUE_INFEASIBLE when the system refuses threads; those that did start are stopped.
 */
rue_status rue_loader_start(struct rue_loader *loader, rue_error *error) RUE_MUST_CHECK;

/* Lends the next batch; `*out` is NULL after the last one. Blocks until it is loaded. Only one thread may
 * call it, and it must hold fewer than `max_held` batches. RUE_DATA names the damaged item.
 * After an error every call fails alike; after `stop` with RUE_INTERRUPTED. */
rue_status rue_loader_next(struct rue_loader *loader, struct rue_batch **out,
                           rue_error *error) RUE_MUST_CHECK;

/* Takes a batch back. Never blocks for long; any thread. */
void rue_loader_release(struct rue_loader *loader, struct rue_batch *batch);

/* Stops and joins the workers; what they are loading is given up after the current item and the reads
 * that are under way. Idempotent. */
void rue_loader_stop(struct rue_loader *loader);

/* Images so far that could not be decoded. `example` (nullable) is set to what was wrong with one of them,
 * its name included, where there are any. Thread-safe. */
uint64_t rue_loader_bad_images(struct rue_loader *loader, rue_error *example);

/* Stops if need be and frees all; batches on loan become invalid. */
void rue_loader_close(struct rue_loader *loader);

#endif
