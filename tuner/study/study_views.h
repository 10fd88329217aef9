/* Views of a study's ledger: cost matrices, and the lengths of the job at which the answer changes. */
#ifndef RUE_STUDY_VIEWS_H
#define RUE_STUDY_VIEWS_H

#include "study_parts.h"

/* The matrix of a variant's trials so far. Trials since a change of the machine are corrected to its former
 * speed. For a predicting strategy: only first batches and failures; it estimates the times itself. The
 * caller closes `*out`. RUE_MEMORY. */
rue_status rue_study_matrix(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                            size_t variant, struct rue_cost_matrix **out, rue_error *error) RUE_MUST_CHECK;

/* The first row from `from` on that may lie before or after a change, so must be repeated; or RUE_NONE. */
size_t rue_study_next_unsure(const struct rue_study_ledger *ledger, size_t from);

/* Marks the variant's disturbed trials (disturbance.h): those far from the expectation of the strategy with
 * this `state`. If it does not predict, far from the median of at least 3 repeats of the cell. Marks none
 * if out of memory. */
void rue_study_mark_disturbed(struct rue_study *study, size_t variant, void *state);

/* Finds the lengths of the job at which the answer changes, from the predictions of the strategy with this
 * `state`, or from trials. Does nothing without either, or without a recommendation. RUE_MEMORY. */
rue_status rue_study_find_lengths(struct rue_study *study, size_t variant, void *state,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
