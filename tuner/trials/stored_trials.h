/* Trials that the store already has. */
#ifndef RUE_STORED_TRIALS_H
#define RUE_STORED_TRIALS_H

#include "flight.h"

/* Whether the store has an `nth` row that answers the request. */
rue_status rue_study_is_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_flight *flight, size_t nth, bool *stored,
                               rue_error *error) RUE_MUST_CHECK;

/* Lets a predicting strategy observe the variant's ok trials in the store, oldest first, at no cost. If there
 * are over 500, the newest of each cell. The time is proportional to the rows of the store. */
rue_status rue_study_observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    size_t variant, void *state, rue_error *error) RUE_MUST_CHECK;

#endif
