/* How probable the joint trials are for each of several hypotheses of how far predictions are off and how
 * noisy trials are; which of them holds is told by all of them together. */
#ifndef RUE_EVIDENCE_H
#define RUE_EVIDENCE_H

#include "error_prior.h"

struct rue_evidence;

struct rue_error_scales {
    double alpha; /* of what predictions are off by (see error_prior.h) */
    double noise; /* of the standard deviations of trials */
};

struct rue_error_hypothesis {
    struct rue_error_scales scales;
    double log_prior; /* logarithm of how probable it is before any trial, but for a constant */
};

/* So many trials tell it; those that come after them count no more, as their time grows with their square. */
enum { RUE_EVIDENCE_TRIALS = 500 };

/* `prior` is borrowed for the evidence's life. RUE_MEMORY. */
rue_status rue_evidence_open(const struct rue_error_prior *prior,
                             const struct rue_error_hypothesis *hypotheses, size_t count,
                             struct rue_evidence **out, rue_error *error) RUE_MUST_CHECK;
void rue_evidence_close(struct rue_evidence *evidence);

/* Time passes: the drift is forgotten. */
void rue_evidence_wait(struct rue_evidence *evidence, double seconds);

/* Adds a trial that says the logarithm of measured over predicted time, with noise of `sd`. `jacobian`
 * [parameters] is that of the trial; NULL: the trial was the job. RUE_MEMORY. */
rue_status rue_evidence_add(struct rue_evidence *evidence, size_t cell, const double *jacobian,
                            double log_ratio, double sd, rue_error *error) RUE_MUST_CHECK;

/* The roots of the mean squares of both, each hypothesis as probable as it makes the trials: few of them
 * leave large ones probable. */
struct rue_error_scales rue_evidence_scales(const struct rue_evidence *evidence);

#endif
