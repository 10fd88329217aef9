#include "posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* The state is the errors of the cells, then theta of the parameters, and the drift last. */
struct rue_posterior {
    const struct rue_error_prior *prior;
    size_t cells, parameters, state, draw_count;
    uint64_t seed;
    double *mean;       /* [state] */
    double *covariance; /* [state][state] of which the lower triangle is filled */
    double *draws;      /* [draw_count][state] */
    double *gain;       /* [state] */
    struct part {
        size_t parameter;
        double slope;
    } * parts[2]; /* [parameters] of trials: what they see of theta that the job in their cell does not */
};

/* ---- life ---- */

static double *row(const struct rue_posterior *posterior, size_t i)
{
    return posterior->covariance + i * posterior->state;
}

static void fill_covariance(struct rue_posterior *posterior, double alpha)
{
    const struct rue_error_prior *prior = posterior->prior;
    const double *of_theta = rue_error_prior_covariance(prior);
    size_t n = posterior->parameters;
    for (size_t i = 0; i < posterior->cells; i++) {
        const double *own = rue_error_prior_slopes(prior, i);
        double *restrict out = row(posterior, i);
        for (size_t j = 0; j <= i; j++) {
            const double *other = rue_error_prior_slopes(prior, j);
            double sum = alpha * alpha * rue_error_prior_scaled(prior, i, j);
            for (size_t p = 0; p < n; p++) sum += own[p] * other[p];
            out[j] = sum;
        }
        const double *jacobian = rue_error_prior_jacobian(prior, i);
        for (size_t q = 0; q < n; q++)
            for (size_t p = 0; jacobian[q] != 0 && p < n; p++)
                row(posterior, posterior->cells + p)[i] += jacobian[q] * of_theta[q * n + p];
    }
    for (size_t p = 0; p < n; p++)
        memcpy(row(posterior, posterior->cells + p) + posterior->cells, of_theta + p * n,
               (p + 1) * sizeof *of_theta);
    row(posterior, posterior->state - 1)[posterior->state - 1] = rue_error_prior_drift_variance();
}

rue_status rue_posterior_open(const struct rue_error_prior *prior, double alpha, size_t draws, uint64_t seed,
                              struct rue_posterior **out, rue_error *error)
{
    struct rue_posterior *posterior = calloc(1, sizeof *posterior);
    if (!posterior) return rue_fail_memory(error, "a posterior", sizeof *posterior);
    posterior->prior = prior;
    posterior->cells = rue_error_prior_cells(prior);
    posterior->parameters = rue_error_prior_parameters(prior);
    size_t state = posterior->state = posterior->cells + posterior->parameters + 1;
    posterior->draw_count = draws;
    posterior->seed = rue_mix64(~seed);
    posterior->mean = calloc(state, sizeof *posterior->mean);
    posterior->covariance = calloc(state * state, sizeof *posterior->covariance);
    posterior->draws = calloc(draws * state + 1, sizeof *posterior->draws);
    posterior->gain = calloc(state, sizeof *posterior->gain);
    for (int i = 0; i < 2; i++)
        posterior->parts[i] = calloc(posterior->parameters + 1, sizeof *posterior->parts[i]);
    if (!posterior->mean || !posterior->covariance || !posterior->draws || !posterior->gain ||
        !posterior->parts[0] || !posterior->parts[1]) {
        rue_posterior_close(posterior);
        return rue_fail_memory(error, "a posterior", (state + draws) * state * sizeof(double));
    }
    fill_covariance(posterior, alpha);
    for (size_t d = 0; d < draws; d++)
        rue_error_prior_draw(prior, alpha, rue_mix64(seed + d), posterior->draws + d * state);
    *out = posterior;
    return RUE_OK;
}

void rue_posterior_close(struct rue_posterior *posterior)
{
    if (!posterior) return;
    free(posterior->mean);
    free(posterior->covariance);
    free(posterior->draws);
    free(posterior->gain);
    free(posterior->parts[0]);
    free(posterior->parts[1]);
    free(posterior);
}

/* ---- what a trial sees of the state: its cell, the drift, and where it was no job, theta ---- */

struct sight {
    size_t cell;
    const struct part *parts; /* [count] of theta */
    size_t count;
};

static struct sight sight_of(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                             struct part *parts)
{
    struct sight sight = {trial->cell, parts, 0};
    const double *job = rue_error_prior_jacobian(posterior->prior, trial->cell);
    for (size_t p = 0; trial->jacobian && p < posterior->parameters; p++)
        if (trial->jacobian[p] != job[p])
            parts[sight.count++] = (struct part){p, trial->jacobian[p] - job[p]};
    return sight;
}

static double see(const struct rue_posterior *posterior, struct sight sight, const double *state)
{
    double sum = state[sight.cell] + state[posterior->state - 1];
    for (size_t p = 0; p < sight.count; p++)
        sum += sight.parts[p].slope * state[posterior->cells + sight.parts[p].parameter];
    return sum;
}

static double covariance_at(const struct rue_posterior *posterior, size_t i, size_t j)
{
    return i > j ? row(posterior, i)[j] : row(posterior, j)[i];
}

