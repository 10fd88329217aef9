/* The end of a command that has run a study: reports, output and exit status. */
#ifndef RUE_CONCLUDE_H
#define RUE_CONCLUDE_H

#include "study.h"

/* Prints the findings on standard output. */
typedef rue_status rue_study_shown(const struct rue_findings *findings, void *context, rue_error *error);

/* Writes and shows the reports, however the run ended, and fails as the run did. RUE_INFEASIBLE and
 * RUE_INCONCLUSIVE when nothing can be recommended; RUE_STORE. */
rue_status rue_study_conclude(const struct rue_study *study, const struct rue_findings *findings,
                              const struct rue_study_end *end, rue_study_shown *show, void *context,
                              rue_error *error) RUE_MUST_CHECK;

#endif
