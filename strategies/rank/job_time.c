#include "job_time.h"

#include <math.h>
#include <stdio.h>

/* Batches that workers begin before the first one is delivered; 0 without workers. */
static uint64_t initial_batches(const struct rue_config *config)
{
    return config->value[RUE_NUM_WORKERS] == 0 ? 0 : rue_config_window(config, 0);
}

/* The mean time of a wave in the steady state; NaN: the trial has no complete wave there. */
static double steady_wave_ns(const struct rue_trial_result *result, uint64_t batches, uint64_t stride)
{
    uint64_t first = initial_batches(&result->config);
    uint64_t end = batches > stride ? batches - stride : 0;
    if (end > result->ready_count) end = result->ready_count;
    if (!result->batch_ready_ns || end < first + stride + 1) return NAN;
    uint64_t waves = (end - 1 - first) / stride;
    /* A runner may report times in any order, so differences of doubles. */
    double elapsed_ns =
        (double)result->batch_ready_ns[first + waves * stride] - (double)result->batch_ready_ns[first];
    return elapsed_ns > 0 ? elapsed_ns / (double)waves : NAN;
}

/* The mean time per image from the first delivery to the last: the consumer's time is spread over batches,
 * the rest over waves. */
static double average_image_ns(const struct rue_trial_result *result, double batches, double batch,
                               double stride)
{
    if (batches < 2 || result->first_batch_ns == RUE_ABSENT || result->shutdown_ns == RUE_ABSENT) return NAN;
    double compute_ns = result->compute_ns == RUE_ABSENT ? 0 : (double)result->compute_ns;
    double image_ns = compute_ns / (double)result->images, first_ns = (double)result->first_batch_ns;
    double last = (double)result->images - (batches - 1) * batch, waves = ceil(batches / stride) - 1;
    double delivering_ns =
        (double)result->end_to_end_ns - first_ns - (double)result->shutdown_ns - image_ns * last;
    if (delivering_ns < 0) return NAN;
    if (waves < 1) return fmax(image_ns, first_ns / batches / batch);
    double even = compute_ns > 0 ? fmin(1, image_ns * batch * (batches - 1) / delivering_ns) : 1;
    return delivering_ns / (even * (batches - 1) + (1 - even) * waves * stride) / batch;
}

/* The mean time per image after the first batch, of batches whose size changes. */
static double changing_image_ns(const struct rue_trial_result *result, double batch)
{
    double images = (double)result->images - batch;
    if (images <= 0 || result->first_batch_ns == RUE_ABSENT || result->shutdown_ns == RUE_ABSENT) return NAN;
    int64_t elapsed_ns = result->end_to_end_ns - result->first_batch_ns - result->shutdown_ns;
    return elapsed_ns < 0 ? NAN : (double)elapsed_ns / images;
}

double rue_job_steady_ns(const struct rue_trial_result *result)
{
    if (result->end_to_end_ns == RUE_ABSENT || result->images == RUE_ABSENT || result->images <= 0)
        return NAN;
    uint64_t batch = rue_trial_batch(&result->config), stride = rue_trial_wave_batches(&result->config);
    uint64_t batches = ((uint64_t)result->images - 1) / batch + 1;
    if (result->config.value[RUE_BATCH_STRATEGY] >= RUE_BATCHES_MEMORY)
        return changing_image_ns(result, (double)batch);
    double wave_ns = steady_wave_ns(result, batches, stride);
    return isnan(wave_ns) ? average_image_ns(result, (double)batches, (double)batch, (double)stride)
                          : wave_ns / (double)(stride * batch);
}

struct rue_job_line rue_job_line_from(const struct rue_trial_result *result)
{
    double batch = (double)rue_trial_batch(&result->config), images = (double)result->images;
    bool known = result->first_batch_ns != RUE_ABSENT && result->shutdown_ns != RUE_ABSENT;
    if (result->end_to_end_ns == RUE_ABSENT || images <= 0) return (struct rue_job_line){0};
    return (struct rue_job_line){
        .images = images,
        .end_ns = (double)result->end_to_end_ns,
        .steady_image_ns = rue_job_steady_ns(result),
        .first_ns = known ? (double)result->first_batch_ns : NAN,
        .shutdown_ns = known ? (double)result->shutdown_ns : NAN,
        .first_images = fmin(batch, images),
        .compute_image_ns = result->compute_ns == RUE_ABSENT ? 0 : (double)result->compute_ns / images};
}

double rue_job_line_ns(const struct rue_job_line *line, uint64_t images)
{
    double image_ns = line->steady_image_ns, first_images = fmin((double)images, line->first_images);
    if (line->images == 0 || isnan(line->first_ns)) return NAN;
    if (isnan(image_ns)) image_ns = fmax(line->compute_image_ns, line->first_ns / line->first_images);
    return fmax(line->first_ns + first_images * line->compute_image_ns + line->shutdown_ns,
                line->end_ns + ((double)images - line->images) * image_ns);
}

double rue_job_time_ns(const struct rue_trial_result *result, uint64_t job_images, bool drop_last,
                       bool *predicted)
{
    struct rue_job_line line = rue_job_line_from(result);
    double remaining = (double)rue_config_images(&result->config, drop_last, job_images) - line.images;
    *predicted = line.images > 0 && remaining > 0;
    if (line.images == 0) return NAN;
    return line.end_ns + (*predicted ? remaining * line.steady_image_ns : 0);
}

void rue_job_extend(struct rue_trial_result *result, uint64_t job_images, bool drop_last)
{
    bool predicted;
    if (result->outcome != RUE_TRIAL_OK) return;
    double time_ns = rue_job_time_ns(result, job_images, drop_last, &predicted);
    if (!(time_ns > 0)) {
        result->outcome = RUE_TRIAL_FAILED;
        snprintf(result->reason, sizeof result->reason, "%s", RUE_JOB_TIME_UNKNOWN);
        return;
    }
    result->images = (int64_t)job_images;
    result->end_to_end_ns = (int64_t)time_ns;
    result->first_batch_ns = result->shutdown_ns = RUE_ABSENT;
}

uint64_t rue_job_min_images(const struct rue_config *config, uint64_t job_images)
{
    uint64_t batches = 4 * initial_batches(config);
    uint64_t images = (batches > 8 ? batches : 8) * rue_trial_batch(config);
    return images < job_images ? images : job_images;
}
