/* The options of a loader by knobs and workload: of a trial, and of the loader that is used afterwards. */
#ifndef RUE_TRIAL_OPTIONS_H
#define RUE_TRIAL_OPTIONS_H

#include "loader.h"
#include "trial.h"

/* The order of the workload, for data with one item; rue_sampler_open sets `items`. */
struct rue_sampler rue_workload_sampler(const struct rue_workload *workload);

/* The loader options of a joint or load trial. Truncated trials (images < job_images) have whole batches.
 * Without the recipe: see rue_trial_recipe. */
struct rue_loader_options rue_trial_loader_options(const struct rue_trial_request *request);

/* Reads the recipe of a workload that trains, and sets it in the options; it must live until the loader is
 * open. RUE_USAGE. */
rue_status rue_trial_recipe(const struct rue_workload *workload, struct rue_recipe *recipe,
                            struct rue_loader_options *options, rue_error *error) RUE_MUST_CHECK;

#endif
