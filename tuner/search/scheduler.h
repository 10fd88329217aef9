/* Makes the trials of a study: asks the strategies, measures, and lets them observe. Each runner is a lane:
 * it has at most one trial, a question of a strategy or one that the watch needs (watch.h). One machine is
 * one lane. On virtual clocks, events are handled in the order of their times, so that a simulation is
 * deterministic. */
#ifndef RUE_SCHEDULER_H
#define RUE_SCHEDULER_H

#include "tracks.h"
#include "watch.h"

/* Runs until no strategy has a question or the budget is spent. `watch` is NULL if there is nothing to watch.
 * A lane that differs from the others, or whose connection ends, makes no more trials. RUE_RUNNER: no lane is
 * left; RUE_INFEASIBLE: identical failures, see rue_same_failures_count; RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_schedule(struct rue_study *study, struct rue_tracks *tracks, struct rue_watch *watch,
                        rue_error *error) RUE_MUST_CHECK;

#endif
