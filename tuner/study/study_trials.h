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

/* Answers `request` (the caller sets measure, config, images, batches, detail) on a variant and a model
 * (RUE_NONE: load-only): with the `nth` stored row, or with a new trial, which is stored before this returns.
 * A suspended trial (Ctrl-Z, sleep) is discarded and repeated, at most 5 times. The row is added to the
 * ledger. The caller closes `result`. */
rue_status rue_study_measure(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             size_t variant, size_t model, struct rue_trial_request *request, size_t nth,
                             uint64_t expected_ns, struct rue_trial_result *result,
                             rue_error *error) RUE_MUST_CHECK;

/* A trial on a lane of a farm, in steps. The caller sets `lane`, `at.variant`, `at.model`, and of the request
 * what rue_study_measure needs. */
struct rue_study_flight {
    size_t lane;
    struct rue_ledger_row at;
    struct rue_trial_request request;
    struct rue_store_scenario scenario;
    int attempt, suspensions;
    char failure[RUE_REASON_BYTES]; /* the reason of a result that failed, without the node */
};

/* As rue_study_measure with a stored answer, which adds the row; else begins the trial. `now_ns`: the clock
 * of the lane, as spent time. */
rue_status rue_study_begin(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_study_flight *flight, size_t nth, uint64_t expected_ns, uint64_t now_ns,
                           bool *stored, struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

/* Stores the result that the lane's runner gave, and adds the row. `*repeated`: the trial was suspended, or
 * not warm or cold as requested; it is discarded, and has begun again. */
rue_status rue_study_finish(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_study_flight *flight, uint64_t now_ns, bool *repeated,
                            struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

/* Visits every stored row that answers `request` (as above); adds no row. As rue_store_visit_trials. */
rue_status rue_study_visit_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  size_t variant, size_t model, struct rue_trial_request *request,
                                  rue_store_visit *visit, void *context, rue_error *error) RUE_MUST_CHECK;

/* Loads stored row `id`, which answers `request` (as above). `*found`: it still exists. It is added to the
 * ledger, but not twice. The caller closes `result` if found. */
rue_status rue_study_load_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, size_t model, struct rue_trial_request *request, uint64_t id,
                                 bool *found, struct rue_trial_result *result,
                                 rue_error *error) RUE_MUST_CHECK;

/* Whether the store has an `nth` row that answers `request` (as above). */
rue_status rue_study_is_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, size_t model, struct rue_trial_request *request, size_t nth,
                               bool *stored, rue_error *error) RUE_MUST_CHECK;

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
