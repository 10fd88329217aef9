/* The end of a command that has run a study: reports and exit status. */
#ifndef RUE_CONCLUDE_H
#define RUE_CONCLUDE_H

#include "study.h"

/* Writes the reports, unless the findings are unsaved. A failure becomes study->end.lost. */
void rue_study_write(struct rue_study *study, const struct rue_findings *findings);

/* Call it after the output; `shown` is its error (nullable). Prints which files were written, and fails as
 * the run did. RUE_INFEASIBLE and RUE_INCONCLUSIVE when nothing can be recommended; RUE_STORE. */
rue_status rue_study_conclude(const struct rue_study *study, const struct rue_findings *findings,
                              const rue_error *shown, rue_error *error) RUE_MUST_CHECK;

#endif
