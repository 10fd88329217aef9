/* The rows of the store's tables. */
#ifndef RUE_STORE_TABLES_H
#define RUE_STORE_TABLES_H

#include "error.h"
#include "findings.h"
#include "profile.h"
#include "trial.h"

/* What identifies the data, model, runner and machine of a request. A stored trial is reused only if all of
 * it is equal, and of its request the model, the variant except its path, the workload and the job. */
struct rue_store_origin {
    char data_digest[32];
    char model_profile[RUE_PROFILE_JSON_BYTES]; /* canonical JSON of the model's cost profile */
    char runner[128]; /* name and version; also the command, if it is not rue's own */
    char machine[32]; /* fingerprint of the runner's machine */
};

enum rue_store_table {
    RUE_STORE_TRIALS,
    RUE_STORE_RESULTS,
    RUE_STORE_FINDINGS,
    RUE_STORE_CHANGES,
    RUE_STORE_EXCLUSIONS,
    RUE_STORE_TABLE_COUNT
};

/* A row of the table result: what a run found, written when it begins and replaced when it ends. Rows of
 * change are struct rue_notice, and rows of exclusion struct rue_dropped_node. They include what earlier runs
 * noticed. */
struct rue_store_result {
    uint64_t id;
    int64_t run_id;
    int64_t result;      /* run whose findings are the result; RUE_ABSENT: the run has not ended */
    uint64_t trials;     /* in the store at that time */
    char *rules, *facts; /* JSON (kept_findings.h) */
    size_t disturbed_count;
    uint64_t *disturbed; /* [disturbed_count] ids of disturbed trials */
};

/* A row of the table finding: what a run found about a variant. */
struct rue_store_finding {
    uint64_t id;
    int64_t run_id;
    char scenario[RUE_SCENARIO_BYTES];
    char *facts; /* JSON; NULL: the run has not ended */
};

/* A row of the table trial. */
struct rue_store_trial {
    int64_t run_id;    /* RUE_ABSENT: none */
    char recorded[32]; /* wall clock, UTC */
    struct rue_store_origin origin;
    struct rue_trial_request request; /* without the members that are not stored: its id, repeat and flags */
    const char *workload;             /* as stored; set by rue_store_next_trial, valid until the next call */
    uint64_t id, started_ns;
    struct rue_trial_result result;
};

#endif
