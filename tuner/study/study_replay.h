/* What an earlier run of the same study measured, told to a strategy that predicts before it asks. */
#ifndef RUE_STUDY_REPLAY_H
#define RUE_STUDY_REPLAY_H

#include "study.h"

/* Tells a strategy that predicts the ok trials that the store holds of the variant, in the order of their
 * making: they cost nothing. Of very many the newest of each cell and length. Takes time in proportion to the
 * rows of the store. */
rue_status rue_study_tell_stored(struct rue_study *study, size_t variant, void *state,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
