/* The ledger of a study: its trials, the time spent, changes of speed. The only place in memory where a trial
 * is; cost matrices, logs and reference trials are views of it. */
#ifndef RUE_STUDY_LEDGER_H
#define RUE_STUDY_LEDGER_H

#include "findings.h"
#include "job_time.h"
#include "slowdown.h"
#include "store.h"
#include "study_setup.h"

enum { RUE_STUDY_NOTICES_MAX = 32 };

struct rue_study_clock {
    uint64_t start_ns;     /* its zero, as of rue_suspension_awake_ns */
    uint64_t suspended_ns; /* of trials that were thrown away; not spent */
    bool suspended;        /* there was such a trial, and it has been announced */
    uint64_t virtual_ns;   /* spent on the runner's own clock, where it is virtual */
};

/* A trial, and the cell that it is about. */
struct rue_ledger_row {
    struct rue_trial_row trial; /* as reports show it */
    size_t variant, model;      /* RUE_NONE: of no model */
    size_t config;              /* that a strategy asked for: it counts in matrices; RUE_NONE: nobody did */
    double cost_ns;           /* what an ok joint one says of what is minimised; NaN where it says nothing */
    bool predicted;           /* that is extended from a truncated trial */
    struct rue_job_line line; /* what it says of jobs of other lengths */
    double error, error_sd;   /* logarithm of what it took over what was expected, and its standard deviation;
                                 0: nothing was expected */
    uint64_t suspended_ns;    /* as the clock has it, when it began */
    bool reference;           /* made to see whether the machine changes */
    bool stored;              /* by an earlier run */
};

struct rue_study_ledger {
    struct rue_store *store;
    struct rue_study_clock clock;
    uint64_t found_trials;  /* that the store held when it was opened */
    bool stored_unobserved; /* the store holds more than strategies are told: they are not told more of it */
    size_t row_count, row_capacity;
    struct rue_ledger_row *rows; /* every trial used, in order */
    size_t probe_rows;           /* the first of `rows`: measured to make the plan */
    size_t reused;               /* of them, from the store */
    bool was_stored;             /* the last one asked for: from the store, or measured to make the plan */
    size_t made;                 /* trials of this run since its plan, references and all */
    size_t answered;             /* questions of strategies, from the store or by trials */
    size_t last_row;             /* that was answered last */
    struct rue_speed_history speeds;
    size_t notice_count;
    struct rue_notice notices[RUE_STUDY_NOTICES_MAX]; /* [notice_count] of changes of the machine */
    struct {
        struct rue_findings_ledger facts; /* borrow the rest */
        char scenarios[RUE_STUDY_VARIANTS_MAX][RUE_LEDGER_KEY_BYTES];
        char *rules_json; /* owned */
    } kept;               /* of it with the findings */
};

/* Spent of the budget so far. */
uint64_t rue_study_spent_ns(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger);

/* Counts a trial that began when `started_ns` were spent. A virtual clock is advanced by what the trial says;
 * on the real one, what passed says more than the runner knows (a new runner, for one) and becomes its cost.
 */
void rue_study_count_cost(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          uint64_t started_ns, struct rue_trial_result *result);

/* Predictions are surer of themselves than they should be: so much. */
#define RUE_STUDY_SPREAD 1.5

/* Notes how far the last row is off the time that a strategy expected. */
void rue_study_note_error(struct rue_study_ledger *ledger, double expected_s, double expected_sd);

/* Whether nobody knows if a trial was made before or after a change. */
bool rue_study_is_unsure(const struct rue_study_ledger *ledger, size_t trial);

#endif
