/* The model of outliers that all estimates share: a contaminated normal distribution (Tukey 1960). The error
 * of the logarithm of a time is normal, with a standard deviation `sd` from the caller. With probability 0.04
 * the trial was disturbed, and an error with a Laplace distribution (mean size 0.4) is added. The tails are
 * heavy, so one disturbed time alone is weak evidence. Pure. */
#ifndef RUE_DISTURBANCE_H
#define RUE_DISTURBANCE_H

#include <stdbool.h>

/* The density of an error under the mixture. */
double rue_disturbance_density(double error, double sd);

/* The posterior probability that a time with this error was disturbed. */
double rue_disturbance_probability(double error, double sd);

/* Whether that probability is above 0.5; false where the error is NaN. */
bool rue_disturbance_is_likely(double error, double sd);

/* The variance of a time that was disturbed with `probability` and has `variance` otherwise: the harmonic
 * mean, so that the time counts by its expected precision. */
double rue_disturbance_variance(double probability, double variance);

#endif
