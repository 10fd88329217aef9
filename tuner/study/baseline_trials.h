/* Whole jobs of what the search found and of the baselines, one after the other on each model. */
#ifndef RUE_BASELINE_TRIALS_H
#define RUE_BASELINE_TRIALS_H

#include "study.h"

/* How the study measures; models and configurations are numbers in it. */
struct rue_baseline_trials {
    void *context;
    /* Seconds that a whole job is expected to cost; NaN where that is not known. */
    double (*job_s)(const void *context, size_t variant, size_t model, size_t config);
    /* A new trial of the whole job, told to strategy and matrices as any other. */
    rue_status (*measure)(void *context, size_t variant, size_t model, size_t config, rue_error *error);
    /* The matrix of the variant is told what the strategy believes now. */
    rue_status (*update)(void *context, size_t variant, rue_error *error);
};

/* Measures what the search found for the variant beside the baselines, as far as the budget goes, and fills
 * study->compared. Pairs that the store holds count. Statuses of `trials`; RUE_MEMORY. */
rue_status rue_baseline_trials_run(struct rue_study *study, size_t variant,
                                   const struct rue_baseline_trials *trials, rue_error *error) RUE_MUST_CHECK;

/* The gain of the one configuration over the other, of pairs of whole jobs on every model that the store
 * holds; without pairs where a model has none. `weights` as in gain.h. RUE_MEMORY, RUE_STORE. */
rue_status rue_baseline_gain(struct rue_study *study, size_t variant, size_t one, size_t other,
                             const double *weights, double confidence, struct rue_gain *out,
                             rue_error *error) RUE_MUST_CHECK;

#endif
