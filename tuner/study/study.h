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

#include "study_ledger.h"
#include "study_outcome.h"
#include "study_setup.h"

/* How a run ended. */
struct rue_study_end {
    rue_status ran;
    rue_error why;     /* it failed */
    rue_error lost;    /* why its findings were not stored, or not written */
    char kept[256];    /* the earlier recommendations that were not replaced; "": none */
    char written[256]; /* the files of reports; "": none */
};

struct rue_study {
    struct rue_study_setup setup;
    struct rue_study_ledger ledger;
    struct rue_study_outcome outcome;
    struct rue_study_end end;
};

/* Nothing has to be closed after an error. */
rue_status rue_study_open(const struct rue_study_goal *goal, struct rue_progress *progress,
                          struct rue_study **out, rue_error *error) RUE_MUST_CHECK;
void rue_study_close(struct rue_study *study);

/* Applies the rules to a variant, and compares the recommendation with the baselines. The caller closes
 * `*out`. RUE_MEMORY. */
rue_status rue_study_select(const struct rue_study *study, size_t variant, struct rue_selection **out,
                            struct rue_baseline_findings *baselines, rue_error *error) RUE_MUST_CHECK;

/* Applies the rules to all variants. `*out` borrows from the study but owns the matrices from then on; close
 * it with rue_further_answers_close and rue_tally_findings_close. */
rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out,
                              rue_error *error) RUE_MUST_CHECK;

/* Stores the findings, unless the run ended early and rue_study_keep_earlier finds an earlier result: then
 * they are `unsaved`. A failure becomes study->end.lost. */
void rue_study_keep(struct rue_study *study, struct rue_findings *findings);

#endif
