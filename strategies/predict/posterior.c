#include "posterior.h"

#include <gsl/gsl_cblas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "disturbance.h"
#include "random.h"

static const double drift_sd = 0.02, drift_s = 1000;
static const double parameter_sd = 0.02; /* more than trials leave of the parameters: no loader is just so */
static const double scale_sd = 1.2;      /* of the logarithms of scales, before any trial */

enum { N = RUE_POSTERIOR_TRIALS_MAX, ROUNDS = 3, AUDITED_LEAST = 3, FEW_TO_BLAME = 6 };

/* How far predictions may be off, and how noisy trials may be, relative to what is usual: a grid of
 * hypotheses. Cells are not believed to be nearer to their predictions than is usual: bounds would be too
 * small. */
enum { MODELS = 2, SMOOTHS = 3, CELLS = 4, NOISES = 4, HYPOTHESES = MODELS * SMOOTHS * CELLS * NOISES };
static const double models[MODELS] = {0.7, 3}, smooths[SMOOTHS] = {0.5, 2, 6}, cells[CELLS] = {1, 2, 4, 8},
                    noises[NOISES] = {0.5, 1, 2, 3.5};

struct scales {
    double of_fields[RUE_SCALE_COUNT], noise;
};

struct rue_posterior {
    struct rue_random_fields *fields;
    size_t parameters;
    double *covariance, *root; /* of the parameters; root: L with L L' = covariance */
    rue_status (*stop)(void);
    size_t count;
    struct rue_posterior_trial trials[N];           /* the first `count`, here and below */
    double pairs[N * (N + 1) / 2][RUE_SCALE_COUNT]; /* covariances for scales of 1 */
    double ratios[N];                               /* logarithms of measured over predicted */
    double disturbed[N];                            /* probability */
    double solved[N];                               /* K^-1 times the logarithms of measured over predicted */
    double decided[N];      /* K^-1 times the covariances of the trials with what is to be decided */
    double factor[N * N];   /* L of K, for usual scales */
    double spare[N * N];    /* K^-1, or L for other scales */
    double block[N * N];    /* a part of K^-1 */
    struct scales usual;    /* the mean of the hypotheses */
    double *normal, *state; /* [parameters], [state size] for the time of a call */
    struct rue_posterior_calibration audit;
};

/* ---- positive matrices, by their lower triangles: L L' = matrix, in rows of N ---- */

static double dot(const double *a, const double *b, size_t count)
{
    return cblas_ddot((int)count, a, 1, b, 1);
}

/* L in the place of the matrix; false where there is none. */
static bool factorise(double *matrix, size_t stride, size_t count)
{
    gsl_matrix_view view = gsl_matrix_view_array_with_tda(matrix, count, count, stride);
    return gsl_linalg_cholesky_decomp1(&view.matrix) == GSL_SUCCESS;
}

/* L^-1 `values`, in their place. */
static void solve_lower(const double *lower, size_t count, double *values)
{
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)count, lower, N, values, 1);
}

/* (L L')^-1 `values`, in their place. */
static void solve(const double *lower, size_t count, double *values)
{
    solve_lower(lower, count, values);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)count, lower, N, values, 1);
}

static void invert(const double *lower, size_t count, double *out)
{
    gsl_matrix_view view = gsl_matrix_view_array_with_tda(out, count, count, N);
    memcpy(out, lower, count * N * sizeof *out);
    gsl_linalg_cholesky_invert(&view.matrix);
}

/* ---- the process ---- */

double rue_posterior_drift_covariance(const struct rue_posterior_trial *a,
                                      const struct rue_posterior_trial *b)
{
    if (rue_speed_differs(a->speed, b->speed)) return 0;
    return drift_sd * drift_sd * exp(-fabs(a->seconds - b->seconds) / drift_s);
}

static size_t parameter_of(const struct rue_posterior_point *point, size_t slope)
{
    return slope < RUE_LOADER_SLOPES ? slope : slope + 2 * point->consumer;
}

/* The slopes that there are parameters for. */
static size_t slopes_of(const struct rue_posterior *belief, const struct rue_posterior_point *point)
{
    bool unknown = parameter_of(point, RUE_LOADER_SLOPES) < belief->parameters;
    return unknown ? RUE_POSTERIOR_SLOPES : RUE_LOADER_SLOPES;
}

static double slope_sum(const struct rue_posterior *belief, const double *parameters,
                        const struct rue_posterior_point *point)
{
    double sum = 0;
    for (size_t s = 0; s < slopes_of(belief, point); s++)
        sum += point->slopes[s] * parameters[parameter_of(point, s)];
    return sum;
}

