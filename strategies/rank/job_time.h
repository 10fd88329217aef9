/* The time of a job from a trial. */
#ifndef RUE_JOB_TIME_H
#define RUE_JOB_TIME_H

#include "trial.h"

/* What rue's own knobs mean for the timeline of a trial. Beside this, only the pipeline model and its probes
 * name these knobs. */

/* Images of a batch. */
static inline uint64_t rue_trial_batch(const struct rue_config *config)
{
    int batch = config->value[RUE_BATCH_SIZE];
    return batch > 0 ? (uint64_t)batch : 1;
}

/* Threads or processes that load; at least 1. */
static inline uint64_t rue_trial_loaders(const struct rue_config *config)
{
    int workers = config->value[RUE_NUM_WORKERS];
    return workers > 0 ? (uint64_t)workers : 1;
}

/* The batches of a wave: batches that are loaded in parallel, so that they arrive together. */
static inline uint64_t rue_trial_wave_batches(const struct rue_config *config)
{
    return config->value[RUE_PARALLELISM] == RUE_PARALLEL_BATCH ? rue_trial_loaders(config) : 1;
}

/* Why an ok trial gives no time of the job: rue_job_time_ns is NaN, or not positive. */
#define RUE_JOB_TIME_UNKNOWN "the trial was too short to estimate the time of the job"

/* The time in ns of a job of `job_images`, from an ok joint `result`; sets `*predicted`. A full trial (all
 * images that the job consumes, with drop_last) gives its own time. A truncated one is extended at its steady
 * rate: exact for whole waves, else off by at most a wave if the rate is even. NaN if the steady rate is
 * unknown. */
double rue_job_time_ns(const struct rue_trial_result *result, uint64_t job_images, bool drop_last,
                       bool *predicted);

/* Extends an ok trial to the job, without the times of its parts. It becomes failed if the time of the job is
 * unknown. */
void rue_job_extend(struct rue_trial_result *result, uint64_t job_images, bool drop_last);

/* The time in ns per image in the steady state of an ok joint `result`, without start-up and shut-down.
 *
 * Let b be the batch size and W the batches of a wave. The steady state begins at i = num_workers *
 * prefetch_factor, the first batch loaded after the initial burst. It ends before the last W batches, which
 * were loaded with fewer busy workers. The time per image is (ready[j] - ready[i]) / (j - i) / b, where j is
 * the largest index in the steady state for which j - i is a multiple of W.
 *
 * If there is no j > i, or `batch_ready_ns` is missing, the time from the first delivery to the last is used:
 * the consumer's time is spread over N - 1 batches, the rest over the ceil(N / W) - 1 waves after the first.
 * A trial of one wave only gives the loading time of that wave; later waves are assumed to be as slow.
 * Without compute_ns, all time is spread evenly. Exact only for even arrivals. NaN if that is unknown, too
 * (no images, one batch, times missing or not increasing). */
double rue_job_steady_ns(const struct rue_trial_result *result);

/* Times of jobs of other lengths, from one trial: a line through its end, with the slope of the steady state.
 * No job is shorter than a job of the first batch alone. */
struct rue_job_line {
    double images, end_ns; /* of the trial; 0 images: unknown */
    double steady_image_ns;
    double first_ns, shutdown_ns, first_images, compute_image_ns; /* first_ns NaN: parts unknown */
};

/* The line of an ok joint `result`. */
struct rue_job_line rue_job_line_from(const struct rue_trial_result *result);

/* The time in ns of a job of `images`, at least 1, with the trial's batch size; NaN: unknown. Off by at most
 * a wave if the trial ran at its steady rate. */
double rue_job_line_ns(const struct rue_job_line *line, uint64_t images);

/* The smallest truncated trial of `config` that shows its steady state: max(8, 4 * num_workers *
 * prefetch_factor) whole batches; at most `job_images`. */
uint64_t rue_job_min_images(const struct rue_config *config, uint64_t job_images);

#endif
