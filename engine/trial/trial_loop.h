/* A trial: runs loader and model together, and measures the time of each. */
#ifndef RUE_TRIAL_LOOP_H
#define RUE_TRIAL_LOOP_H

#include "model.h"
#include "trial.h"

/* Whether the batches of the job, in all loaders, fit into the memory limit of the request. */
bool rue_trial_fits_limit(const struct rue_trial_request *request);

/* `wait` is called just before the time of the trial begins. If it fails, the trial fails. */
struct rue_trial_start {
    rue_status (*wait)(void *context, rue_error *error);
    void *context;
};

/* Runs `request` as one loader, to which the limits apply. `start` may be shared by several trials; NULL:
 * start at once. For the measure `compute` the model is warmed up first, and `source` may be NULL. Errors
 * become the outcome and reason of the result. The caller owns the arrays of the result. */
void rue_trial_run(const struct rue_trial_start *start, const struct rue_trial_request *request,
                   const struct rue_source *source, struct rue_model *model, struct rue_trial_result *result);

#endif
