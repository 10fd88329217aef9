/* How long a trial is: a share of the job, but some rounds of all workers, and some batches, at least. */
#ifndef RUE_TRIAL_LENGTH_H
#define RUE_TRIAL_LENGTH_H

#include "strategy.h"

struct rue_trial_length {
    double share, rounds, batches;
};

/* Its images, in whole batches; the whole job where that is little more, or where trials are nothing else. */
uint64_t rue_trial_length_images(const struct rue_trial_length *length,
                                 const struct rue_strategy_setup *setup, size_t config);

#endif