/* Of what two times are off by, but for drift and noise; for scales of 1. */
static void point_covariance(const struct rue_posterior *belief, const struct rue_posterior_point *one,
                             const struct rue_posterior_point *other, double out[RUE_SCALE_COUNT])
{
    memset(out, 0, RUE_SCALE_COUNT * sizeof *out);
    rue_random_fields_covariance(belief->fields, &one->place, &other->place, out);
    for (size_t s = 0; s < slopes_of(belief, one); s++) {
        const double *row = belief->covariance + parameter_of(one, s) * belief->parameters;
        if (one->slopes[s] != 0) out[RUE_SCALE_FIXED] += one->slopes[s] * slope_sum(belief, row, other);
    }
}

static double scale_covariances(const double covariances[RUE_SCALE_COUNT], const struct scales *scales)
{
    double sum = 0;
    for (int s = 0; s < RUE_SCALE_COUNT; s++)
        sum += scales->of_fields[s] * scales->of_fields[s] * covariances[s];
    return sum;
}

static double noise_of(const struct rue_posterior *belief, size_t trial, const struct scales *scales)
{
    double noise = scales->noise * scales->noise * belief->trials[trial].noise;
    return rue_disturbance_variance(belief->disturbed[trial], noise);
}

/* L of K for those scales into `out`; false where there is none. */
static bool factorise_for(const struct rue_posterior *belief, const struct scales *scales, double *out)
{
    size_t count = belief->count;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++)
            out[i * N + j] = scale_covariances(belief->pairs[i * (i + 1) / 2 + j], scales);
        out[i * N + i] += noise_of(belief, i, scales);
    }
    return factorise(out, N, count);
}

static rue_status fail_factor(const struct rue_posterior *belief, rue_error *error)
{
    return rue_fail(error, RUE_INTERNAL, "the covariance of %zu trials is none", belief->count);
}

/* K for the usual scales, factorised, and what follows from it. */
static rue_status settle_belief(struct rue_posterior *belief, rue_error *error)
{
    if (!factorise_for(belief, &belief->usual, belief->factor)) return fail_factor(belief, error);
    memcpy(belief->solved, belief->ratios, belief->count * sizeof *belief->ratios);
    solve(belief->factor, belief->count, belief->solved);
    return RUE_OK;
}

/* ---- what trials tell of the scales, and of each other ---- */

static struct scales scales_of(size_t hypothesis)
{
    size_t n = hypothesis % NOISES, c = hypothesis / NOISES % CELLS,
           s = hypothesis / NOISES / CELLS % SMOOTHS, m = hypothesis / NOISES / CELLS / SMOOTHS;
    return (struct scales){{[RUE_SCALE_FIXED] = 1,
                            [RUE_SCALE_MODEL] = models[m],
                            [RUE_SCALE_SMOOTH] = smooths[s],
                            [RUE_SCALE_CELL] = cells[c]},
                           noises[n]};
}

/* The logarithm of how probable the scales are, by the trials and before them, but for a constant. */
static double log_weight(struct rue_posterior *belief, const struct scales *scales)
{
    double *rest = belief->solved, squares = pow(log(scales->noise), 2);
    if (!factorise_for(belief, scales, belief->spare)) return -INFINITY;
    memcpy(rest, belief->ratios, belief->count * sizeof *rest);
    solve_lower(belief->spare, belief->count, rest);
    for (int s = 0; s < RUE_SCALE_COUNT; s++) squares += pow(log(scales->of_fields[s]), 2);
    double sum = -0.5 * (dot(rest, rest, belief->count) + squares / (scale_sd * scale_sd));
    for (size_t i = 0; i < belief->count; i++) sum -= log(belief->spare[i * N + i]);
    return sum;
}

/* The usual scales become the geometric mean of all hypotheses, each as probable as the trials have it. */
static rue_status weigh_hypotheses(struct rue_posterior *belief, rue_error *error)
{
    double weights[HYPOTHESES], most = -INFINITY, sum = 0;
    struct scales mean = {.noise = 0};
    for (size_t h = 0; h < HYPOTHESES; h++) {
        struct scales scales = scales_of(h);
        rue_status status = belief->stop ? belief->stop() : RUE_OK;
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        weights[h] = log_weight(belief, &scales);
        most = fmax(most, weights[h]);
    }
    if (!isfinite(most)) return fail_factor(belief, error);
    for (size_t h = 0; h < HYPOTHESES; h++) sum += weights[h] = exp(weights[h] - most);
    for (size_t h = 0; h < HYPOTHESES; h++) {
        struct scales scales = scales_of(h);
        weights[h] /= sum;
        for (int s = 0; s < RUE_SCALE_COUNT; s++) mean.of_fields[s] += weights[h] * log(scales.of_fields[s]);
        mean.noise += weights[h] * log(scales.noise);
    }
    for (int s = 0; s < RUE_SCALE_COUNT; s++) belief->usual.of_fields[s] = exp(mean.of_fields[s]);
    belief->usual.noise = exp(mean.noise);
    return RUE_OK;
}

