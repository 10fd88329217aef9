/* The configurations of a study. */
#ifndef RUE_STUDY_SPACE_H
#define RUE_STUDY_SPACE_H

#include "contention.h"
#include "study_ledger.h"

/* RUE_USAGE if pin_memory was given and nothing depends on it. */
rue_status rue_study_check_pinning(const struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* The requested space, with defaults from `hello` or the usable CPUs. Batch sizes above the job and workers
 * above the limit are removed from defaults. Of requested batch sizes that are not below the job, the
 * smallest stays: it loads the job as one batch. RUE_USAGE: drop_last would skip that batch, or workers above
 * the limit were requested. */
rue_status rue_study_space(const struct rue_study_goal *goal, const struct rue_hello *hello,
                           uint64_t job_images, struct rue_space *out, rue_error *error) RUE_MUST_CHECK;

/* Prints that fewer batch sizes are left than the `requested` ones. */
void rue_study_note_batches(const struct rue_study_setup *setup, int requested, uint64_t job_images);

/* RUE_USAGE if the space has batches of changing size, and a model computes on a GPU. */
rue_status rue_study_check_batches(const struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Lists the configurations of the space, without duplicates. RUE_USAGE: there are too many. */
rue_status rue_study_list_configs(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* The fixed values of the two curves, if the goal requests curves. */
struct rue_study_curves {
    int batch_size, num_workers;
};
struct rue_study_curves rue_study_curves(const struct rue_study_setup *setup);

/* The strategy's setup for one variant: grid, job and runner; without budget, aim and priors. */
struct rue_strategy_setup rue_study_strategy_setup(const struct rue_study_setup *setup, size_t variant);

/* The usable CPUs that the runner reports, or those of this process. */
int rue_study_usable_cpus(const struct rue_hello *hello);

/* How much other programs slowed a trial down, for a strategy with predictions; others use times as measured.
 */
struct rue_contention rue_study_contention(const struct rue_study_setup *setup,
                                           const struct rue_trial_result *result);

/* What people use where they choose nothing: no workers, the batch size nearest to 32, and the default of
 * every other knob, as far as the space has it. */
struct rue_config rue_study_default_config(const struct rue_space *space);

/* Values of --baseline: without baselines, and with the default ones. */
#define RUE_BASELINE_NONE  "none"
#define RUE_BASELINE_USUAL "usual"

/* Chooses setup->baselines.at: the one that the goal names, or the default ones that lie in the space.
 * RUE_USAGE, with the option and the knob, for a configuration that cannot be measured. */
rue_status rue_study_choose_baselines(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Finds the columns of the baselines in setup->configs, which has space for RUE_BASELINES_MAX more. A missing
 * one is added if the goal names it; a default one is dropped. */
void rue_study_list_baselines(struct rue_study_setup *setup);

#endif
