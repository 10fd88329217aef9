/* What kind of strategy a study has. */
#ifndef RUE_STUDY_STRATEGY_H
#define RUE_STUDY_STRATEGY_H

#include "study.h"

/* Whether the strategy predicts cells, claims something of them, and keeps to the budget itself, with a part
 * of it for each variant. Any other one asks for everything, and the driver leaves out what does not fit. */
bool rue_study_predicts(const struct rue_study *study);

/* What a strategy for one variant gets, but for budget, aim and what is known: the grid, the job and what the
 * runner can do. */
struct rue_strategy_setup rue_study_strategy_setup(const struct rue_study *study, size_t variant);

#endif
