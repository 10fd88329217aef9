/* A tuning study in three parts: its setup (what was opened and decided), its ledger (trials, time spent,
 * changes of speed) and its outcome (claims, findings). Functions get only the parts that they need.
 * A command that needs a study calls these in order; rue_study_close follows any of them:
 *
 *   rue_study_open      starts the runner, opens the data, lists models and configurations
 *                       (study.c; study_opening.h, study_space.h)
 *   rue_study_plan      chooses a strategy, estimates what it costs, and starts from an earlier study, if one
 *                       is given (study_search.h)
 *   rue_study_perform   asks the strategy, measures, stores (study_search.h)
 *   rue_study_findings  applies the selection rules (study_outcome.c)
 *   rue_study_keep      stores the findings (study.c) */
#ifndef RUE_STUDY_H
#define RUE_STUDY_H

#include "study_parts.h"

/* Nothing has to be closed after an error. */
rue_status rue_study_open(const struct rue_study_goal *goal, struct rue_progress *progress,
                          struct rue_study **out, rue_error *error) RUE_MUST_CHECK;
void rue_study_close(struct rue_study *study);

/* Stores the findings, unless the run ended early and rue_study_keep_earlier finds an earlier result: then
 * they are `unsaved`. A failure becomes study->end.lost. */
void rue_study_keep(struct rue_study *study, struct rue_findings *findings);

#endif
