/* The parts of a study. */
#ifndef RUE_STUDY_PARTS_H
#define RUE_STUDY_PARTS_H

#include "study_ledger.h"

struct rue_study_outcome {
    struct rue_outcome_variant {
        struct rue_cost_matrix *matrix; /* NULL until the run has ended */
        struct rue_job_lengths lengths; /* lengths of the job at which the answer changes */
        bool claimed;
        struct rue_claim claim;          /* of a predicting strategy, if `claimed` */
        struct rue_knowledge *knowledge; /* owned; NULL if the strategy has none */
    } variants[RUE_STUDY_VARIANTS_MAX];
    struct rue_recheck_findings recheck;        /* of rue check */
    const char *profiles[RUE_STUDY_MODELS_MAX]; /* of the models, for the findings */
    struct rue_change_findings changes;         /* without its lists */
    bool partial;
    char partial_reason[160];
};

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

#endif
