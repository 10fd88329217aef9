/* The one rule for times that lie far off. The error of a time, as a logarithm, is normal with a standard
 * deviation `sd` that its user knows; but 1 time in 25 was disturbed, in either direction, and its error has
 * a Laplace distribution (mean size 0.4) on top of that. Its tails are heavy: one disturbed time alone proves
 * nothing. Pure. */
#ifndef RUE_DISTURBANCE_H
#define RUE_DISTURBANCE_H

#include <stdbool.h>

/* The density of an error, disturbed or not. */
double rue_disturbance_density(double error, double sd);

/* The probability that a time with this error was disturbed. */
double rue_disturbance_probability(double error, double sd);

/* Whether it is more likely disturbed than not; false where the error is NaN. */
bool rue_disturbance_is_likely(double error, double sd);

/* The variance with which a time counts that was disturbed with that probability, and has `variance` else. */
double rue_disturbance_variance(double probability, double variance);

#endif
