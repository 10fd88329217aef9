/* The pipeline model: how long a loader and a consumer take together, from a few numbers that say how fast
 * each of them is. The loader does not know the model and the model does not know the workers, so that what a
 * few trials of each tell predicts all of their combinations.
 *
 * Workers load whole batches (parallelism = batch). While n of them are busy, a batch of k images comes
 * nearer to being loaded at a rate of one in
 *
 *   S(n) = batch + k * max(item * beside * (1 + contention * (m - 1)) * max(1, (n + c) / CPUs), n * storage)
 *
 * seconds; it is loaded after vary(i) of that. m is n for processes; for threads, which cost one another
 * nothing while they have no CPU, at most the CPUs. c is the consumer's share of a CPU while it computes:
 * none when it sleeps or waits for a device. beside is 1 where no model is run.
 *
 *   batch i may be begun     at the start; from the window on, when batch i - window is taken
 *   it is taken, in order    when it is loaded and the consumer is done with the one before
 *   its compute ends         after the consumer's time for k images
 *
 *   vary(i) spreads by jitter, evenly over any number of batches: whoever waits for the slowest waits longer
 *   window = num_workers * prefetch_factor
 *   start = start + start_worker * num_workers + warm_up * batch_size * item
 *   the job ends at the end of the last compute + stop_worker * num_workers
 *
 * The worker is the next in turn (processes, as PyTorch has them) or the first that is free (threads). Where
 * workers share each batch (parallelism = sample) they are one that is n times as fast and loads one batch
 * after the other; without workers loading and computing take turns, and a batch takes inline times as long
 * as it takes one worker: processes hand over what they load, and threads of a library are theirs alone. */
#ifndef RUE_PIPELINE_H
#define RUE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "error.h"

/* X(name, what it is). Positive; what the loader is like. */
#define RUE_PIPELINE_PARAMETERS(X)                                                                 \
    X(start_s, "before any worker loads")                                                          \
    X(start_worker_s, "to start each worker")                                                      \
    X(batch_s, "of a worker, for each batch")                                                      \
    X(item_s, "of a worker that has a CPU to itself, for each image")                              \
    X(contention_ratio, "how much each other busy worker adds to that, as a share")                \
    X(storage_s, "for each image, however many workers ask for one")                               \
    X(jitter_ratio, "by how much the times of batches vary, as a share")                           \
    X(stop_worker_s, "to stop each worker")                                                        \
    X(inline_ratio, "of the time of a batch that is loaded without workers to that of one worker") \
    X(warm_up_ratio, "of the time of its images, by which a worker's first batch is late")         \
    X(beside_ratio, "of the time of an image while a model is run beside the workers to that without")

enum rue_pipeline_parameter {
#define X(name, text) RUE_PIPELINE_##name,
    RUE_PIPELINE_PARAMETERS(X)
#undef X
        RUE_PIPELINE_PARAMETER_COUNT
};

struct rue_pipeline_loader {
    double value[RUE_PIPELINE_PARAMETER_COUNT];
    int cpus;         /* that workers share, at least 1 */
    bool round_robin; /* workers take batches in turn, whoever is free */
};

/* What the consumer's thread does with a batch of k images takes batch_s + k * image_s. */
struct rue_pipeline_consumer {
    double batch_s, image_s;
    double cpu_ratio; /* CPUs, meanwhile: 0 sleeps, 2 computes on two */
    bool is_model;    /* its trials are told apart from those of the loader alone */
};

struct rue_pipeline_times {
    double first_batch_s; /* until batch 0 is taken */
    double end_to_end_s;  /* until the workers are stopped */
    double shutdown_s;    /* of it, after the last batch */
};

/* From the first batch to the last; NaN where the first is not known. */
static inline double rue_pipeline_middle_s(const struct rue_pipeline_times *times)
{
    return times->end_to_end_s - times->shutdown_s - times->first_batch_s;
}

/* The times of `images` (at least 1) with `config`; a last batch may be short. Of a job of more batches than
 * RUE_PIPELINE_BATCHES_MAX the first are followed, the others have their pace. All NaN without memory. */
enum { RUE_PIPELINE_BATCHES_MAX = 1024 };
struct rue_pipeline_times rue_pipeline_predict(const struct rue_pipeline_loader *loader,
                                               const struct rue_pipeline_consumer *consumer,
                                               const struct rue_config *config, uint64_t images);

#endif
