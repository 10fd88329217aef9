#include "trial_log.h"

#include <math.h>

static double seconds_of(int64_t ns)
{
    return ns == RUE_ABSENT ? NAN : (double)ns / 1e9;
}

struct rue_logged_trial rue_logged_trial_of(const struct rue_ask *ask, const struct rue_trial_result *result,
                                            double seconds)
{
    struct rue_pipeline_times times = {.first_batch_s = seconds_of(result->first_batch_ns),
                                       .end_to_end_s = seconds_of(result->end_to_end_ns),
                                       .shutdown_s = seconds_of(result->shutdown_ns)};
    if (isnan(times.shutdown_s)) times.shutdown_s = 0;
    return (struct rue_logged_trial){.model = ask->scenario,
                                     .config = ask->config,
                                     .images = result->images > 0 ? (uint64_t)result->images : 0,
                                     .batches = result->batches > 0 ? (uint64_t)result->batches : 0,
                                     .times = times,
                                     .consumer_s = seconds_of(result->compute_ns),
                                     .cpu_ratio = result->cpu_ratio,
                                     .seconds = seconds,
                                     .trial = ask->trial};
}

/* Least squares of consumer_s = batches * batch_s + images * image_s; neither below 0. */
struct rue_pipeline_consumer rue_trial_log_hand(const struct rue_trial_log *loads)
{
    double bb = 0, bi = 0, ii = 0, by = 0, iy = 0;
    for (size_t i = 0; i < loads->count; i++) {
        const struct rue_logged_trial *trial = &loads->at[i];
        double batches = (double)trial->batches, images = (double)trial->images;
        if (isnan(trial->consumer_s)) continue;
        double weight = 1 / (images * images);
        bb += weight * batches * batches;
        bi += weight * batches * images;
        ii += weight * images * images;
        by += weight * batches * trial->consumer_s;
        iy += weight * images * trial->consumer_s;
    }
    double determinant = bb * ii - bi * bi;
    if (determinant > 1e-9 * bb * ii) {
        double batch_s = (by * ii - iy * bi) / determinant, image_s = (iy * bb - by * bi) / determinant;
        if (batch_s >= 0 && image_s >= 0) return (struct rue_pipeline_consumer){batch_s, image_s, 0, false};
        if (batch_s < 0) return (struct rue_pipeline_consumer){0, fmax(0, iy / ii), 0, false};
    }
    return (struct rue_pipeline_consumer){bb > 0 ? fmax(0, by / bb) : 0, 0, 0, false};
}
