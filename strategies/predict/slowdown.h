/* Detects that the machine has changed: trials are consistently slower, or faster, than predicted.
 *
 * Each observation is the logarithm of measured over predicted time (the error) and its standard deviation.
 * Errors are normal, contaminated by disturbed trials (disturbance.h). For each of several shifts of that
 * distribution, in both directions, the logarithm of the likelihood ratio is summed, and reset to 0 when
 * negative (CUSUM; Page 1954). By chance, a sum exceeds log(1 / p) with a probability of at most p for each
 * trial at which it may have started (Ville 1939). The threshold log(trials * shifts / p) therefore bounds
 * the probability of any false alarm by p. One disturbed trial does not suffice, nor do two with different
 * errors. Pure: no clock, no I/O. */
#ifndef RUE_SLOWDOWN_H
#define RUE_SLOWDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "trial.h"

enum { RUE_SLOWDOWN_SHIFTS = 12 };

struct rue_slowdown {
    double threshold;
    struct rue_slowdown_sum {
        double evidence; /* sum of log likelihood ratios */
        size_t since;    /* the trial at which the sum started */
    } sums[RUE_SLOWDOWN_SHIFTS];
};

/* `false_alarms`: upper bound of the probability of a false alarm in `trials` trials. */
struct rue_slowdown rue_slowdown_open(double false_alarms, size_t trials);

/* `trial`: its number, at least that of the last one; `sd` > 0. */
void rue_slowdown_observe(struct rue_slowdown *slowdown, size_t trial, double error, double sd);

/* The largest sum, and (nullable) the trial at which it started. */
double rue_slowdown_evidence(const struct rue_slowdown *slowdown, size_t *since);

/* Whether the largest sum has reached the threshold. */
bool rue_slowdown_is_detected(const struct rue_slowdown *slowdown);

/* Resets all sums. */
void rue_slowdown_reset(struct rue_slowdown *slowdown);

/* The log likelihood ratio of an error: machine changed by `shift` (a logarithm) over unchanged. */
double rue_slowdown_log_likelihood_ratio(double error, double sd, double shift);

/* Reorders the values. */
double rue_median(double *values, size_t count);

/* Predicts the next time of a repeated measurement from the logarithms of its last times: their median, their
 * scatter, and possible drift. Disturbed times (disturbance.h) have little influence. Pure. */
enum { RUE_REFERENCE_VALUES = 9, RUE_REFERENCE_VALUES_MIN = 3 };

/* Zeroed: no values. */
struct rue_reference_level {
    size_t count, next;
    double recent[RUE_REFERENCE_VALUES]; /* [count], a ring */
    double squares, square_count;        /* weighted sum of squared errors of prediction, and of weights */
};

/* Predicts the next value; false before RUE_REFERENCE_VALUES_MIN values. */
bool rue_reference_level_predict(const struct rue_reference_level *level, double *mean, double *sd);

/* The error of a value, reduced by an allowance for the error of the median, which all later values share. 0:
 * within the allowance. False as above. */
bool rue_reference_level_error(const struct rue_reference_level *level, double value, double *error,
                               double *sd);

/* Adds a value. */
void rue_reference_level_add(struct rue_reference_level *level, double value);

/* Uses a value for the scatter only, because the machine may have changed. */
void rue_reference_level_add_scatter(struct rue_reference_level *level, double value);

/* Drops the values after a change of the machine; the scatter stays. */
void rue_reference_level_reset(struct rue_reference_level *level);

/* Slow-down of the machine since the first trial. Loading and computing can change differently: a sleeping
 * model does not depend on the CPUs. Pure. */
/* Logarithms of the factors by which times have grown; zeroed: initial speed. */
struct rue_speed {
    double load, compute;
};

bool rue_speed_differs(struct rue_speed a, struct rue_speed b);

/* Changes in order of time, at most RUE_SPEED_CHANGES_MAX; zeroed: none. */
enum { RUE_SPEED_CHANGES_MAX = 32 };
struct rue_speed_history {
    size_t count;
    struct rue_speed_change {
        size_t since; /* the first trial after the change; trials are numbered in the order they were made */
        struct rue_speed slowdown;
    } at[RUE_SPEED_CHANGES_MAX];
};

void rue_speed_history_add(struct rue_speed_history *history, size_t since, struct rue_speed slowdown);

/* The slow-down in a trial; SIZE_MAX: at present. */
struct rue_speed rue_speed_history_at(const struct rue_speed_history *history, size_t trial);

/* Phases lie between changes; number 0 is before the first. The phase of a trial, and the slow-down in it. */
size_t rue_speed_history_phase(const struct rue_speed_history *history, size_t trial);
struct rue_speed rue_speed_history_in_phase(const struct rue_speed_history *history, size_t phase);

/* The speed of the phases with most weight; `weights` [count + 1], for example their time. The first of equal
 * ones. */
struct rue_speed rue_speed_history_usual(const struct rue_speed_history *history, const double *weights);

/* The time of an ok joint trial over its time at the initial speed. If the loader was slower (the consumer
 * waited), the time scales with the loader, but not below the compute time. Otherwise the consumer's time
 * scales with the model, and the rest with the loader. Without times of its parts, a trial scales with the
 * loader. */
double rue_speed_ratio(struct rue_speed speed, const struct rue_trial_result *result);

#endif
