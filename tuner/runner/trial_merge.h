/* One result from those of several loaders that made a trial together. */
#ifndef RUE_TRIAL_MERGE_H
#define RUE_TRIAL_MERGE_H

#include "trial.h"

/* Merges `results` [count], all ok: the times and lists of the slowest, and the resources of all. Frees the
 * lists of the others. A sum that no row of the store can hold makes it a failed trial. */
struct rue_trial_result rue_trial_merge(struct rue_trial_result *results, size_t count);

/* The sum of two values that are not negative, at most INT64_MAX; RUE_ABSENT if one is. */
int64_t rue_trial_sum(int64_t a, int64_t b);

#endif