/* How probable it is that a trial was disturbed that lies so far `off` where nothing is expected but
 * `variance` without its noise. */
static double trial_disturbance(const struct rue_posterior *belief, const struct rue_posterior_trial *trial,
                                double off, double variance)
{
    double noise = belief->usual.noise * belief->usual.noise * trial->noise;
    return rue_disturbance_probability(off, sqrt(variance + noise));
}

/* Of each trial, by how far off it is where it is left out. */
static void blame_trials(struct rue_posterior *belief)
{
    for (size_t i = 0, n = belief->count; i < n; i++) {
        double variance = 1 / belief->spare[i * N + i], off = belief->solved[i] * variance;
        belief->disturbed[i] = trial_disturbance(belief, &belief->trials[i], off,
                                                 fmax(variance - noise_of(belief, i, &belief->usual), 0));
    }
}

/* Where most trials of a configuration seem to be disturbed, two of them at least, it is the belief that is
 * off. */
static void acquit_trials(struct rue_posterior *belief)
{
    bool off[N];
    for (size_t i = 0; i < belief->count; i++) {
        size_t all = 0, disturbed = 0;
        for (size_t j = 0; j < belief->count; j++) {
            if (belief->trials[j].point.place.config != belief->trials[i].point.place.config) continue;
            all++;
            disturbed += belief->disturbed[j] > 0.5;
        }
        off[i] = disturbed >= 2 && 2 * disturbed > all;
    }
    for (size_t i = 0; i < belief->count; i++)
        if (off[i]) belief->disturbed[i] = 0;
}

bool rue_posterior_is_last_disturbed(const struct rue_posterior *belief)
{
    return belief->count > 0 && belief->disturbed[belief->count - 1] > 0.5;
}

/* The trials of a configuration, `own`, are told by all others: how far off their mean is, in standard
 * deviations. */
static double left_out(struct rue_posterior *belief, const size_t *own, size_t count)
{
    double *block = belief->block, rest[N], ones[N], sum = 0, variance = 0;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b <= a; b++) block[a * N + b] = belief->spare[own[a] * N + own[b]];
        rest[a] = belief->solved[own[a]];
        ones[a] = 1;
    }
    if (!factorise(block, N, count)) return 0;
    solve(block, count, rest);
    solve(block, count, ones);
    for (size_t a = 0; a < count; a++) sum += rest[a], variance += ones[a];
    return sum / sqrt(variance);
}

/* Each configuration counts once: many trials of one tell no more of how far predictions are off. */
static void audit_belief(struct rue_posterior *belief)
{
    size_t own[N];
    double sum = 0;
    belief->audit = (struct rue_posterior_calibration){.ratio = 1};
    for (size_t i = 0; i < belief->count; i++) {
        size_t config = belief->trials[i].point.place.config, count = 0;
        for (size_t j = 0; j < belief->count; j++)
            if (belief->trials[j].point.place.config == config) own[count++] = j;
        if (own[0] != i) continue;
        sum += pow(left_out(belief, own, count), 2);
        belief->audit.configs++;
    }
    if (belief->audit.configs >= AUDITED_LEAST)
        belief->audit.ratio = sqrt(sum / (double)belief->audit.configs);
}

rue_status rue_posterior_update(struct rue_posterior *belief, rue_error *error)
{
    if (belief->count == 0) return RUE_OK;
    rue_status status = weigh_hypotheses(belief, error);
    for (int round = 0; status == RUE_OK && round < ROUNDS; round++) {
        status = settle_belief(belief, error);
        if (status != RUE_OK) break;
        invert(belief->factor, belief->count, belief->spare);
        if (round + 1 == ROUNDS) break;
        blame_trials(belief);
        acquit_trials(belief);
    }
    if (status == RUE_OK) audit_belief(belief);
    return status;
}

struct rue_posterior_calibration rue_posterior_calibration(const struct rue_posterior *belief)
{
    return belief->audit;
}

