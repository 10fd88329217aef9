/* Replays a trial batch by batch: what workers took to load each batch, and what the consumer took for it,
 * were measured; the schedule follows, of the same trial, of a longer one, or of one with another model or
 * prefetch_factor. No parameter is fitted. The rules are those of the loader's threads (pipeline.h): whoever
 * is free takes the next ticket, which is a whole batch or, with parallelism = sample, an image; without
 * workers loading and computing take turns. */
#ifndef RUE_REPLAY_H
#define RUE_REPLAY_H

#include "pipeline.h"
#include "trial.h"

struct rue_replay {
    struct rue_config config;   /* batch_size, num_workers and parallelism as measured */
    uint64_t measured_images;   /* at least 1 */
    size_t measured;            /* their batches */
    const uint64_t *load_ns;    /* [measured] of all workers summed; borrowed */
    const uint64_t *consume_ns; /* [measured] of the consumer's thread; borrowed */
    uint64_t images;   /* to replay, at least 1: after the last measured batch comes the first again */
    double start_s;    /* until workers load */
    double shutdown_s; /* after the last batch */
};

/* The trial as it was measured. RUE_USAGE when it has no details of every batch. The result is borrowed for
 * the replay's life. */
rue_status rue_replay_of(const struct rue_trial_result *result, struct rue_replay *out,
                         rue_error *error) RUE_MUST_CHECK;

/* RUE_USAGE for more than RUE_BATCH_TIMES_MAX batches; RUE_MEMORY. */
rue_status rue_replay_predict(const struct rue_replay *replay, struct rue_pipeline_times *out,
                              rue_error *error) RUE_MUST_CHECK;

#endif
