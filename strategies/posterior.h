/* What is believed of the time of every cell, model × configuration, given a prediction and what was
 * measured: a normal distribution of the logarithms of measured over predicted times (the errors), by their
 * mean, their covariance, and draws that are conditioned along with them, from which anything that depends on
 * several cells is told.
 *
 * Before any measurement an error is J * theta, as the parameters of the prediction are known by their
 * covariance only, plus something smooth (Matern 3/2 over log2 of batch size, workers and prefetch factor)
 * that all models share, plus something of model and batch size in the consumer's share of the time (three
 * times that where its compute was not measured), plus something of the cell's own. A measurement adds the
 * machine's drift, which forgets with time, and its own noise. One that ran a part of the job depends on the
 * parameters in another way than the job does. */
#ifndef RUE_POSTERIOR_H
#define RUE_POSTERIOR_H

#include "config.h"
#include "error.h"

struct rue_posterior;

/* Arrays are borrowed for the call of open; cell (m, c) is at m * config_count + c. */
struct rue_posterior_prior {
    size_t model_count, config_count;
    const struct rue_config *configs; /* [config_count] */
    size_t parameter_count;
    const double *jacobian;       /* [cells][parameter_count] of the logarithm of the predicted time */
    const double *covariance;     /* [parameter_count][parameter_count] */
    const double *consumer_share; /* [cells] 0 to 1 */
    const bool *compute_measured; /* [cells] at this batch size */
    double alpha;                 /* how far predictions are off, relative to what is usual */
    size_t draws;
    uint64_t seed;
};

/* RUE_MEMORY; RUE_INTERNAL for a covariance that is none. */
rue_status rue_posterior_open(const struct rue_posterior_prior *prior, struct rue_posterior **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_posterior_close(struct rue_posterior *posterior);

/* Time passes: the drift is forgotten. */
void rue_posterior_wait(struct rue_posterior *posterior, double seconds);

/* Tells the logarithm of measured over predicted time of a trial in a cell, with noise of `sd`. `jacobian`
 * [parameter_count] is that of the trial; NULL: the trial was the job. Answers how many standard deviations
 * it lies above what was expected; from RUE_POSTERIOR_OUTLIER on it counts as disturbed, and little. */
#define RUE_POSTERIOR_OUTLIER 3.0
double rue_posterior_observe(struct rue_posterior *posterior, size_t cell, const double *jacobian,
                             double error, double sd);

/* A trial that might be made: as in rue_posterior_observe. */
struct rue_posterior_trial {
    size_t cell;
    const double *jacobian;
    double sd;
};

/* The logarithm of measured over predicted time that such a trial is expected to show, now. */
void rue_posterior_expect(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                          double *mean, double *sd);

/* The covariances of everything with the sum of `weights` [cells] times the errors, into `out`
 * [cells + parameter_count + 1]: what rue_posterior_gain asks for. */
void rue_posterior_direct(const struct rue_posterior *posterior, const double *weights, double *out);

/* By how much the trials, `count` of them, 1 or 2, made one after the other, would lessen the variance of
 * that sum. */
double rue_posterior_gain(const struct rue_posterior *posterior, const double *direction,
                          const struct rue_posterior_trial *trials, size_t count);

/* What the measurements so far had for probability, its logarithm: to compare priors. */
double rue_posterior_evidence(const struct rue_posterior *posterior);

/* [cells], valid until the next call that changes the posterior. */
const double *rue_posterior_mean(const struct rue_posterior *posterior);
double rue_posterior_covariance(const struct rue_posterior *posterior, size_t cell, size_t other);

/* Draw `index` of the errors, [cells]. */
const double *rue_posterior_draw(const struct rue_posterior *posterior, size_t index);

#endif
