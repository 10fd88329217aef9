/* The plan of a study: its strategy, and the expected cost. */
#ifndef RUE_PLAN_H
#define RUE_PLAN_H

#include "study_parts.h"

/* Chooses a strategy if none was requested, probes what trials cost, and lists the baselines. RUE_USAGE: the
 * budget is too small for any answer. */
rue_status rue_study_plan(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

#endif
