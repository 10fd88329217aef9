/* The ledger of a study: its trials, the time spent, changes of speed. It is the only copy of the trials in
 * memory; cost matrices, logs and reference trials are views of it. */
#ifndef RUE_STUDY_LEDGER_H
#define RUE_STUDY_LEDGER_H

#include "contention.h"
#include "findings.h"
#include "ledger_row.h"
#include "rank_times.h"
#include "slowdown.h"
#include "store.h"
#include "study_setup.h"

enum { RUE_STUDY_NOTICES_MAX = 32, RUE_STUDY_DROPPED_MAX = 64 };

struct rue_study_clock {
    uint64_t start_ns;     /* start, as of rue_suspension_awake_ns */
    uint64_t suspended_ns; /* in discarded trials; does not count as spent */
    bool suspended;        /* a trial was discarded, and this was reported */
    uint64_t virtual_ns;   /* spent on the runner's virtual clock */
};

struct rue_study_ledger {
    struct rue_store *store;
    struct rue_study_clock clock;
    uint64_t found_trials;  /* in the store when it was opened */
    bool stored_unobserved; /* the store has more trials than a strategy observes */
    size_t row_count, row_capacity;
    struct rue_ledger_row *rows; /* every trial used, in order */
    size_t probe_rows;           /* the first of `rows`, measured for the plan */
    uint64_t first_own;          /* id of the first trial that this run measured; 0: none yet */
    size_t reused;               /* of `rows`, from earlier runs */
    size_t run_trials;           /* trials of this run since its plan, including references */
    size_t answered;             /* questions of strategies, by stored or new trials */
    struct rue_rank_times
        rank_times[RUE_STUDY_VARIANTS_MAX]; /* of trials that a launcher's ranks made together */
    struct rue_speed_history speeds;
    size_t notice_count;
    struct rue_notice notices[RUE_STUDY_NOTICES_MAX]; /* [notice_count] of changes of the machine */
    size_t dropped_count;
    struct rue_dropped_node dropped[RUE_STUDY_DROPPED_MAX]; /* [dropped_count] of a farm */
};

/* Time of the budget that is spent so far. */
uint64_t rue_study_spent_ns(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger);

/* Counts the cost of a trial that began when `started_ns` were spent. A virtual clock advances by the trial's
 * own time. On the real clock the elapsed time becomes the cost, because it includes the runner's start. A
 * trial fails if, after its cost, the store could not hold the start of the next one. */
void rue_study_count_cost(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          uint64_t started_ns, struct rue_trial_result *result);

/* What a trial cost, once that is counted. */
static inline uint64_t rue_study_cost_ns(const struct rue_trial_result *result)
{
    int64_t cost_ns = result->cost_ns != RUE_ABSENT ? result->cost_ns : result->end_to_end_ns;
    return cost_ns > 0 ? (uint64_t)cost_ns : 0;
}

/* Predictions underestimate their standard deviation by about this factor. */
#define RUE_STUDY_SPREAD 1.5

/* Records the error of a row against the time that a strategy expected. */
void rue_study_note_error(struct rue_ledger_row *row, struct rue_contention contention, double expected_s,
                          double expected_sd);

/* Whether it is unknown if a trial was made before or after a change. */
bool rue_study_is_unsure(const struct rue_study_ledger *ledger, size_t trial);

#endif
