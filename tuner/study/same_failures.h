/* Trials that fail for the same reason one after the other. */
#ifndef RUE_SAME_FAILURES_H
#define RUE_SAME_FAILURES_H

#include "error.h"
#include "trial.h"

/* Zeroed: none yet. */
struct rue_same_failures {
    char reason[RUE_REASON_BYTES];
    int in_a_row;
};

/* Counts what became of a trial. RUE_INFEASIBLE after five of the same in a row, see rue_study_run. */
rue_status rue_same_failures_count(struct rue_same_failures *failures, const struct rue_trial_result *result,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
