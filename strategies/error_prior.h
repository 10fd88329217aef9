/* What is believed of the errors of a prediction, the logarithms of measured over predicted times, before any
 * joint trial: normal, and made of independent parts.
 *
 * A cell's error, model × configuration, is J * theta, as the parameters of the prediction are known by their
 * covariance only, plus something smooth (Matern 3/2 over log2 of batch size, workers and prefetch factor,
 * and over where batches lie) that all models share, plus something of model, batch size and where batches
 * lie in the consumer's share of the time (more where its compute was not measured), plus something of the
 * cell's own. All but the first are in proportion to alpha: how far predictions are off, relative to what is
 * usual. A trial that ran a part of the job depends on the parameters in another way than the job does, and
 * adds the machine's drift, which forgets with time, and noise.
 *
 * Jacobians are by theta, the logarithms of the parameters, and mostly 0: a time depends on the loader and on
 * its own model. Slopes are by z, independent and of variance 1, with theta = L * z. */
#ifndef RUE_ERROR_PRIOR_H
#define RUE_ERROR_PRIOR_H

#include "config.h"
#include "error.h"

struct rue_error_prior;

/* Arrays are borrowed for the call of open; cell (m, c) is at m * config_count + c. */
struct rue_error_prior_setup {
    size_t model_count, config_count;
    const struct rue_config *configs; /* [config_count] */
    size_t parameter_count;
    const double *jacobian;       /* [cells][parameter_count] of the logarithm of the predicted time */
    const double *covariance;     /* [parameter_count][parameter_count] */
    const double *consumer_share; /* [cells] 0 to 1 */
    const bool *compute_measured; /* [cells] at this batch size */
};

/* RUE_MEMORY; RUE_INTERNAL for a covariance that is none. */
rue_status rue_error_prior_open(const struct rue_error_prior_setup *setup, struct rue_error_prior **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_error_prior_close(struct rue_error_prior *prior);

size_t rue_error_prior_cells(const struct rue_error_prior *prior);
size_t rue_error_prior_parameters(const struct rue_error_prior *prior);

/* Of theta, [parameters][parameters]; how the time of the job in a cell depends on it, [parameters];
 * borrowed. */
const double *rue_error_prior_covariance(const struct rue_error_prior *prior);
const double *rue_error_prior_jacobian(const struct rue_error_prior *prior, size_t cell);

/* How a time depends on z, [parameters]: of the job in a cell, borrowed; of one with that jacobian. */
const double *rue_error_prior_slopes(const struct rue_error_prior *prior, size_t cell);
void rue_error_prior_slopes_of(const struct rue_error_prior *prior, const double *jacobian, double *out);

/* The covariance of the errors of two cells, of what is in proportion to alpha, for an alpha of 1. */
double rue_error_prior_scaled(const struct rue_error_prior *prior, size_t cell, size_t other);

/* Draws errors into `out` [cells + parameters + 1]: of the cells, theta, the drift. One call at a time. */
void rue_error_prior_draw(const struct rue_error_prior *prior, double alpha, uint64_t seed, double *out);

/* The drift's variance, and how much of a drift is left after so many seconds. */
double rue_error_prior_drift_variance(void);
double rue_error_prior_drift_kept(double seconds);

/* The variance that is added to a trial which lies so many standard deviations above what was expected: from
 * RUE_ERROR_OUTLIER on it counts as disturbed, and little. */
#define RUE_ERROR_OUTLIER 3.0
double rue_error_prior_disturbance(double distance);

#endif
