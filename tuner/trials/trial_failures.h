/* Failed trials: whether the data are the cause, and whether the same failure repeats. */
#ifndef RUE_TRIAL_FAILURES_H
#define RUE_TRIAL_FAILURES_H

#include "study_ledger.h"

/* RUE_DATA, with what to do, if the trial failed because of an item of the data. */
rue_status rue_study_check_data(const struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

/* Fails after a first trial with this result, because nothing can be measured. The message says what to do.
 */
rue_status rue_study_fail_probe(const struct rue_study_setup *setup, size_t variant,
                                const struct rue_trial_result *result, rue_error *error);

/* RUE_INFEASIBLE if a loader or a model failed in trials and succeeded in none: nothing can be predicted
 * then. */
rue_status rue_study_check_failures(const struct rue_study_setup *setup,
                                    const struct rue_study_ledger *ledger, rue_error *error) RUE_MUST_CHECK;

/* Zeroed: none yet. */
struct rue_same_failures {
    char reason[RUE_REASON_BYTES];
    int in_a_row;
};

/* Counts the outcome of a new trial. RUE_INFEASIBLE after 5 identical failures in a row. Reasons are
 * identical if they differ only in numbers (process, file, address, exit code). Infeasible trials do not
 * count and do not end the row, because they do not show whether the runner works. */
rue_status rue_same_failures_count(struct rue_same_failures *failures, const struct rue_trial_result *result,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