/* The covariance of entry `i` of the state with what a trial sees. */
static double see_covariance(const struct rue_posterior *posterior, struct sight sight, size_t i)
{
    double sum = covariance_at(posterior, i, sight.cell) + covariance_at(posterior, i, posterior->state - 1);
    for (size_t p = 0; p < sight.count; p++)
        sum +=
            sight.parts[p].slope * covariance_at(posterior, i, posterior->cells + sight.parts[p].parameter);
    return sum;
}

/* The covariance of what two trials see, without noise. */
static double between(const struct rue_posterior *posterior, struct sight a, struct sight b)
{
    double sum = see_covariance(posterior, b, a.cell) + see_covariance(posterior, b, posterior->state - 1);
    for (size_t p = 0; p < a.count; p++)
        sum += a.parts[p].slope * see_covariance(posterior, b, posterior->cells + a.parts[p].parameter);
    return sum;
}

/* ---- telling ---- */

void rue_posterior_wait(struct rue_posterior *posterior, double seconds)
{
    size_t state = posterior->state, drift = state - 1;
    double kept = rue_error_prior_drift_kept(seconds);
    double variance = rue_error_prior_drift_variance() * (1 - kept * kept), fresh = sqrt(variance);
    posterior->mean[drift] *= kept;
    for (size_t i = 0; i < drift; i++) row(posterior, drift)[i] *= kept;
    row(posterior, drift)[drift] = kept * kept * row(posterior, drift)[drift] + variance;
    for (size_t d = 0; d < posterior->draw_count; d++) {
        double *own = &posterior->draws[d * state + drift];
        *own = kept * *own + fresh * rue_random_normal(&posterior->seed);
    }
}

/* Adds `factor` times `more` [count] to `out`. */
static void add(double *restrict out, const double *restrict more, double factor, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] += factor * more[i];
}

double rue_posterior_observe(struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                             double log_ratio)
{
    size_t state = posterior->state;
    double *gain = posterior->gain;
    struct sight sight = sight_of(posterior, trial, posterior->parts[0]);
    for (size_t i = 0; i < state; i++) gain[i] = see_covariance(posterior, sight, i);
    double surprise = log_ratio - see(posterior, sight, posterior->mean);
    double noise = trial->sd * trial->sd, variance = see(posterior, sight, gain) + noise;
    double distance = surprise / sqrt(variance), disturbance = rue_error_prior_disturbance(distance);
    noise += disturbance;
    variance += disturbance;
    for (size_t d = 0; d < posterior->draw_count; d++) {
        double *draw = posterior->draws + d * state;
        double noisy = log_ratio + sqrt(noise) * rue_random_normal(&posterior->seed);
        add(draw, gain, (noisy - see(posterior, sight, draw)) / variance, state);
    }
    add(posterior->mean, gain, surprise / variance, state);
    for (size_t i = 0; i < state; i++) add(row(posterior, i), gain, -gain[i] / variance, i + 1);
    return distance;
}

/* ---- what is asked of it ---- */

void rue_posterior_expect(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                          double *mean, double *sd)
{
    struct sight sight = sight_of(posterior, trial, posterior->parts[0]);
    *mean = see(posterior, sight, posterior->mean);
    *sd = sqrt(fmax(0, between(posterior, sight, sight)) + trial->sd * trial->sd);
}

void rue_posterior_direct(const struct rue_posterior *posterior, const double *weights, double *out)
{
    size_t state = posterior->state;
    memset(out, 0, state * sizeof *out);
    for (size_t i = 0; i < posterior->cells; i++) {
        if (weights[i] == 0) continue;
        add(out, row(posterior, i), weights[i], i + 1);
        for (size_t j = i + 1; j < state; j++) out[j] += weights[i] * row(posterior, j)[i];
    }
}

double rue_posterior_gain(const struct rue_posterior *posterior, const double *direction,
                          const struct rue_posterior_trial *trials, size_t count)
{
    struct sight sights[2];
    double with[2], variance[2];
    for (size_t i = 0; i < count; i++) {
        sights[i] = sight_of(posterior, &trials[i], posterior->parts[i]);
        with[i] = see(posterior, sights[i], direction);
        variance[i] = between(posterior, sights[i], sights[i]) + trials[i].sd * trials[i].sd;
    }
    if (count == 1) return with[0] * with[0] / variance[0];
    double both = between(posterior, sights[0], sights[1]);
    double determinant = variance[0] * variance[1] - both * both;
    return (with[0] * with[0] * variance[1] - 2 * with[0] * with[1] * both +
            with[1] * with[1] * variance[0]) /
           determinant;
}

const double *rue_posterior_mean(const struct rue_posterior *posterior)
{
    return posterior->mean;
}

double rue_posterior_covariance(const struct rue_posterior *posterior, size_t cell, size_t other)
{
    return covariance_at(posterior, cell, other);
}

const double *rue_posterior_draw(const struct rue_posterior *posterior, size_t index)
{
    return posterior->draws + index * posterior->state;
}
