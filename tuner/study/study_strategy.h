/* What kind of strategy a study has. */
#ifndef RUE_STUDY_STRATEGY_H
#define RUE_STUDY_STRATEGY_H

#include "study.h"

/* Whether the strategy predicts cells, and claims something of them. */
bool rue_study_predicts(const struct rue_study *study);

/* Whether it decides itself what is tried. */
bool rue_study_searches(const struct rue_study *study);

#endif
