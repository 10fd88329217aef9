/* Runs of the loader, and of as many threads that do its work without one. */
#ifndef RUE_LOADER_BENCH_H
#define RUE_LOADER_BENCH_H

#include <pthread.h>
#include <unistd.h>

#include "bench.h"
#include "loader.h"
#include "machine.h"

struct loader_bench {
    const struct rue_source *source;
    struct rue_loader_options options;
    double first_batch_s; /* of the last run */
};

static inline struct loader_bench loader_bench_make(const struct rue_source *source, int batch_size,
                                                    int num_workers, enum rue_parallelism parallelism,
                                                    uint64_t images, bool shuffle)
{
    struct loader_bench bench = {.source = source};
    bench.options = (struct rue_loader_options){
        .sampler = {.shuffle = shuffle, .seed = 1, .world_size = 1},
        .images = images,
        .fetcher = {.dtype = RUE_FLOAT32, .max_pixels = UINT64_C(1) << 28},
        .max_held = 1,
    };
    bench.options.batch_size = batch_size;
    bench.options.num_workers = num_workers;
    bench.options.prefetch_factor = 2;
    bench.options.parallelism = parallelism;
    return bench;
}

/* Images a second from just before the loader is opened until they are joined. */
static inline double loader_bench_run(void *context)
{
    struct loader_bench *bench = context;
    struct rue_loader *loader;
    struct rue_batch *batch;
    rue_error error = {0};
    double start = bench_now();
    bench->first_batch_s = 0;
    bench_check(rue_loader_open(bench->source, &bench->options, &loader, &error), &error);
    for (;;) {
        bench_check(rue_loader_next(loader, &batch, &error), &error);
        if (!batch) break;
        if (bench->first_batch_s == 0) bench->first_batch_s = bench_now() - start;
        rue_loader_release(loader, batch);
    }
    rue_loader_stop(loader);
    double elapsed = bench_now() - start;
    rue_loader_close(loader);
    return (double)bench->options.images / elapsed;
}

/* Threads that share the items but nothing else: what each does is up to `work`, given the item and memory
 * for a batch of tensors of its own, of which tensor `turn` is to be filled. */
struct thread_bench {
    int threads;
    uint64_t items, step; /* item i of the work is item i * step of the data */
    size_t slab_tensors;
    void *(*open)(void *context); /* for each thread, before the clock starts */
    void (*work)(void *state, uint64_t item, float *tensor);
    void (*close)(void *state);
    void *context;
};

struct thread_bench_worker {
    const struct thread_bench *bench;
    pthread_barrier_t *barrier;
    void *state;
    float *slab;
    uint64_t first;
};

static inline void *thread_bench_work(void *argument)
{
    struct thread_bench_worker *worker = argument;
    const struct thread_bench *bench = worker->bench;
    pthread_barrier_wait(worker->barrier);
    uint64_t turn = 0;
    for (uint64_t i = worker->first; i < bench->items; i += (uint64_t)bench->threads, turn++)
        bench->work(worker->state, i * bench->step,
                    worker->slab + turn % bench->slab_tensors * RUE_TENSOR_ITEMS);
    pthread_barrier_wait(worker->barrier);
    return NULL;
}

/* Items a second of all threads together. */
static inline double thread_bench_run(void *context)
{
    const struct thread_bench *bench = context;
    struct thread_bench_worker *workers = calloc((size_t)bench->threads, sizeof *workers);
    pthread_t *threads = calloc((size_t)bench->threads, sizeof *threads);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)bench->threads + 1);
    size_t bytes = bench->slab_tensors * RUE_TENSOR_ITEMS * sizeof(float);
    for (int i = 0; i < bench->threads; i++) {
        workers[i] =
            (struct thread_bench_worker){bench, &barrier, bench->open(bench->context), NULL, (uint64_t)i};
        workers[i].slab = rue_slab_allocator_default.allocate(NULL, bytes);
        pthread_create(&threads[i], NULL, thread_bench_work, &workers[i]);
    }
    pthread_barrier_wait(&barrier);
    double start = bench_now();
    pthread_barrier_wait(&barrier);
    double elapsed = bench_now() - start;
    for (int i = 0; i < bench->threads; i++) {
        pthread_join(threads[i], NULL);
        bench->close(workers[i].state);
        rue_slab_allocator_default.release(NULL, workers[i].slab, bytes);
    }
    pthread_barrier_destroy(&barrier);
    free(threads);
    free(workers);
    return (double)bench->items / elapsed;
}

static inline int bench_cpus(void)
{
    return rue_machine_read().usable_cpus;
}

#endif
