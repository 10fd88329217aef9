/* Which strategy suits a study: where everything can be measured with time to spare, nothing has to be
 * predicted. */
#ifndef RUE_STUDY_CHOICE_H
#define RUE_STUDY_CHOICE_H

#include "study.h"

/* Chooses the strategy, and says why. */
rue_status rue_study_choose_strategy(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

#endif
