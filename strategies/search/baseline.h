/* What a measurement that is repeated again and again is expected to be: the logarithms of its last times,
 * how far they scatter, and how far they may have drifted since. Disturbed ones (disturbance.h) count
 * little, as the mean is the median. Pure. */
#ifndef RUE_BASELINE_H
#define RUE_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

enum { RUE_BASELINE_KEPT = 9, RUE_BASELINE_LEAST = 3 };

/* Zeroed: nothing is known. */
struct rue_baseline {
    size_t count, next;
    double kept[RUE_BASELINE_KEPT]; /* [count] */
    double squares, square_count;   /* of what lay beside what was expected */
};

/* The next value is expected to be `*mean`, give or take `*sd`; false before RUE_BASELINE_LEAST values. */
bool rue_baseline_expect(const struct rue_baseline *baseline, double *mean, double *sd);

/* How far the next value is off, where it is so much: what may be the fault of the mean, which all values
 * after it share, is taken off. False as above. */
bool rue_baseline_error(const struct rue_baseline *baseline, double value, double *error, double *sd);

/* Adds a value. */
void rue_baseline_add(struct rue_baseline *baseline, double value);

/* A value that may not belong here tells of the scatter alone. */
void rue_baseline_scatter(struct rue_baseline *baseline, double value);

/* The scatter stays, the values are forgotten: the machine has changed. */
void rue_baseline_forget(struct rue_baseline *baseline);

#endif
