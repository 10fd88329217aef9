/* What a scaling experiment tries, and how long that is expected to take. */
#ifndef RUE_SCALE_PLAN_H
#define RUE_SCALE_PLAN_H

#include "scale_run.h"

/* Opens each of the data, probes it, and fills the results' sets and rows. As rue_scale_open. */
rue_status rue_scale_plan(struct rue_scale *scale, rue_error *error) RUE_MUST_CHECK;

/* What a study of one of the data asks for: a probe, which keeps nothing, or the trials. */
void rue_scale_study_goal(const struct rue_scale *scale, size_t set, bool probe, struct rue_study_goal *out);

/* The expected seconds of a row's trial. */
double rue_scale_row_s(const struct rue_scale *scale, const struct rue_scaling_row *row);

#endif
