/* One result from those of several loaders that made a trial together. */
#ifndef RUE_TRIAL_MERGE_H
#define RUE_TRIAL_MERGE_H

#include "trial.h"

/* Merges `results` [count], all ok: the times and lists of the slowest, and the resources of all. Frees the
 * lists of the others. */
struct rue_trial_result rue_trial_merge(struct rue_trial_result *results, size_t count);

#endif
