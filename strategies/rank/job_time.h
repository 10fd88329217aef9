/* The course of a trial, and from it to the time of the job. */
#ifndef RUE_JOB_TIME_H
#define RUE_JOB_TIME_H

#include "trial.h"

/* What rue's own knobs mean for the course of a trial. But for the pipeline model and the probes that feed
 * it, strategies hardly name these knobs elsewhere. */

/* Images of a batch. */
static inline uint64_t rue_trial_batch(const struct rue_config *config)
{
    int batch = config->value[RUE_BATCH_SIZE];
    return batch > 0 ? (uint64_t)batch : 1;
}

/* Threads or processes that load, at least 1. */
static inline uint64_t rue_trial_loaders(const struct rue_config *config)
{
    int workers = config->value[RUE_NUM_WORKERS];
    return workers > 0 ? (uint64_t)workers : 1;
}

/* Batches that are loaded side by side and so arrive together: a volley. */
static inline uint64_t rue_trial_wave_batches(const struct rue_config *config)
{
    return config->value[RUE_PARALLELISM] == RUE_PARALLEL_BATCH ? rue_trial_loaders(config) : 1;
}

/* Why an ok trial has no time of the job: rue_job_time_ns is NaN, or not positive. */
#define RUE_JOB_TIME_UNKNOWN "the trial was too short to tell the time of the job"

/* The time in ns of a job of `job_images` that an ok joint `result` stands for; sets `*predicted`. A full
 * trial (result->images >= the images that the job consumes, drop_last minded) is its own answer. The rest of
 * a truncated one goes on in its steady state: off by a volley (below) at most where the pace is even,
 * and not at all where the rest is whole volleys. NaN where the steady state is not known. */
double rue_job_time_ns(const struct rue_trial_result *result, uint64_t job_images, bool drop_last,
                       bool *predicted);

/* An ok trial becomes that of the job, without its parts, or one that failed where its time is not known. */
void rue_job_extend(struct rue_trial_result *result, uint64_t job_images, bool drop_last);

/* The time in ns of an image in the steady state of an ok joint `result`, without start-up and shut-down.
 *
 * Let b be the batch size and W the batches of a volley (above). The steady state
 * is the middle of the trial, from i = num_workers * prefetch_factor, the first batch that was not loaded in
 * the opening burst, to the last batch before the final W, whose loading had fewer and fewer rivals. With j
 * the largest index in it for which j - i is a multiple of W, an image takes (ready[j] - ready[i]) / (j - i)
 * / b.
 *
 * When the trial is too short for j > i, or has no `batch_ready_ns`: between the first delivery and the last,
 * what the consumer takes is spread evenly over the N - 1 batches, and what remains over the ceil(N / W) - 1
 * volleys behind the first. A trial of a single volley tells only how long loading that took, and a later
 * volley is taken to be no faster. Where compute_ns is absent, all is spread evenly. Exact only where
 * arrivals are even. NaN when not even that is known (no images, one batch, times missing or not increasing).
 */
double rue_job_steady_ns(const struct rue_trial_result *result);

/* The times of jobs of other lengths, from one trial: a line through its end with the steady state's slope,
 * but no job is shorter than one of its first batch alone. */
struct rue_job_line {
    double images, end_ns; /* of the trial; 0 images: nothing is known */
    double steady_image_ns;
    double first_ns, shutdown_ns, first_images, compute_image_ns; /* first_ns: NaN: its parts are not known */
};

/* What an ok joint `result` says. */
struct rue_job_line rue_job_line_from(const struct rue_trial_result *result);

/* The time in ns of a job of `images`, at least 1, with as many images a batch as the trial had; NaN where it
 * is not known. Off by a volley at most where the trial's pace was that of its steady state. */
double rue_job_line_ns(const struct rue_job_line *line, uint64_t images);

/* The fewest images for which a truncated trial of `config` says something about the steady state:
 * max(8, 4 * num_workers * prefetch_factor) whole batches; `job_images` where the job is not longer than
 * that. */
uint64_t rue_job_min_images(const struct rue_config *config, uint64_t job_images);

#endif
