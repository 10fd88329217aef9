/* A tuning study in three parts: its setup (what was opened and decided), its ledger (trials, time spent,
 * changes of speed) and its outcome (claims, findings). A step gets the parts that it needs. The flow of `rue
 * tune`:
 *
 *   rue_study_open      starts the runner, opens the data, finds out what is to be measured
 *                       (study.c; study_opening.h, study_folder.h, study_space.h)
 *   rue_study_plan      chooses a strategy, and says what there is to be tried
 *                       (study_plan.c; study_costs.h)
 *   rue_study_run       asks the strategy, measures, stores
 *                       (study_run.c; study_trials.h, study_views.h, watch.h)
 *   rue_study_findings  applies the selection rules (study_outcome.c) */
#ifndef RUE_STUDY_H
#define RUE_STUDY_H

#include "study_ledger.h"
#include "study_outcome.h"
#include "study_setup.h"

struct rue_study {
    struct rue_study_setup setup;
    struct rue_study_ledger ledger;
    struct rue_study_outcome outcome;
};

/* RUE_DATA, RUE_USAGE, RUE_STORE, RUE_RUNNER and the signals' statuses; the message says what to do. */
rue_status rue_study_open(const struct rue_study_goal *goal, struct rue_progress *progress,
                          struct rue_study **out, rue_error *error) RUE_MUST_CHECK;
void rue_study_close(struct rue_study *study);

/* Chooses a strategy where none was asked for, probes what it costs, and lists the configurations; allocates
 * the matrices. RUE_USAGE where the budget is too small for any answer. */
rue_status rue_study_plan(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Runs the plan with the strategy. RUE_OK also when the budget ended it (study->partial); RUE_INTERRUPTED and
 * RUE_TERMINATED leave a study whose findings can still be reported; RUE_INFEASIBLE after the same failure
 * five times in a row. Failures are the same when their reasons are, numbers aside (which process, file or
 * address it was), but for exit codes. Infeasible trials in between, and trials that the store answers,
 * neither count nor end the row: they say nothing about whether the runner works. */
rue_status rue_study_run(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Applies the rules to a variant, and compares what they recommend with the baselines. `*out` is closed by
 * the caller. RUE_MEMORY. */
rue_status rue_study_select(const struct rue_study *study, size_t variant, struct rue_selection **out,
                            struct rue_baseline_findings *baselines, rue_error *error) RUE_MUST_CHECK;

/* Applies them to all variants. `*out` borrows from the study; rue_study_findings_close frees the rest. */
rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_study_findings_close(struct rue_findings *findings);

/* "libjpeg-turbo 2.1.5, SQLite 3.40.1, ...". */
void rue_study_libraries(char *out, size_t bytes);

#endif
