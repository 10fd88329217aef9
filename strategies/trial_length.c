#include "trial_length.h"

#include <math.h>

static const double whole_share = 0.7; /* of the job; above it, the whole job */

uint64_t rue_trial_length_images(const struct rue_trial_length *length,
                                 const struct rue_strategy_setup *setup, size_t config)
{
    uint64_t job = setup->job_images;
    if (setup->whole_jobs) return job;
    const int *value = setup->configs[config].value;
    double batch = value[RUE_BATCH_SIZE], workers = value[RUE_NUM_WORKERS] > 0 ? value[RUE_NUM_WORKERS] : 1;
    double least = fmax(length->share * (double)job, batch * fmax(length->rounds * workers, length->batches));
    return least > whole_share * (double)job ? job : (uint64_t)(ceil(least / batch) * batch);
}