/* ---- trials ---- */

size_t rue_posterior_trial_count(const struct rue_posterior *belief)
{
    return belief->count;
}

void rue_posterior_add(struct rue_posterior *belief, const struct rue_posterior_trial *trial)
{
    size_t count = belief->count;
    if (count >= N) return;
    double mean, variance;
    rue_posterior_predict(belief, &trial->point, &mean, &variance);
    belief->disturbed[count] =
        count < FEW_TO_BLAME ? 0
                             : trial_disturbance(belief, trial, trial->log_ratio - mean,
                                                 variance + rue_posterior_drift_covariance(trial, trial));
    belief->trials[count] = *trial;
    belief->ratios[count] = trial->log_ratio;
    for (size_t j = 0; j <= count; j++) {
        double *pair = belief->pairs[count * (count + 1) / 2 + j];
        point_covariance(belief, &trial->point, &belief->trials[j].point, pair);
        pair[RUE_SCALE_FIXED] += rue_posterior_drift_covariance(trial, &belief->trials[j]);
    }
    belief->count++;
    if (settle_belief(belief, NULL) != RUE_OK) belief->count--; /* the rows before are as they were */
}

/* ---- what is believed ---- */

/* The covariances of a point with all trials into `out` [count]. */
static void trial_covariances(const struct rue_posterior *belief, const struct rue_posterior_point *point,
                              double *out)
{
    double parts[RUE_SCALE_COUNT];
    for (size_t i = 0; i < belief->count; i++) {
        point_covariance(belief, point, &belief->trials[i].point, parts);
        out[i] = scale_covariances(parts, &belief->usual);
    }
}

void rue_posterior_predict(const struct rue_posterior *belief, const struct rue_posterior_point *point,
                           double *mean, double *variance)
{
    double parts[RUE_SCALE_COUNT], with[N];
    point_covariance(belief, point, point, parts);
    *variance = scale_covariances(parts, &belief->usual);
    trial_covariances(belief, point, with);
    *mean = dot(with, belief->solved, belief->count);
    solve_lower(belief->factor, belief->count, with);
    *variance = fmax(0, *variance - dot(with, with, belief->count));
}

/* ---- states: the parameters less what predictions are made with, then the values of the fields ---- */

size_t rue_posterior_latent_size(const struct rue_posterior *belief)
{
    return belief->parameters + rue_random_fields_size(belief->fields);
}

double rue_posterior_evaluate(const struct rue_posterior *belief, const double *state,
                              const struct rue_posterior_point *point)
{
    return slope_sum(belief, state, point) +
           rue_random_fields_evaluate(belief->fields, state + belief->parameters, &point->place);
}

void rue_posterior_accumulate(const struct rue_posterior *belief, const struct rue_posterior_point *point,
                              double weight, double *state)
{
    for (size_t s = 0; s < slopes_of(belief, point); s++)
        state[parameter_of(point, s)] += weight * point->slopes[s];
    rue_random_fields_accumulate(belief->fields, &point->place, weight, state + belief->parameters);
}

static void put_trials(const struct rue_posterior *belief, const double *weights, double *state)
{
    for (size_t i = 0; i < belief->count; i++)
        rue_posterior_accumulate(belief, &belief->trials[i].point, weights[i], state);
}

/* What was put into the state becomes the covariances of everything with that, before any trial. */
static void spread_state(const struct rue_posterior *belief, const struct scales *scales, double *state)
{
    size_t n = belief->parameters;
    memcpy(belief->normal, state, n * sizeof *state);
    for (size_t p = 0; p < n; p++) state[p] = dot(belief->covariance + p * n, belief->normal, n);
    rue_random_fields_covary(belief->fields, scales->of_fields, state + n);
}

void rue_posterior_mean(const struct rue_posterior *belief, double *state)
{
    memset(state, 0, rue_posterior_latent_size(belief) * sizeof *state);
    put_trials(belief, belief->solved, state);
    spread_state(belief, &belief->usual, state);
}

void rue_posterior_set_contrast(struct rue_posterior *belief, double *state)
{
    memcpy(belief->state, state, rue_posterior_latent_size(belief) * sizeof *state);
    spread_state(belief, &belief->usual, belief->state);
    for (size_t i = 0; i < belief->count; i++)
        belief->decided[i] = -rue_posterior_evaluate(belief, belief->state, &belief->trials[i].point);
    solve(belief->factor, belief->count, belief->decided);
    put_trials(belief, belief->decided, state);
    spread_state(belief, &belief->usual, state);
}

