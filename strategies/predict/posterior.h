/* The posterior distribution of the log ratio, the logarithm of measured over predicted time, in every cell
 * (model × configuration): a Gaussian process (Rasmussen and Williams 2006).
 *
 * The log ratio of a trial is the sum of J (theta - theta0), random fields, drift, a node's effect and noise.
 * J is the gradient by the pipeline's parameters theta at theta0, those of the predictions; the prior's mean
 * and covariance are known. The fields (random_fields.h) are the errors of the pipeline model. Drift of the
 * machine has a correlation that decays with time. Trials on one node of a farm share its effect, which
 * cancels in their differences. A trial that was probably disturbed (disturbance.h) gets a larger noise
 * variance. The scales of fields and noise are hyperparameters, averaged over a grid of hypotheses.
 *
 * Calibration: each configuration is left out in turn, and its trials are predicted from the others. */
#ifndef RUE_POSTERIOR_H
#define RUE_POSTERIOR_H

#include "pipeline.h"
#include "random_fields.h"
#include "slowdown.h"

enum { RUE_LOADER_SLOPES = RUE_PIPELINE_PARAMETER_COUNT, RUE_POSTERIOR_SLOPES = RUE_LOADER_SLOPES + 2 };

/* A time, of a job or of a truncated one. Slopes: the gradient of its logarithm by the logarithms of the
 * parameters: the loader's, then batch_s and image_s of consumer number `consumer`. */
struct rue_posterior_point {
    struct rue_field_site site;
    double slopes[RUE_POSTERIOR_SLOPES];
    size_t consumer;
};

struct rue_posterior_trial {
    struct rue_posterior_point point;
    double log_ratio;       /* of measured over predicted time */
    double noise_variance;  /* for a noise scale of 1 */
    double added_variance;  /* beside it, whatever the scale */
    double seconds;         /* study time of the trial */
    struct rue_speed speed; /* of the machine then; trials at different speeds share no drift */
    size_t node;            /* of a farm, from 1; trials on different nodes share no drift; 0: no farm */
};

/* The covariance of two trials due to the machine's drift and the node's effect (like nodes differ a little).
 */
double rue_posterior_drift_covariance(const struct rue_posterior_trial *a,
                                      const struct rue_posterior_trial *b);

struct rue_posterior;

struct rue_posterior_setup {
    size_t model_count, config_count;
    const struct rue_config *configs; /* [config_count]; borrowed during open */
    size_t parameter_count;           /* the loader's, then two for each unknown consumer */
    const double *mean;               /* (optional) [parameter_count] mean of theta - theta0; else zeros */
    const double *covariance;         /* [parameter_count][parameter_count] */
    rue_status (*stop)(void); /* (optional) called often; ends a call with the status that it returns unless
                                 that is RUE_OK */
};

/* RUE_MEMORY; RUE_INTERNAL for a covariance that is not positive definite. */
rue_status rue_posterior_open(const struct rue_posterior_setup *setup, struct rue_posterior **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_posterior_close(struct rue_posterior *posterior);

/* Conditions on one more trial. Ignored: trials after the 240th, and a trial that makes the covariance
 * matrix singular, for example with a damaged prior. */
enum { RUE_POSTERIOR_TRIALS_MAX = 240 };
void rue_posterior_add(struct rue_posterior *posterior, const struct rue_posterior_trial *trial);
size_t rue_posterior_trial_count(const struct rue_posterior *posterior);

/* Removes the trials after the first `count`. */
void rue_posterior_truncate(struct rue_posterior *posterior, size_t count);

/* Estimates the scales, the probability that each trial was disturbed, and the calibration, from all trials.
 * RUE_INTERNAL; the status of `stop`. */
rue_status rue_posterior_update(struct rue_posterior *posterior, rue_error *error) RUE_MUST_CHECK;

/* Whether the last trial was probably disturbed. */
bool rue_posterior_is_last_disturbed(const struct rue_posterior *posterior);

/* From the last update: the root mean square of the standardised left-out residuals (above 1: overconfident),
 * and the number of configurations that were left out. */
struct rue_posterior_calibration {
    double ratio;
    size_t configs;
};
struct rue_posterior_calibration rue_posterior_calibration(const struct rue_posterior *posterior);

/* The posterior mean and variance of the log ratio of a point, without noise. */
void rue_posterior_predict(const struct rue_posterior *posterior, const struct rue_posterior_point *point,
                           double *mean, double *variance);

size_t rue_posterior_latent_size(const struct rue_posterior *posterior);

/* The log ratio of a point that a latent vector implies. */
double rue_posterior_evaluate(const struct rue_posterior *posterior, const double *latent,
                              const struct rue_posterior_point *point);

/* Writes the posterior mean into `latent`. */
void rue_posterior_mean(const struct rue_posterior *posterior, double *latent);

/* Writes a sample from the posterior into `latent`. */
void rue_posterior_sample(struct rue_posterior *posterior, uint64_t *seed, double *latent);

/* Adds weight * point to a linear combination of points; `latent` is zeros at first. */
void rue_posterior_accumulate(const struct rue_posterior *posterior, const struct rue_posterior_point *point,
                              double weight, double *latent);

/* Replaces a linear combination, the contrast, by its posterior covariances with all latent variables. The
 * result is valid until a trial is added. */
void rue_posterior_set_contrast(struct rue_posterior *posterior, double *latent);

/* The reduction of the contrast's posterior variance by such a trial. `latent`: the result of
 * rue_posterior_set_contrast. */
double rue_posterior_variance_reduction(const struct rue_posterior *posterior, const double *latent,
                                        const struct rue_posterior_trial *trial);

#endif
