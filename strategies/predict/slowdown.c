#include "slowdown.h"

#include <assert.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "disturbance.h"
#include "job_time.h"

static const double shifts[RUE_SLOWDOWN_SHIFTS] = {0.15,  0.22,  0.33,  0.5,  0.8,  1.3,
                                                   -0.15, -0.22, -0.33, -0.5, -0.8, -1.3};
static const double shift_spread = 0.2; /* of a shift, relative: a shift represents similar ones */

double rue_slowdown_log_likelihood_ratio(double error, double sd, double shift)
{
    return log(rue_disturbance_density(error - shift, hypot(sd, shift_spread * shift)) /
               rue_disturbance_density(error, sd));
}

struct rue_slowdown rue_slowdown_open(double false_alarms, size_t trials)
{
    return (struct rue_slowdown){.threshold = log((double)trials * RUE_SLOWDOWN_SHIFTS / false_alarms)};
}

void rue_slowdown_observe(struct rue_slowdown *slowdown, size_t trial, double error, double sd)
{
    for (int i = 0; i < RUE_SLOWDOWN_SHIFTS; i++) {
        struct rue_slowdown_sum *sum = &slowdown->sums[i];
        if (sum->evidence <= 0) *sum = (struct rue_slowdown_sum){0, trial};
        sum->evidence = fmax(0, sum->evidence + rue_slowdown_log_likelihood_ratio(error, sd, shifts[i]));
    }
}

double rue_slowdown_evidence(const struct rue_slowdown *slowdown, size_t *since)
{
    const struct rue_slowdown_sum *largest = &slowdown->sums[0];
    for (int i = 1; i < RUE_SLOWDOWN_SHIFTS; i++)
        if (slowdown->sums[i].evidence > largest->evidence) largest = &slowdown->sums[i];
    if (since) *since = largest->since;
    return largest->evidence;
}

bool rue_slowdown_is_detected(const struct rue_slowdown *slowdown)
{
    return rue_slowdown_evidence(slowdown, NULL) >= slowdown->threshold;
}

void rue_slowdown_reset(struct rue_slowdown *slowdown)
{
    for (int i = 0; i < RUE_SLOWDOWN_SHIFTS; i++) slowdown->sums[i] = (struct rue_slowdown_sum){0};
}

/* Prior of the scatter: `prior_count` values with this standard deviation. */
static const double prior_sd = 0.04, prior_count = 4;
static const double drift_sd = 0.02;
static const double allowance_sds = 1.5;          /* of the median, in its standard deviations */
static const double median_variance_ratio = 1.57; /* variance of a median over that of a mean */

double rue_median(double *values, size_t count)
{
    return gsl_stats_median(values, 1, count);
}

static double level_scatter(const struct rue_reference_level *level)
{
    return sqrt((prior_count * prior_sd * prior_sd + level->squares) / (prior_count + level->square_count));
}

bool rue_reference_level_predict(const struct rue_reference_level *level, double *mean, double *sd)
{
    if (level->count < RUE_REFERENCE_VALUES_MIN) return false;
    double own = level_scatter(level), values[RUE_REFERENCE_VALUES];
    memcpy(values, level->recent, level->count * sizeof *values);
    *mean = rue_median(values, level->count);
    *sd = sqrt(own * own * (1 + median_variance_ratio / (double)level->count) + drift_sd * drift_sd);
    return true;
}

bool rue_reference_level_error(const struct rue_reference_level *level, double value, double *error,
                               double *sd)
{
    double mean;
    if (!rue_reference_level_predict(level, &mean, sd)) return false;
    double allowance =
        allowance_sds * level_scatter(level) * sqrt(median_variance_ratio / (double)level->count);
    *error = copysign(fmax(0, fabs(value - mean) - allowance), value - mean);
    return true;
}

void rue_reference_level_add_scatter(struct rue_reference_level *level, double value)
{
    double mean, sd;
    if (!rue_reference_level_predict(level, &mean, &sd)) return;
    double z = (value - mean) / sd, own = level_scatter(level);
    double undisturbed = 1 - rue_disturbance_probability(value - mean, own);
    level->squares += undisturbed * own * own * z * z;
    level->square_count += undisturbed;
}

void rue_reference_level_add(struct rue_reference_level *level, double value)
{
    rue_reference_level_add_scatter(level, value);
    level->recent[level->next] = value;
    level->next = (level->next + 1) % RUE_REFERENCE_VALUES;
    if (level->count < RUE_REFERENCE_VALUES) level->count++;
}

void rue_reference_level_reset(struct rue_reference_level *level)
{
    level->count = level->next = 0;
}

static const double loader_bound_share =
    0.05; /* of the trial; a longer wait means that the loader is slower */

bool rue_speed_differs(struct rue_speed a, struct rue_speed b)
{
    const double rounding = 1e-6; /* of ratios in the store */
    return fabs(a.load - b.load) > rounding || fabs(a.compute - b.compute) > rounding;
}

void rue_speed_history_add(struct rue_speed_history *history, size_t since, struct rue_speed slowdown)
{
    assert(history->count < RUE_SPEED_CHANGES_MAX);
    history->at[history->count++] = (struct rue_speed_change){since, slowdown};
}

struct rue_speed rue_speed_history_at(const struct rue_speed_history *history, size_t trial)
{
    struct rue_speed speed = {0, 0};
    for (size_t i = 0; i < history->count; i++)
        if (trial >= history->at[i].since) {
            speed.load += history->at[i].slowdown.load;
            speed.compute += history->at[i].slowdown.compute;
        }
    return speed;
}

size_t rue_speed_history_phase(const struct rue_speed_history *history, size_t trial)
{
    size_t phase = 0;
    while (phase < history->count && trial >= history->at[phase].since) phase++;
    return phase;
}

struct rue_speed rue_speed_history_in_phase(const struct rue_speed_history *history, size_t phase)
{
    return rue_speed_history_at(history, phase ? history->at[phase - 1].since : 0);
}

struct rue_speed rue_speed_history_usual(const struct rue_speed_history *history, const double *weights)
{
    struct rue_speed usual = {0, 0};
    double most = 0;
    for (size_t phase = 0; phase <= history->count; phase++) {
        struct rue_speed speed = rue_speed_history_in_phase(history, phase);
        double weight = 0;
        for (size_t other = 0; other <= history->count; other++)
            if (!rue_speed_differs(rue_speed_history_in_phase(history, other), speed))
                weight += weights[other];
        if (weight > most) most = weight, usual = speed;
    }
    return usual;
}

double rue_speed_ratio(struct rue_speed speed, const struct rue_trial_result *result)
{
    double load = exp(speed.load), compute = exp(speed.compute), whole = (double)result->end_to_end_ns;
    if (speed.load == speed.compute || result->compute_ns < 0 || result->compute_ns > result->end_to_end_ns)
        return load;
    double computing = (double)result->compute_ns / compute;
    double loading = (whole - (double)result->compute_ns) / load;
    bool reported = result->load_wait_ns >= 0 && result->first_batch_ns >= 0;
    double waiting = reported ? (double)(result->load_wait_ns - result->first_batch_ns) : 0;
    if (result->config.value[RUE_NUM_WORKERS] == 0 || waiting < loader_bound_share * whole)
        return whole / (computing + loading);
    double start_and_end =
        (double)result->first_batch_ns + (result->shutdown_ns > 0 ? (double)result->shutdown_ns : 0);
    return whole / fmax(whole / load, computing + start_and_end / load);
}
