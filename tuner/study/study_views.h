/* Views of a study's ledger: cost matrices, and for which lengths of the job the answer is another one. */
#ifndef RUE_STUDY_VIEWS_H
#define RUE_STUDY_VIEWS_H

#include "study.h"

/* A matrix of the study's models and configurations, without a time. `*out` is closed by the caller.
 * RUE_MEMORY. */
rue_status rue_study_open_matrix(const struct rue_study_setup *setup, struct rue_cost_matrix **out,
                                 rue_error *error) RUE_MUST_CHECK;

/* What the trials of a variant say so far, each corrected for changes of the machine: a trial since a change
 * counts as it would have taken before. Of a strategy that predicts, the first batches and what was not ok;
 * the rest is estimated. `*out` is closed by the caller. RUE_MEMORY. */
rue_status rue_study_matrix(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                            size_t variant, struct rue_cost_matrix **out, rue_error *error) RUE_MUST_CHECK;

/* The first row from `from` on that is to be measured again, as nobody knows whether it is of before or after
 * a change; RUE_NONE when none is. */
size_t rue_study_next_unsure(const struct rue_study_ledger *ledger, size_t from);

/* Marks the variant's disturbed trials (disturbance.h): those far from what the strategy, whose state it is,
 * expects of them by now; where it does not predict, far from the other repeats of their cells, of which
 * there are three at least. Without memory it marks none. */
void rue_study_mark_disturbed(struct rue_study *study, size_t variant, void *state);

/* Finds for which lengths of the job the answer is another one, from what the strategy, whose state it is,
 * predicts, or from the trials; where neither is known, or nothing is recommended, it does nothing.
 * RUE_MEMORY. */
rue_status rue_study_find_lengths(struct rue_study *study, size_t variant, void *state,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
