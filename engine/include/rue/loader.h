/* A loader fills batches in the order of the sampler. The consumer borrows each batch with rue_loader_next
 * and returns it with rue_loader_release, in any order. Threads and batch buffers (slabs) are made once and
 * serve all epochs.
 *
 * num_workers = 0 loads in the thread that calls rue_loader_next. With W >= 1 workers at most
 * min(W * prefetch_factor, max_queue_size) batches are in flight: being loaded, or loaded and not yet
 * delivered.
 * RUE_PARALLEL_BATCH: each worker loads whole batches. RUE_PARALLEL_SAMPLE: the workers share each batch,
 * item by item. The batches and their order do not depend on the number of workers or the parallelism, if
 * the strategy does not change their size. The order of the items never does.
 *
 * The loader does not compare the records of a tensor file with their CRC-32C: call rue_source_verify once.
 *
 * States of a loader:
 *
 *     open ---> loading ---(the last batch is delivered)---> ended
 *                ^   \-----(a batch could not be loaded)---> failed
 *                 \_____________ rewind, from these three __________/
 *
 *     stop: from all of them to stopped     close: from all of them to closed
 *
 * Open allocates the memory, starts the workers and begins the first epoch. Rewind begins another one by the
 * same function. It can come in the middle of an epoch: batches that were not delivered are dropped, each
 * worker ends after its current item. Batches that the consumer holds stay valid in every state, until they
 * are released; the last release after close frees the loader.
 *
 * Threads: one thread calls next and rewind; any thread may call release and bad_images; one other thread may
 * call stop. */
#ifndef RUE_LOADER_H
#define RUE_LOADER_H

#include "fetcher.h"
#include "loading.h"
#include "sampler.h"

struct rue_loader;

/* Allocates the slabs. `allocate` returns memory aligned to 4096 bytes, or NULL on failure. The allocator
 * must live until the last batch is released. */
struct rue_slab_allocator {
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *slab, size_t bytes);
    void *context;
    /* (optional) Gives the memory of a slab after its first `used` bytes back to the system, until it is used
     * again. */
    void (*trim)(void *context, void *slab, size_t used, size_t bytes);
    const char *memory_kind; /* (optional) for messages: "page-locked memory" */
};

/* The free memory, for RUE_BATCHES_MEMORY. `free_bytes` is called while the loader's lock is held. */
struct rue_memory_probe {
    uint64_t (*free_bytes)(void *context);
    void *context;
    uint64_t total_bytes; /* of which 10 % and 20 % are the limits */
};

/* Anonymous memory, in huge pages where the system has them. Whoever writes to a page first populates it: the
 * workers. */
extern const struct rue_slab_allocator rue_slab_allocator_default;

enum {
    RUE_BATCH_SIZE_MAX = 65536,
    RUE_NUM_WORKERS_MAX = 256,
    RUE_PREFETCH_FACTOR_MAX = 64,
    RUE_MAX_QUEUE_SIZE_MAX = 16384
};

/* Largest items: 4 GiB of float32. */
enum { RUE_ITEM_VALUES_MAX = 1 << 30 };

struct rue_loader_options {
    int batch_size; /* 1 to RUE_BATCH_SIZE_MAX; the largest, if the strategy changes it */
    enum rue_batch_strategy batch_strategy;
    const struct rue_memory_probe *memory; /* (optional) NULL: that of the machine and its control group */
    int num_workers;                       /* 0 to RUE_NUM_WORKERS_MAX */
    int prefetch_factor;                   /* 1 to RUE_PREFETCH_FACTOR_MAX; without workers ignored */
    int max_queue_size;                    /* 0 (no cap) to RUE_MAX_QUEUE_SIZE_MAX; without workers ignored */
    enum rue_parallelism parallelism;      /* without workers ignored */
    struct rue_sampler sampler;            /* the loader opens and closes a copy of it */
    uint64_t images;     /* of an epoch or job: positions 0 to images - 1 of the sampler; at least 1 */
    uint64_t first;      /* position of the first image to deliver, 0 to images: a job continues there */
    uint64_t job_images; /* memory_bytes is checked for a job of this length; 0: images */
    bool drop_last;      /* skip a last batch that is not full */
    bool continues;      /* begin to load the next epoch before this one ends: see rue_loader_rewind */
    struct rue_fetcher_options fetcher;
    uint64_t item_values;  /* of one item, for rue_loader_slab_bytes; the loader reads it from the source */
    uint64_t memory_bytes; /* limit on the memory of the slabs and of the source's decoded chunks; 0: none */
    int max_held;          /* batches that the consumer may hold at the same time, at least 1 */
    const struct rue_slab_allocator *allocator; /* (optional) NULL: the default */
    /* (optional) [rue_loader_batches, of `first` 0], zeros: the loader adds the time that all workers
     * together spend on each batch. Element i is complete when batch i is delivered; epochs add up. Must live
     * until the loader is closed. */
    uint64_t *batch_load_ns;
};

