/* Notices that trials take longer, or shorter, than they should, and go on doing so: the machine has changed.
 *
 * Told is, for each trial in order, the logarithm of measured over expected time (the error) and its standard
 * deviation. Errors are normal, but for those of disturbed trials (disturbance.h). For each of several shifts
 * of that distribution, both ways, the logarithm of the likelihood ratio is summed, and begins anew where it
 * falls below nothing (CUSUM; Page 1954). Such a sum exceeds log(1 / p) by chance with a probability of at
 * most p for each trial at which it may have begun (Ville 1939), so log(trials * shifts / p) keeps false
 * alarms below p in all. A single disturbed trial is not enough, nor are two by different amounts. Pure: no
 * clock, no I/O. */
#ifndef RUE_SLOWDOWN_H
#define RUE_SLOWDOWN_H

#include <stdbool.h>
#include <stddef.h>

enum { RUE_SLOWDOWN_SHIFTS = 12 };

struct rue_slowdown {
    double threshold;
    struct rue_slowdown_sum {
        double evidence; /* logarithm of a likelihood ratio */
        size_t since;    /* the trial that it began with */
    } sums[RUE_SLOWDOWN_SHIFTS];
};

/* With a probability of at most `false_alarms` there is an alarm in `trials` without a change. */
struct rue_slowdown rue_slowdown_open(double false_alarms, size_t trials);

/* `trial`: its number, told back as `since`; numbers rise. `sd` above 0. */
void rue_slowdown_tell(struct rue_slowdown *slowdown, size_t trial, double error, double sd);

/* The largest of the sums, and (nullable) the trial that it began with. */
double rue_slowdown_evidence(const struct rue_slowdown *slowdown, size_t *since);

/* Whether that is enough for an alarm. */
bool rue_slowdown_is_sure(const struct rue_slowdown *slowdown);

/* The sums begin anew. */
void rue_slowdown_forget(struct rue_slowdown *slowdown);

/* The logarithm of how much likelier the error is when the machine has changed by `shift` (a logarithm). */
double rue_slowdown_ratio(double error, double sd, double shift);

/* ---- a measurement that is repeated ---- */

/* What a measurement that is repeated again and again is expected to be: the logarithms of its last times,
 * how far they scatter, and how far they may have drifted since. Disturbed ones (disturbance.h) count
 * little, as the mean is the median. Pure. */
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
