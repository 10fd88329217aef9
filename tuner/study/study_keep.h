/* What a study found out goes into its store. */
#ifndef RUE_STUDY_KEEP_H
#define RUE_STUDY_KEEP_H

#include "study.h"

/* Keeps the findings in the store; of a study that is under way the changes alone, in case it is killed.
 * RUE_STORE, RUE_MEMORY. */
rue_status rue_study_keep_findings(struct rue_study *study, const struct rue_findings *findings,
                                   rue_error *error) RUE_MUST_CHECK;
rue_status rue_study_keep_changes(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

#endif
