/* The end of a command that has run a study: its reports, what it shows, and what all of that is worth. */
#ifndef RUE_CONCLUDE_H
#define RUE_CONCLUDE_H

#include "study.h"

/* Shows what was found on standard output. */
typedef rue_status rue_study_shown(const struct rue_findings *findings, void *context, rue_error *error);

/* Writes the reports of whatever was measured, which is worth it whatever ended the run, shows it, and fails
 * as the run did. RUE_INFEASIBLE and RUE_INCONCLUSIVE where nothing can be recommended; RUE_STORE. */
rue_status rue_study_conclude(const struct rue_study *study, const struct rue_findings *findings,
                              const struct rue_study_end *end, rue_study_shown *show, void *context,
                              rue_error *error) RUE_MUST_CHECK;

#endif
