/* The configurations that people use anyway. */
#ifndef RUE_STUDY_BASELINES_H
#define RUE_STUDY_BASELINES_H

#include "study.h"

/* What to give where there are to be no baselines, and for the usual ones. */
#define RUE_BASELINE_NONE  "none"
#define RUE_BASELINE_USUAL "usual"

/* Chooses study->baselines: the one that the goal names, or those of the usual ones that the space has.
 * RUE_USAGE, with the option and the knob, for a configuration that cannot be measured. */
rue_status rue_study_choose_baselines(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Finds their columns in study->configs, which has room for RUE_BASELINES_MAX more: one that the goal names
 * is added where it is not there. */
void rue_study_list_baselines(struct rue_study *study);

#endif
