/* The clock that a budget is held against: the real one, or the runner's own where that is virtual. */
#ifndef RUE_STUDY_CLOCK_H
#define RUE_STUDY_CLOCK_H

#include "study.h"

/* Spent of the budget so far. */
uint64_t rue_study_spent_ns(const struct rue_study *study);

/* Counts a trial that began when `started_ns` were spent. A virtual clock is advanced by what the trial says;
 * on the real one, what passed says more than the runner knows (a new runner, for one) and becomes its cost.
 */
void rue_study_count_cost(struct rue_study *study, uint64_t started_ns, struct rue_trial_result *result);

#endif
