/* The options of a loader by knobs and workload: of a trial, and of the loader that is used afterwards. */
#ifndef RUE_TRIAL_OPTIONS_H
#define RUE_TRIAL_OPTIONS_H

#include "loader.h"
#include "trial.h"

/* The order of the workload, for data with one item; rue_sampler_open sets `items`. */
struct rue_sampler rue_workload_sampler(const struct rue_workload *workload);

/* The loader options of a joint or load trial. Truncated trials (images < job_images) have whole batches.
 * Without the views: see rue_trial_views. */
struct rue_loader_options rue_trial_loader_options(const struct rue_trial_request *request);

/* Reads the views of a workload that trains, and sets them in the options; they must live until the loader is
 * open. RUE_USAGE. */
rue_status rue_trial_views(const struct rue_workload *workload, struct rue_views *views,
                           struct rue_loader_options *options, rue_error *error) RUE_MUST_CHECK;

/* The tensors of an item of `source` with this workload. RUE_USAGE. */
rue_status rue_trial_item_shape(const struct rue_workload *workload, const struct rue_source *source,
                                struct rue_item_shape *out, rue_error *error) RUE_MUST_CHECK;

#endif
