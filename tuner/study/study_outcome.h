/* What a study has come to, and what of it goes into its store. */
#ifndef RUE_STUDY_OUTCOME_H
#define RUE_STUDY_OUTCOME_H

#include "study_ledger.h"
#include "study_setup.h"

struct rue_study_outcome {
    struct rue_outcome_variant {
        struct rue_cost_matrix *matrix; /* NULL before the run has ended */
        struct rue_job_lengths lengths; /* for which the answer is which */
        bool claimed;
        struct rue_claim claim;          /* where the strategy predicts */
        struct rue_knowledge *knowledge; /* owned; NULL where the strategy tells none */
    } variants[RUE_STUDY_VARIANTS_MAX];
    struct rue_recheck_findings recheck;        /* where the strategy judges what a prior recommended */
    const char *profiles[RUE_STUDY_MODELS_MAX]; /* of the models, for the findings */
    struct rue_change_findings changes;         /* but for notices */
    bool partial;
    char partial_reason[160];
};

/* Keeps the findings in the store as the recommendation.json that they are, with what of the store they rest
 * on: `findings` has that, too, from then on. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_keep_findings(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   struct rue_findings *findings, rue_error *error) RUE_MUST_CHECK;

/* Takes over what the last run that measured any of the same knew of changes of the machine. RUE_STORE,
 * RUE_MEMORY. */
rue_status rue_study_load_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error) RUE_MUST_CHECK;

/* Notes in the store what the run is about and which changes it knows of, in case it is killed. RUE_STORE,
 * RUE_MEMORY. */
rue_status rue_study_note_under_way(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    rue_error *error) RUE_MUST_CHECK;

/* Notes a change, also in the store, in case the run is killed: trials of which nobody knows whether they
 * were made before or after it answer nothing more. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_note_change(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 const struct rue_notice *notice, rue_error *error) RUE_MUST_CHECK;

#endif
