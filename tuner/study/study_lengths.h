/* For which lengths of the job the answer is another one. */
#ifndef RUE_STUDY_LENGTHS_H
#define RUE_STUDY_LENGTHS_H

#include "study.h"

/* Notes what an ok joint trial says of jobs of other lengths. */
void rue_study_note_line(const struct rue_study_setup *setup, struct rue_study_outcome *outcome,
                         size_t variant, size_t model, size_t config, const struct rue_trial_result *result);

/* Finds for which lengths of the job the answer is another one, from what the strategy, whose state it is,
 * predicts, or from what was noted; where neither is known, or nothing is recommended, it does nothing.
 * RUE_MEMORY. */
rue_status rue_study_find_lengths(struct rue_study *study, size_t variant, void *state,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
