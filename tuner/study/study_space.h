/* Which configurations are looked at. */
#ifndef RUE_STUDY_SPACE_H
#define RUE_STUDY_SPACE_H

#include "study.h"

/* Refuses pin_memory where nothing depends on it. RUE_USAGE. */
rue_status rue_study_check_pinning(const struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* The space that the goal asks for, or a default from `hello` or the usable CPUs; batch sizes that exceed the
 * job, and workers above the limit, are left out of a default and refused where they were asked for. */
rue_status rue_study_space(const struct rue_study_goal *goal, const struct rue_hello *hello,
                           uint64_t job_images, struct rue_space *out, rue_error *error) RUE_MUST_CHECK;

/* Lists the configurations of the space, those left out that repeat another one. RUE_USAGE for very many. */
rue_status rue_study_list_configs(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* What the curves of the goal keep, where it asks for curves. */
struct rue_study_curves {
    int batch_size, num_workers;
};
struct rue_study_curves rue_study_curves(const struct rue_study_setup *setup);

/* What a strategy for one variant gets, but for budget, aim and what is known: the grid, the job and what the
 * runner can do. */
struct rue_strategy_setup rue_study_strategy_setup(const struct rue_study_setup *setup, size_t variant);

/* The usable CPUs that the runner tells of, or this process's. */
int rue_study_usable_cpus(const struct rue_hello *hello);

/* What to give where there are to be no baselines, and for the usual ones. */
#define RUE_BASELINE_NONE  "none"
#define RUE_BASELINE_USUAL "usual"

/* Chooses study->setup.baselines.at: the one that the goal names, or those of the usual ones that the space
 * has. RUE_USAGE, with the option and the knob, for a configuration that cannot be measured. */
rue_status rue_study_choose_baselines(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Finds their columns in study->setup.configs, which has room for RUE_BASELINES_MAX more: one that the goal
 * names is added where it is not there, and a usual one is left out. */
void rue_study_list_baselines(struct rue_study_setup *setup);

#endif