/* Trials share the machine's drift, so one that follows soon after another adds less. */
double rue_posterior_variance_reduction(const struct rue_posterior *belief, const double *state,
                                        const struct rue_posterior_trial *trial)
{
    double parts[RUE_SCALE_COUNT], with[N], decided = rue_posterior_evaluate(belief, state, &trial->point);
    point_covariance(belief, &trial->point, &trial->point, parts);
    double variance = scale_covariances(parts, &belief->usual) +
                      rue_posterior_drift_covariance(trial, trial) +
                      belief->usual.noise * belief->usual.noise * trial->noise;
    trial_covariances(belief, &trial->point, with);
    for (size_t i = 0; i < belief->count; i++) {
        double more = rue_posterior_drift_covariance(trial, &belief->trials[i]);
        with[i] += more;
        decided += more * belief->decided[i];
    }
    solve_lower(belief->factor, belief->count, with);
    variance -= dot(with, with, belief->count);
    return decided * decided / fmax(variance, 1e-12);
}

/* ---- draws ---- */

/* A possible truth before any trial, and then what trials would have measured there, less what they did. */
void rue_posterior_sample(struct rue_posterior *belief, uint64_t *seed, double *state)
{
    size_t n = belief->parameters, size = rue_posterior_latent_size(belief);
    const struct scales *scales = &belief->usual;
    double off[N], drift = 0;
    rue_random_normals(seed, belief->normal, n);
    for (size_t p = 0; p < n; p++) state[p] = dot(belief->root + p * n, belief->normal, p + 1);
    rue_random_fields_sample(belief->fields, scales->of_fields, seed, state + n);
    for (size_t i = 0; i < belief->count; i++) {
        const struct rue_posterior_trial *trial = &belief->trials[i];
        double share = i ? rue_posterior_drift_covariance(trial, trial - 1) / (drift_sd * drift_sd) : 0;
        drift = share * drift + sqrt(1 - share * share) * drift_sd * rue_random_normal(seed);
        double noise = sqrt(noise_of(belief, i, scales)) * rue_random_normal(seed);
        off[i] = trial->log_ratio - rue_posterior_evaluate(belief, state, &trial->point) - drift - noise;
    }
    solve(belief->factor, belief->count, off);
    memset(belief->state, 0, size * sizeof *state);
    put_trials(belief, off, belief->state);
    spread_state(belief, scales, belief->state);
    for (size_t i = 0; i < size; i++) state[i] += belief->state[i];
}

/* ---- life ---- */

rue_status rue_posterior_open(const struct rue_posterior_setup *setup, struct rue_posterior **out,
                              rue_error *error)
{
    size_t n = setup->parameter_count;
    gsl_set_error_handler_off();
    struct rue_posterior *belief = calloc(1, sizeof *belief);
    if (!belief) return rue_fail_memory(error, "beliefs", sizeof *belief);
    belief->parameters = n;
    belief->stop = setup->stop;
    rue_status status = rue_random_fields_open(setup->model_count, setup->configs, setup->config_count,
                                               &belief->fields, error);
    size_t size = status == RUE_OK ? rue_posterior_latent_size(belief) : 0;
    belief->covariance = calloc(n * n, sizeof *belief->covariance);
    belief->root = calloc(n * n, sizeof *belief->root);
    belief->normal = calloc(n, sizeof *belief->normal);
    belief->state = calloc(size + 1, sizeof *belief->state);
    if (status == RUE_OK && (!belief->covariance || !belief->root || !belief->normal || !belief->state))
        status = rue_fail_memory(error, "beliefs", (n * n + size) * sizeof(double));
    if (status == RUE_OK) {
        for (size_t i = 0; i < n * n; i++)
            belief->root[i] = belief->covariance[i] =
                setup->covariance[i] + (i % (n + 1) == 0 ? parameter_sd * parameter_sd : 0);
        if (!factorise(belief->root, n, n))
            status = rue_fail(error, RUE_INTERNAL, "the covariance of the parameters is none");
    }
    if (status == RUE_OK) status = weigh_hypotheses(belief, error);
    if (status == RUE_OK) status = settle_belief(belief, error);
    if (status != RUE_OK) return rue_posterior_close(belief), status;
    belief->audit.ratio = 1;
    *out = belief;
    return RUE_OK;
}

void rue_posterior_close(struct rue_posterior *belief)
{
    if (!belief) return;
    rue_random_fields_close(belief->fields);
    free(belief->covariance);
    free(belief->root);
    free(belief->normal);
    free(belief->state);
    free(belief);
}
