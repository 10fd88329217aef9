/* How probable the joint trials are for each of several alphas (see error_prior.h): how far predictions are
 * off is told by all of them together. */
#ifndef RUE_EVIDENCE_H
#define RUE_EVIDENCE_H

#include "error_prior.h"

struct rue_evidence;

/* So many trials tell it; those that come after them count no more, as their time grows with their square. */
enum { RUE_EVIDENCE_TRIALS = 500 };

/* `prior` is borrowed for the evidence's life. RUE_MEMORY. */
rue_status rue_evidence_open(const struct rue_error_prior *prior, const double *alphas, size_t alpha_count,
                             struct rue_evidence **out, rue_error *error) RUE_MUST_CHECK;
void rue_evidence_close(struct rue_evidence *evidence);

/* Time passes: the drift is forgotten. */
void rue_evidence_wait(struct rue_evidence *evidence, double seconds);

/* Adds a trial that says the logarithm of measured over predicted time, with noise of `sd`. `jacobian`
 * [parameters] is that of the trial; NULL: the trial was the job. RUE_MEMORY. */
rue_status rue_evidence_add(struct rue_evidence *evidence, size_t cell, const double *jacobian,
                            double log_ratio, double sd, rue_error *error) RUE_MUST_CHECK;

/* The root of the mean square of alpha, each as probable as it makes the trials: few of them leave large ones
 * probable. */
double rue_evidence_alpha(const struct rue_evidence *evidence);

#endif
