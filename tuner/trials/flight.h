/* One trial of a study, from the request to its row in the ledger. */
#ifndef RUE_FLIGHT_H
#define RUE_FLIGHT_H

#include "error.h"
#include "study_ledger.h"
#include "trial.h"

/* As `nth`: measure, even if the store has an answer. */
#define RUE_STUDY_NEW_TRIAL SIZE_MAX

/* A trial, from its request to its row. The caller sets `at.variant` and `at.model` (RUE_NONE: load-only);
 * measure, config, images, batches and detail of the request; and, except for rue_study_measure, the runner,
 * its node and its clock. */
struct rue_flight {
    struct rue_ledger_row at;
    struct rue_trial_request request;
    uint64_t expected_ns;      /* 0: unknown; longer trials count as hanging */
    struct rue_runner *runner; /* borrowed */
    uint64_t *clock_ns;        /* spent time of the runner; each trial adds to it; borrowed */
    struct rue_store_origin origin;
    int attempts, suspensions;
    bool answered; /* `row` of the ledger has the result */
    bool stored;   /* it was stored before, and cost nothing */
    size_t row;
    struct rue_trial_result result; /* the caller closes it */
    char failure[RUE_REASON_BYTES]; /* the reason of a result that failed, without the node */
};

/* Fills in the origin and the rest of the request. The next functions do this by themselves. */
void rue_flight_complete(const struct rue_study_setup *setup, struct rue_flight *flight);

/* If the store has an `nth` row that answers the request, adds it to the ledger (`answered`). */
rue_status rue_flight_answer(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, size_t nth, rue_error *error) RUE_MUST_CHECK;

/* Begins the trial on the runner (after rue_flight_answer), to be finished with rue_runner_finish. */
rue_status rue_flight_begin(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_flight *flight, rue_error *error) RUE_MUST_CHECK;

/* Stores the runner's result, and adds its row. Not `answered`: the trial has begun again, because it was
 * suspended (Ctrl-Z, sleep; at most 5 times), was not warm or cold as requested, or lost a rank. */
rue_status rue_flight_finish(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, rue_error *error) RUE_MUST_CHECK;

/* Answers or makes a trial on the first runner, and waits for it. The caller closes the result. */
rue_status rue_study_measure(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, size_t nth, rue_error *error) RUE_MUST_CHECK;

/* Adds stored row `id` to the ledger, unless it is there. Not `answered`: the row no longer exists. */
rue_status rue_flight_load(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_flight *flight, uint64_t id, rue_error *error) RUE_MUST_CHECK;

/* Visits every stored row that answers the request, of any length; adds no row. As rue_store_visit_trials. */
rue_status rue_flight_visit_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   struct rue_flight *flight, rue_store_visit *visit, void *context,
                                   rue_error *error) RUE_MUST_CHECK;

/* The number that strategies give the node that made a stored trial; 0: no node that makes trials now. */
size_t rue_study_find_node(const struct rue_study_setup *setup, const char *ranks);

#endif
