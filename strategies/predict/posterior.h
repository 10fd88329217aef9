/* What is believed of every time, model × configuration: a Gaussian process over all cells at once.
 *
 * The logarithm of measured over predicted time of a trial is J (theta - theta0), as the pipeline's
 * parameters theta are known by their mean and covariance only, plus what the fields say (random_fields.h),
 * plus the machine's drift, which forgets with time, plus noise. A disturbed trial
 * (disturbance.h) tells little; which one was, the others tell. The scales of the fields and of the noise are
 * unknown: each of several has the probability that the trials give it.
 *
 * With the trials left out of one configuration after the other, exactly, the process says how far off its
 * own beliefs are: the audit. */
#ifndef RUE_POSTERIOR_H
#define RUE_POSTERIOR_H

#include "pipeline.h"
#include "random_fields.h"
#include "slowdown.h"

enum { RUE_LOADER_SLOPES = RUE_PIPELINE_PARAMETER_COUNT, RUE_POSTERIOR_SLOPES = RUE_LOADER_SLOPES + 2 };

/* A time, of a job or of a part of it. Slopes are those of its logarithm by the logarithms of the loader's
 * parameters, then by those of batch_s and image_s of its consumer, the last two parameters but `consumer`
 * times two. */
struct rue_posterior_point {
    struct rue_field_site place;
    double slopes[RUE_POSTERIOR_SLOPES];
    size_t consumer;
};

struct rue_posterior_trial {
    struct rue_posterior_point point;
    double log_ratio;       /* of measured over predicted time */
    double noise;           /* variance, for a scale of 1 */
    double seconds;         /* when */
    struct rue_speed speed; /* of the machine then; where it differs the drift is another one */
};

/* The covariance of the machine's drift in two trials. */
double rue_posterior_drift_covariance(const struct rue_posterior_trial *a,
                                      const struct rue_posterior_trial *b);

struct rue_posterior;

struct rue_posterior_setup {
    size_t model_count, config_count;
    const struct rue_config *configs; /* [config_count]; borrowed for the call of open */
    size_t parameter_count;           /* of the loader, then two for each unknown consumer */
    const double *covariance;         /* [parameter_count][parameter_count] */
    rue_status (*stop)(void); /* (optional) asked often; what it returns other than RUE_OK ends a call */
};

/* RUE_MEMORY; RUE_INTERNAL for a covariance that is none. */
rue_status rue_posterior_open(const struct rue_posterior_setup *setup, struct rue_posterior **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_posterior_close(struct rue_posterior *belief);

/* One more trial. From the 241st on they are skipped, and so is one whose numbers fit to nothing, as those of
 * a damaged prior. */
enum { RUE_POSTERIOR_TRIALS_MAX = 240 };
void rue_posterior_add(struct rue_posterior *belief, const struct rue_posterior_trial *trial);
size_t rue_posterior_trial_count(const struct rue_posterior *belief);

/* Looks at all trials anew: the scales, which trials were disturbed, and the audit. RUE_INTERNAL; what the
 * stop returns. */
rue_status rue_posterior_update(struct rue_posterior *belief, rue_error *error) RUE_MUST_CHECK;

/* Whether the last trial is held for a disturbed one. */
bool rue_posterior_is_last_disturbed(const struct rue_posterior *belief);

/* What the last call of learn found: by how much beliefs are too narrow (1: not at all) as the trials that
 * were left out have it, and how many configurations told that. */
struct rue_posterior_calibration {
    double ratio;
    size_t configs;
};
struct rue_posterior_calibration rue_posterior_calibration(const struct rue_posterior *belief);

/* The logarithm of measured over predicted that the point is believed to have, without noise. */
void rue_posterior_predict(const struct rue_posterior *belief, const struct rue_posterior_point *point,
                           double *mean, double *variance);

/* ---- states: one possible truth, or what is expected, or covariances, of everything ---- */

size_t rue_posterior_latent_size(const struct rue_posterior *belief);

/* What a state says of a point. */
double rue_posterior_evaluate(const struct rue_posterior *belief, const double *state,
                              const struct rue_posterior_point *point);

/* What is expected, into `state`. */
void rue_posterior_mean(const struct rue_posterior *belief, double *state);

/* A possible truth into `state`. */
void rue_posterior_sample(struct rue_posterior *belief, uint64_t *seed, double *state);

/* Adds weight * point to the sum that `state`, zeros at first, stands for. */
void rue_posterior_accumulate(const struct rue_posterior *belief, const struct rue_posterior_point *point,
                              double weight, double *state);

/* Such a sum becomes the covariances of everything with it; rue_posterior_variance_reduction is about it,
 * until a trial is added. */
void rue_posterior_set_contrast(struct rue_posterior *belief, double *state);

/* By how much such a trial would lessen the variance of that sum. `state`: as direct has it. */
double rue_posterior_variance_reduction(const struct rue_posterior *belief, const double *state,
                                        const struct rue_posterior_trial *trial);

#endif
