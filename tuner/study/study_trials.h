/* Trials of a study: measured, or loaded from the store. */
#ifndef RUE_STUDY_TRIALS_H
#define RUE_STUDY_TRIALS_H

#include "error.h"
#include "study.h"
#include "trial.h"

/* The data, workload, model and runner of the trials of a variant and a model (RUE_NONE: none). */
struct rue_store_scenario rue_study_scenario(const struct rue_study_setup *setup, size_t variant,
                                             size_t model);

/* The ledger's key for a variant, see rue_recommendation_scenario. */
void rue_study_key(const struct rue_study_setup *setup, size_t variant, char out[RUE_LEDGER_KEY_BYTES]);

/* As `nth`: measure, even if the store has an answer. */
#define RUE_STUDY_NEW_TRIAL SIZE_MAX

/* A trial, from its request to its row. The caller sets `at.variant`, `at.model` (RUE_NONE: load-only), of
 * the request measure, config, images, batches and detail, and (except for rue_study_measure) the runner, its
 * node and its clock. */
struct rue_flight {
    struct rue_ledger_row at;
    struct rue_trial_request request;
    uint64_t expected_ns;      /* 0: unknown; longer trials count as hanging */
    struct rue_runner *runner; /* borrowed */
    uint64_t *clock_ns;        /* of the runner, as spent time; moves with each trial; borrowed */
    struct rue_store_scenario scenario;
    int attempts, suspensions;
    bool answered; /* `row` of the ledger has the result */
    bool stored;   /* it was stored before, and cost nothing */
    size_t row;
    struct rue_trial_result result; /* the caller closes it */
    char failure[RUE_REASON_BYTES]; /* the reason of a result that failed, without the node */
};

/* Completes the request, and answers it with the `nth` stored row, if there is one, which is added to the
 * ledger. */
rue_status rue_flight_answer(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, size_t nth, rue_error *error) RUE_MUST_CHECK;

/* Begins the trial on the runner (after rue_flight_answer), to be finished with rue_runner_finish. */
rue_status rue_flight_begin(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_flight *flight, rue_error *error) RUE_MUST_CHECK;

/* Stores the result that the runner gave, and adds its row. Not `answered`: it has begun again, because it
 * was suspended (Ctrl-Z, sleep), at most 5 times, or not warm or cold as requested, or a rank was lost. */
rue_status rue_flight_finish(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, rue_error *error) RUE_MUST_CHECK;

/* All of that, on the first runner. The caller closes the result. */
rue_status rue_study_measure(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, size_t nth, rue_error *error) RUE_MUST_CHECK;

/* Visits every stored row that answers the request, of any length; adds no row. As rue_store_visit_trials. */
rue_status rue_study_visit_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  struct rue_flight *flight, rue_store_visit *visit, void *context,
                                  rue_error *error) RUE_MUST_CHECK;

/* Whether the store has an `nth` row that answers the request. */
rue_status rue_study_is_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_flight *flight, size_t nth, bool *stored,
                               rue_error *error) RUE_MUST_CHECK;

/* The node that made a stored trial, as strategies number them; 0: none of several that make trials now. */
size_t rue_study_find_node(const struct rue_study_setup *setup, const char *ranks);

/* Lets a predicting strategy observe the variant's ok trials in the store, oldest first, at no cost. If there
 * are over 500, the newest of each cell. The time is proportional to the rows of the store. */
rue_status rue_study_observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    size_t variant, void *state, rue_error *error) RUE_MUST_CHECK;

/* Whether a trial with this outcome and reason failed because of a file of the variant's data. */
bool rue_study_is_data_fault(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                             const char *reason);

/* The error for a first trial with this outcome and reason: what to do, as nothing can be measured. */
rue_status rue_study_fail_probe(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                                const char *reason, rue_error *error);

/* Zeroed: none yet. */
struct rue_same_failures {
    char reason[RUE_REASON_BYTES];
    int in_a_row;
};

/* Counts the outcome of a new trial. RUE_INFEASIBLE after 5 identical failures in a row. Reasons are
 * identical if they differ only in numbers (process, file, address) other than the exit code. Infeasible
 * trials do not count and do not end the row, because they do not show whether the runner works. */
rue_status rue_same_failures_count(struct rue_same_failures *failures, const struct rue_trial_result *result,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
