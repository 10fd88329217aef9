/* A tuning study in three parts: its setup (what was opened and decided), its ledger (trials, time spent,
 * changes of speed) and its outcome (claims, findings). A step gets the parts that it needs.
 * rue_study_perform runs one:
 *
 *   opens     starts the runner, opens the data, finds out what is to be measured
 *             (study.c; study_opening.h, study_opening.h, study_space.h)
 *   plans     chooses a strategy, and says what there is to be tried (study_plan.c; study_costs.h)
 *   starts    from what is known (study_prior.h)
 *   runs      asks the strategy, measures, stores (study_run.c; study_trials.h, study_views.h, watch.h)
 *   finds     applies the selection rules, and keeps that (study_outcome.c) */
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

/* Chooses a strategy where none was asked for, probes what it costs, and lists the configurations; allocates
 * the matrices. RUE_USAGE where the budget is too small for any answer. */
rue_status rue_study_plan(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          rue_error *error) RUE_MUST_CHECK;

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

/* Applies them to all variants. `*out` borrows from the study, but for the matrices, which are its own from
 * then on; closed by rue_further_answers_close and rue_tally_findings_close. */
rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out,
                              rue_error *error) RUE_MUST_CHECK;

/* How a run ended: `why` it failed, and what was `lost` of what it found. */
struct rue_study_end {
    rue_status ran;
    rue_error why, lost;
};

/* What a command does with a study. */
struct rue_study_steps {
    /* Shows the plan; a dry run ends with it. */
    rue_status (*planned)(const struct rue_study *study, void *context, rue_error *error);
    /* Measures beside the budget what belongs to findings of a run that ended well. (optional) */
    rue_status (*beside)(struct rue_study *study, struct rue_findings *findings, void *context,
                         rue_error *error);
    /* Shows what was found, whatever ended the run. It is in the store, unless findings->alone. */
    rue_status (*found)(const struct rue_study *study, struct rue_findings *findings,
                        const struct rue_study_end *end, void *context, rue_error *error);
};

/* Runs a study from its opening to its close: plans, starts from what is known, runs, finds, keeps. A run
 * that failed before it had anything to recommend keeps nothing in the place of what an earlier one found
 * out. Errors as of the steps. */
rue_status rue_study_perform(const struct rue_study_goal *goal, struct rue_progress *progress,
                             const struct rue_study_steps *steps, void *context,
                             rue_error *error) RUE_MUST_CHECK;

/* "libjpeg-turbo 2.1.5, SQLite 3.40.1, ...". */
void rue_study_libraries(char *out, size_t bytes);

#endif
