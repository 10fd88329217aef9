/* A tuning study in three parts: its setup (what was opened and decided), its ledger (trials, time spent,
 * changes of speed) and its outcome (claims, findings). Functions get only the parts that they need.
 * rue_study_perform runs a study in five steps:
 *
 *   open      start the runner, open the data, list models and configurations
 *             (study.c; study_opening.h, study_space.h)
 *   plan      choose a strategy and estimate what it costs (study_plan.c; study_costs.h)
 *   prior     start from an earlier study, if one is given (study_prior.h)
 *   run       ask the strategy, measure, store (study_run.c; study_trials.h, study_views.h, watch.h)
 *   conclude  apply the selection rules and store the findings (study_outcome.c) */
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

/* Chooses a strategy if none was requested, probes what trials cost, and lists the baselines. RUE_USAGE: the
 * budget is too small for any answer. */
rue_status rue_study_plan(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          rue_error *error) RUE_MUST_CHECK;

/* Runs the plan. RUE_OK also when the budget ended it (outcome.partial). After RUE_INTERRUPTED and
 * RUE_TERMINATED the findings can still be reported. RUE_INFEASIBLE: the same failure 5 times in a row, see
 * rue_same_failures_count. */
rue_status rue_study_run(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Applies the rules to a variant, and compares the recommendation with the baselines. The caller closes
 * `*out`. RUE_MEMORY. */
rue_status rue_study_select(const struct rue_study *study, size_t variant, struct rue_selection **out,
                            struct rue_baseline_findings *baselines, rue_error *error) RUE_MUST_CHECK;

/* Applies the rules to all variants. `*out` borrows from the study but owns the matrices from then on; close
 * it with rue_further_answers_close and rue_tally_findings_close. */
rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out,
                              rue_error *error) RUE_MUST_CHECK;

/* How a run ended: `why` it failed, and why its findings were `lost` (not stored). */
struct rue_study_end {
    rue_status ran;
    rue_error why, lost;
    char kept[256]; /* the earlier recommendations that were not replaced; "": none */
};

/* Callbacks of a command. */
struct rue_study_steps {
    /* Shows the plan. A dry run ends after it. */
    rue_status (*show_plan)(const struct rue_study *study, void *context, rue_error *error);
    /* Adds measurements to the findings of a successful run, outside the budget. (optional) */
    rue_status (*extend)(struct rue_study *study, struct rue_findings *findings, void *context,
                         rue_error *error);
    /* Shows the findings, however the run ended. The store has them unless findings->unsaved. */
    rue_status (*show_findings)(const struct rue_study *study, struct rue_findings *findings,
                                const struct rue_study_end *end, void *context, rue_error *error);
};

/* Runs a study from opening to close; see rue_study_keep_earlier. Fails as the steps do. */
rue_status rue_study_perform(const struct rue_study_goal *goal, struct rue_progress *progress,
                             const struct rue_study_steps *steps, void *context,
                             rue_error *error) RUE_MUST_CHECK;

#endif