/* A batch. The loader owns it; the consumer may read and write it until rue_loader_release. */
struct rue_batch {
    uint64_t index; /* 0, 1, ... since the loader was opened or rewound */
    uint64_t epoch; /* of the sampler or of the rewind; positions are counted from its beginning */
    uint64_t first; /* position of its first image in the order of the sampler */
    size_t count;   /* images: batch_size, or fewer in the last batch or by the strategy */
    size_t queued;  /* batches loaded when rue_loader_next was called; 0: it waited, or has no workers */
    /* [count] of the shape and dtype of the fetcher; of several views all [count] of the first, then of the
       second, ... */
    void *images;
    int32_t *labels; /* [count] */
    uint64_t *items; /* [count] their numbers in the data, after the replacement of damaged images */
};

/* The order of its items: the sampler of the options, with turns of batch_size for RUE_BATCHES_ROUND_ROBIN.
 * rue_sampler_open opens it for data. */
struct rue_sampler rue_loader_sampler(const struct rue_loader_options *options);

/* Number of batches and of images that a loader with these options delivers, from `first` on. With a strategy
 * that changes the size of batches it is the largest possible number of batches. */
uint64_t rue_loader_batches(const struct rue_loader_options *options);
uint64_t rue_loader_images(const struct rue_loader_options *options);

/* Memory of the slabs that the job needs: the batches in flight of the job + max_held slabs. */
uint64_t rue_loader_slab_bytes(const struct rue_loader_options *options);

/* `source` must stay open until the loader is closed; `options` is copied. Loading begins at once. RUE_USAGE:
 * an option is out of range, drop_last leaves no batch, or the rank has nothing to load. RUE_INFEASIBLE: the
 * slabs and rue_source_cache_bytes exceed memory_bytes, or the slabs cannot be allocated, or a thread not be
 * started. Also the errors of rue_fetcher_open. */
rue_status rue_loader_open(const struct rue_source *source, const struct rue_loader_options *options,
                           struct rue_loader **out, rue_error *error) RUE_MUST_CHECK;

/* Begins `epoch` at position `first`, as if the loader were opened with them. Does not wait for loading. If
 * the loader `continues` and this is the beginning of the next epoch, its batches that are in flight or
 * loaded already are kept, so it begins without a pause; else they are dropped. RUE_USAGE:
 * `first` is larger than images, and nothing changes. RUE_INTERRUPTED: the loader was stopped. */
rue_status rue_loader_rewind(struct rue_loader *loader, uint64_t epoch, uint64_t first,
                             rue_error *error) RUE_MUST_CHECK;

/* Waits for the next batch and sets `*out` to it, or to NULL after the last one. One thread only, which must
 * hold fewer than `max_held` batches. RUE_INTERRUPTED: the loader was stopped. Also the errors of
 * rue_fetcher_fetch; RUE_DATA names the damaged item. After an error all calls return the same error, until
 * the loader is rewound. */
rue_status rue_loader_next(struct rue_loader *loader, struct rue_batch **out,
                           rue_error *error) RUE_MUST_CHECK;

/* The same, but after `timeout_ns` it returns RUE_TIMEOUT without an error message, and the next call
 * continues. 0 does not wait, UINT64_MAX waits without limit. Without workers it returns after an item, at
 * least one. */
rue_status rue_loader_next_within(struct rue_loader *loader, uint64_t timeout_ns, struct rue_batch **out,
                                  rue_error *error) RUE_MUST_CHECK;

/* Returns a batch to the loader. Thread-safe; does not wait for loading. Allowed after rue_loader_close. */
void rue_loader_release(struct rue_loader *loader, struct rue_batch *batch);

/* Stops and joins the workers. Each worker finishes its current item and its reads. May be called twice. */
void rue_loader_stop(struct rue_loader *loader);

/* Number of images so far that could not be decoded. If it is not 0, `example` (may be NULL) describes one of
 * them, with its name. Thread-safe. */
uint64_t rue_loader_bad_images(struct rue_loader *loader, rue_error *example);

/* Stops the loader and frees it. Batches that the consumer holds, and what is needed to release them, are
 * freed with the last of them. */
void rue_loader_close(struct rue_loader *loader);

#endif
