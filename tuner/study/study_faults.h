/* What failed trials say of a whole study: its data are damaged, or nothing of it can be measured. */
#ifndef RUE_STUDY_FAULTS_H
#define RUE_STUDY_FAULTS_H

#include "error.h"
#include "study.h"
#include "trial.h"

/* Whether a trial that ended so says that a file of the variant's data is at fault. */
bool rue_study_is_data_fault(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                             const char *reason);

/* Fails for a first trial that ended so, without which nothing can be measured: what to do about it. */
rue_status rue_study_fail_probe(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                                const char *reason, rue_error *error);

/* Zeroed: none yet. */
struct rue_same_failures {
    char reason[RUE_REASON_BYTES];
    int in_a_row;
};

/* Counts what became of a trial. RUE_INFEASIBLE after five of the same in a row, see rue_study_run. */
rue_status rue_same_failures_count(struct rue_same_failures *failures, const struct rue_trial_result *result,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
