/* What failed trials say of a whole study: its data are damaged, or nothing of it can be measured. */
#ifndef RUE_STUDY_FAULTS_H
#define RUE_STUDY_FAULTS_H

#include "study.h"

/* Whether a trial that ended so says that a file of the variant's data is at fault. */
bool rue_study_is_data_fault(const struct rue_study *study, size_t variant, enum rue_outcome outcome,
                             const char *reason);

/* Fails for a first trial that ended so, without which nothing can be measured: what to do about it. */
rue_status rue_study_fail_probe(const struct rue_study *study, size_t variant, enum rue_outcome outcome,
                                const char *reason, rue_error *error);

#endif
