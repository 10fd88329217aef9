/* The run of a planned study. */
#ifndef RUE_STUDY_SEARCH_H
#define RUE_STUDY_SEARCH_H

#include "study_parts.h"

/* Runs the plan. RUE_OK also when the budget ended it (outcome.partial). After RUE_INTERRUPTED and
 * RUE_TERMINATED the findings can still be reported. RUE_INFEASIBLE: the same failure 5 times in a row, see
 * rue_same_failures_count. */
rue_status rue_study_run(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Runs the plan; fails only if nothing was measured (RUE_USAGE). Else study->end says how the run ended, and
 * the trials can be reported. */
rue_status rue_study_perform(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

#endif
