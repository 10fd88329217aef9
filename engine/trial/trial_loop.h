/* The trial: loader and model run together, and the clock says how long each part took. */
#ifndef RUE_TRIAL_LOOP_H
#define RUE_TRIAL_LOOP_H

#include "loader.h"
#include "model.h"
#include "trial.h"

/* The loader of a joint or load trial, as `request` asks for it. A truncated trial (images < job_images) is
 * cut to whole batches, at least one. */
struct rue_loader_options rue_trial_loader_options(const struct rue_trial_request *request);

/* Whether the request's limit of memory leaves room for the batches that its job needs, in all of its
 * loaders. */
bool rue_trial_fits_limit(const struct rue_trial_request *request);

/* Called when all is ready, just before the trial's time begins; what it fails with, the trial does. */
struct rue_trial_start {
    rue_status (*wait)(void *context, rue_error *error);
    void *context;
};

/* Runs `request` on an open source and model, as one loader, whose own the limits are, at a start that
 * several trials may have in common (NULL: at once); the measure compute warms the model up outside its time.
 * Never fails by itself: what goes wrong is the result's outcome and reason. `source` may be NULL for the
 * measure compute. The result's arrays are owned by the caller. */
void rue_trial_run(const struct rue_trial_start *start, const struct rue_trial_request *request,
                   const struct rue_source *source, struct rue_model *model, struct rue_trial_result *result);

#endif
