/* The configurations that people use anyway, and room in the budget for whole jobs of them. */
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

/* Which whole jobs are measured for the comparison: rounds of the best configuration found and of the
 * baselines from `first` on, on each of the models. */
struct rue_baseline_plan {
    size_t first, rounds; /* no rounds: not even one of the last baseline fits */
    size_t trials;        /* of all rounds, or of that one */
    double s;             /* the same in seconds */
};

/* As many as fit. `cost_s`: seconds of a round of the best configuration, and of each baseline behind it;
 * `variants`: how many of them share the limits, which may be INFINITY. */
struct rue_baseline_plan rue_study_plan_baselines(const struct rue_study *study,
                                                  const double cost_s[1 + RUE_BASELINES_MAX], size_t variants,
                                                  double limit_s, double limit_trials);

/* Keeps room for them, a quarter of the budget at most, in study->reserve_s and reserve_trials. `cost_s` as
 * above; NULL where only a number of trials can be told. */
void rue_study_reserve_baselines(struct rue_study *study, const double cost_s[1 + RUE_BASELINES_MAX]);

/* `cost_s` as the plan's probes tell it; false without them. */
bool rue_study_baseline_costs(const struct rue_study *study, double cost_s[1 + RUE_BASELINES_MAX]);

#endif
