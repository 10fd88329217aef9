/* What the budget leaves for trials, and whether it holds the smallest study that is of use. */
#ifndef RUE_STUDY_BUDGET_H
#define RUE_STUDY_BUDGET_H

#include "study.h"

/* Seconds that a budget of time leaves for trials, at least 0; the reports need a part of it. */
double rue_study_budget_left_s(const struct rue_study *study);

/* Whether a number of trials is enough for one configuration on every scenario. RUE_USAGE. */
rue_status rue_study_check_trials(const struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Whether the budget holds the smallest study of so many variants, the last of which may not be open yet: one
 * trial of the cheapest configuration on every scenario, and the probes that a strategy that predicts cannot
 * do without. What is not known yet costs nothing, so this may be asked again when more is known. RUE_USAGE,
 * with the least budget that is enough as far as is known; of a strategy that does not predict, for two
 * configurations where there are two: one alone compares with nothing. */
rue_status rue_study_check_smallest(const struct rue_study *study, size_t variants,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
