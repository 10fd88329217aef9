/* What is believed of the errors of a prediction, cell by cell, given joint trials: a normal distribution by
 * its mean, its covariance, and draws that are conditioned along with them, from which anything that depends
 * on several cells is told. */
#ifndef RUE_POSTERIOR_H
#define RUE_POSTERIOR_H

#include "error_prior.h"

struct rue_posterior;

/* `prior` is borrowed for the posterior's life. RUE_MEMORY. */
rue_status rue_posterior_open(const struct rue_error_prior *prior, double alpha, size_t draws, uint64_t seed,
                              struct rue_posterior **out, rue_error *error) RUE_MUST_CHECK;
void rue_posterior_close(struct rue_posterior *posterior);

/* Time passes: the drift is forgotten. */
void rue_posterior_wait(struct rue_posterior *posterior, double seconds);

/* A trial that was made or might be. */
struct rue_posterior_trial {
    size_t cell;
    const double *jacobian; /* [parameters] of the trial; NULL: it is the job */
    double sd;              /* of its noise */
};

/* Tells the logarithm of measured over predicted time of a trial. Answers how many standard deviations it
 * lies above what was expected; see RUE_ERROR_OUTLIER. */
double rue_posterior_observe(struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                             double log_ratio);

/* The logarithm of measured over predicted time that such a trial is expected to show, now. */
void rue_posterior_expect(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                          double *mean, double *sd);

/* The covariances of everything with the sum of `weights` [cells] times the errors, into `out`
 * [cells + parameters + 1]: what rue_posterior_gain asks for. */
void rue_posterior_direct(const struct rue_posterior *posterior, const double *weights, double *out);

/* By how much the trials, `count` of them, 1 or 2, made one after the other, would lessen the variance of
 * that sum. */
double rue_posterior_gain(const struct rue_posterior *posterior, const double *direction,
                          const struct rue_posterior_trial *trials, size_t count);

/* [cells], valid until the next call that changes the posterior. */
const double *rue_posterior_mean(const struct rue_posterior *posterior);
double rue_posterior_covariance(const struct rue_posterior *posterior, size_t cell, size_t other);

/* Draw `index` of the errors, [cells]. */
const double *rue_posterior_draw(const struct rue_posterior *posterior, size_t index);

#endif
