/* How probable the joint trials are for each of several alphas (see error_prior.h): which of them tells best
 * how far predictions are off. */
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

/* The alpha by which they are most probable; of several alike the first. */
double rue_evidence_best(const struct rue_evidence *evidence);

#endif
