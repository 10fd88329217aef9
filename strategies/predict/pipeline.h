/* The pipeline model: the time that a loader and a consumer need together, from a few parameters of each. The
 * loader does not depend on the model, nor the model on the workers. So a few trials of each predict all
 * combinations.
 *
 * Workers load whole batches (parallelism = batch). While n workers are busy, a worker needs S(n) seconds for
 * a batch of k images; for batch i, jitter(i) times that:
 *
 *   S(n) = batch + k * max(item * beside * (1 + contention * (m - 1)) * max(1, (n + c) / CPUs), n * storage)
 *
 * m is n for processes. For threads it is at most the number of CPUs, because a thread without a CPU does not
 * slow others down. c is the number of CPUs that the consumer uses while it computes: 0 when it sleeps or
 * waits for a device. beside is 1 if no model runs.
 *
 *   batch i may start          at once for i < window, else when batch i - window is delivered
 *   it is delivered, in order  when it is loaded and the consumer is done with the batch before
 *   its compute ends           after the consumer's time for k images
 *
 *   jitter(i) is a fixed sequence with a log-normal spread, because waiting for the slowest costs time
 *   window = min(num_workers * prefetch_factor, max_queue_size)
 *   start = start + start_worker * num_workers + warm_up * batch_size * item
 *   the job ends at the end of the last compute + stop_worker * num_workers
 *
 * Processes load batches in round-robin order, as PyTorch's do; threads load the next batch when they are
 * free. Workers that share batches (parallelism = sample) are modelled as one worker that is n times as fast.
 * Without workers, loading and computing alternate, and a batch needs `inline` times the time of one worker:
 * processes also pay for the hand-over, while a library's own threads do not compete. */
#ifndef RUE_PIPELINE_H
#define RUE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "error.h"

/* X(name, meaning). Parameters of the loader; all are positive. */
#define RUE_PIPELINE_PARAMETERS(X)                                                            \
    X(start_s, "before any worker loads")                                                     \
    X(start_worker_s, "to start each worker")                                                 \
    X(batch_s, "of a worker, per batch")                                                      \
    X(item_s, "of a worker that has its own CPU, per image")                                  \
    X(contention_ratio, "how much each other busy worker adds to item_s, as a share")         \
    X(storage_s, "of storage per image, for all workers together")                            \
    X(jitter_ratio, "spread of the batches' times, as a share")                               \
    X(stop_worker_s, "to stop each worker")                                                   \
    X(inline_ratio, "time of a batch without workers over that of one worker")                \
    X(warm_up_ratio, "delay of a worker's first batch, as a share of the time of its images") \
    X(beside_ratio, "time of an image while a model runs over the time without one")

enum rue_pipeline_parameter {
#define X(name, text) RUE_PIPELINE_##name,
    RUE_PIPELINE_PARAMETERS(X)
#undef X
        RUE_PIPELINE_PARAMETER_COUNT
};

struct rue_pipeline_loader {
    double value[RUE_PIPELINE_PARAMETER_COUNT];
    int cpus;         /* shared by the workers, at least 1 */
    bool round_robin; /* worker i loads every num_workers-th batch; else a free worker loads the next */
};

/* The consumer's thread needs batch_s + k * image_s for a batch of k images. */
struct rue_pipeline_consumer {
    double batch_s, image_s;
    double cpu_ratio; /* CPUs that it uses: 0 sleeps, 2 computes on two */
    bool is_model;    /* beside_ratio applies */
};

struct rue_pipeline_times {
    double first_batch_s; /* until batch 0 is delivered */
    double end_to_end_s;  /* until the workers are stopped */
    double shutdown_s;    /* from the end of the last batch to end_to_end_s */
};

/* From the first batch to the last; NaN: the first is unknown. */
static inline double rue_pipeline_middle_s(const struct rue_pipeline_times *times)
{
    return times->end_to_end_s - times->shutdown_s - times->first_batch_s;
}

/* Predicts the times of `images` (at least 1) with `config`; the last batch may be partial. Only the first
 * RUE_PIPELINE_BATCHES_MAX batches are simulated; the others follow at their steady rate. All NaN if out of
 * memory. */
enum { RUE_PIPELINE_BATCHES_MAX = 1024 };
struct rue_pipeline_times rue_pipeline_predict(const struct rue_pipeline_loader *loader,
                                               const struct rue_pipeline_consumer *consumer,
                                               const struct rue_config *config, uint64_t images);

#endif
