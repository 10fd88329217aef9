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

#include "trial.h"

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
void rue_slowdown_observe(struct rue_slowdown *slowdown, size_t trial, double error, double sd);

/* The largest of the sums, and (nullable) the trial that it began with. */
double rue_slowdown_evidence(const struct rue_slowdown *slowdown, size_t *since);

/* Whether that is enough for an alarm. */
bool rue_slowdown_is_detected(const struct rue_slowdown *slowdown);

/* The sums begin anew. */
void rue_slowdown_reset(struct rue_slowdown *slowdown);

/* The logarithm of how much likelier the error is when the machine has changed by `shift` (a logarithm). */
double rue_slowdown_log_likelihood_ratio(double error, double sd, double shift);

/* ---- a measurement that is repeated ---- */

/* What a measurement that is repeated again and again is expected to be: the logarithms of its last times,
 * how far they scatter, and how far they may have drifted since. Disturbed ones (disturbance.h) count
 * little, as the mean is the median. Pure. */
enum { RUE_REFERENCE_VALUES = 9, RUE_REFERENCE_VALUES_MIN = 3 };

/* Zeroed: nothing is known. */
struct rue_reference_level {
    size_t count, next;
    double kept[RUE_REFERENCE_VALUES]; /* [count] */
    double squares, square_count;      /* of what lay beside what was expected */
};

/* The next value is expected to be `*mean`, give or take `*sd`; false before RUE_REFERENCE_VALUES_MIN values.
 */
bool rue_reference_level_predict(const struct rue_reference_level *baseline, double *mean, double *sd);

/* How far the next value is off, where it is so much: what may be the fault of the mean, which all values
 * after it share, is taken off. False as above. */
bool rue_reference_level_error(const struct rue_reference_level *baseline, double value, double *error,
                               double *sd);

/* Adds a value. */
void rue_reference_level_add(struct rue_reference_level *baseline, double value);

/* A value that may not belong here tells of the scatter alone. */
void rue_reference_level_add_scatter(struct rue_reference_level *baseline, double value);

/* The scatter stays, the values are forgotten: the machine has changed. */
void rue_reference_level_reset(struct rue_reference_level *baseline);

/* ---- how slow it is ---- */

/* How much slower the machine has become since the first trial. Loading and computing may slow down by
 * different amounts: a model that sleeps takes its time whatever happens to the CPUs. Pure. */
/* Logarithms of how many times longer things take; zeroed: as at the beginning. */
struct rue_speed {
    double load, compute;
};

bool rue_speed_differs(struct rue_speed a, struct rue_speed b);

/* The changes of a machine in the order of their time; zeroed: none. The last of very many stands for those
 * that follow, too. */
enum { RUE_SPEED_CHANGES_MAX = 32 };
struct rue_speed_history {
    size_t count;
    struct rue_speed_change {
        size_t since; /* the first trial that it concerns; trials are numbered as they were made */
        struct rue_speed by;
    } at[RUE_SPEED_CHANGES_MAX];
};

void rue_speed_history_add(struct rue_speed_history *history, size_t since, struct rue_speed by);

/* How slow the machine was when it made the trial; SIZE_MAX: how slow it is now. */
struct rue_speed rue_speed_history_at(const struct rue_speed_history *history, size_t trial);

/* How many times longer an ok joint trial took than it would have taken at the beginning. Where its loader
 * was the slower side (the consumer waited again and again) it shrinks as the loader does, down to what
 * computing takes; else the consumer's time shrinks as the models do, and what is beside it as the loader. A
 * trial that does not tell its parts shrinks as the loader. */
double rue_speed_ratio(struct rue_speed speed, const struct rue_trial_result *result);

#endif
