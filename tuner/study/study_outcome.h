/* What a study has come to: claims, and why it ended. */
#ifndef RUE_STUDY_OUTCOME_H
#define RUE_STUDY_OUTCOME_H

#include "study_setup.h"

struct rue_study_outcome {
    struct rue_outcome_variant {
        struct rue_cost_matrix *matrix; /* NULL before the run has ended */
        struct rue_job_lengths lengths; /* for which the answer is which */
        bool claimed;
        struct rue_claim claim;          /* where the strategy predicts */
        struct rue_knowledge *knowledge; /* owned; NULL where the strategy tells none */
    } variants[RUE_STUDY_VARIANTS_MAX];
    const char *profiles[RUE_STUDY_MODELS_MAX]; /* of the models, for the findings */
    char disturbance[256];                      /* what slowed all of it; "" : nothing did */
    char busy_before[256], busy_after[256]; /* what kept the machine busy without trials; "" : nothing did */
    bool partial;
    char partial_reason[160];
};

#endif
