/* Whose a trial is: the data, how they are loaded, the model, and the runner on its machine. */
#ifndef RUE_STUDY_TRIALS_H
#define RUE_STUDY_TRIALS_H

#include "error.h"
#include "study.h"
#include "trial.h"

/* Of a variant and a model (RUE_NONE: none). */
struct rue_store_scenario rue_study_scenario(const struct rue_study_setup *setup, size_t variant,
                                             size_t model);

/* Which rows a variant is about, in what the store keeps of a run. */
void rue_study_key(const struct rue_study_setup *setup, size_t variant, char out[RUE_LEDGER_KEY_BYTES]);

/* As `nth`: no row of the store will do. */
#define RUE_STUDY_NEW_TRIAL SIZE_MAX

/* One trial of `request` (measure, config, images, batches, detail set by the caller) on a variant and a
 * model (RUE_NONE: none, of the measure load): the `nth` stored row that answers it, or a new measurement,
 * stored before this returns. A trial that was suspended (Ctrl-Z, a machine asleep) is thrown away and
 * measured again, five times at most. The row is noted; `result` is to be closed by the caller. */
rue_status rue_study_measure(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             size_t variant, size_t model, struct rue_trial_request *request, size_t nth,
                             uint64_t expected_ns, struct rue_trial_result *result,
                             rue_error *error) RUE_MUST_CHECK;

/* Visits every row of the store that answers `request` (as above), nothing noted; as rue_store_visit_trials.
 */
rue_status rue_study_visit_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  size_t variant, size_t model, struct rue_trial_request *request,
                                  rue_store_visit *visit, void *context, rue_error *error) RUE_MUST_CHECK;

/* Row `id`, which answers `request` (as above): `*found` says whether it is still there. It is noted, but not
 * twice. `result` is to be closed by the caller where found. */
rue_status rue_study_load_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, size_t model, struct rue_trial_request *request, uint64_t id,
                                 bool *found, struct rue_trial_result *result,
                                 rue_error *error) RUE_MUST_CHECK;

/* Whether the store answers `request` (as above) for the `nth` time. */
rue_status rue_study_is_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, size_t model, struct rue_trial_request *request, size_t nth,
                               bool *stored, rue_error *error) RUE_MUST_CHECK;

/* Tells a strategy that predicts the ok trials that the store holds of the variant, in the order of their
 * making: they cost nothing. Of very many the newest of each cell. Takes time in proportion to the rows of
 * the store. */
rue_status rue_study_observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    size_t variant, void *state, rue_error *error) RUE_MUST_CHECK;

/* Whether a trial that ended so says that a file of the variant's data is at fault. */
bool rue_study_is_data_fault(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                             const char *reason);

/* Fails for a first trial that ended so, without which nothing can be measured: what to do about it. */
rue_status rue_study_fail_probe(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                                const char *reason, rue_error *error);

/* Zeroed: none yet. */
struct rue_same_failures {
    char reason[RUE_REASON_BYTES];
    int in_a_row;
};

/* Counts what became of a trial. RUE_INFEASIBLE after five of the same in a row, see rue_study_run. */
rue_status rue_same_failures_count(struct rue_same_failures *failures, const struct rue_trial_result *result,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
