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
static const double node_sd = 0.03;      /* of the logarithm of a node's times */
static const double parameter_sd = 0.02; /* added to the prior: no loader has exactly this form */
static const double scale_sd = 1.2;      /* of the scales' logarithms, prior */

enum { N = RUE_POSTERIOR_TRIALS_MAX, ITERATIONS = 3, CALIBRATION_MIN = 3, DISTURBED_MIN = 6 };

/* The grid of hypotheses: scales of the prediction errors and of the noise, relative to those in
 * random_fields.h. Cell scales are at least 1, else bounds would be too small. */
enum { MODELS = 2, SMOOTHS = 3, CELLS = 4, NOISES = 4, HYPOTHESES = MODELS * SMOOTHS * CELLS * NOISES };
static const double model_scales[MODELS] = {0.7, 3}, smooth_scales[SMOOTHS] = {0.5, 2, 6},
                    cell_scales[CELLS] = {1, 2, 4, 8}, noise_scales[NOISES] = {0.5, 1, 2, 3.5};

struct scales {
    double fields[RUE_SCALE_COUNT], noise;
};

struct rue_posterior {
    struct rue_random_fields *fields;
    size_t parameters;
    double *mean;                  /* of the parameters' prior, from those of the predictions */
    double *covariance, *cholesky; /* of the parameters; Cholesky factor L, L L' = covariance */
    rue_status (*stop)(void);
    size_t count;
    struct rue_posterior_trial trials[N];           /* [count], here and below */
    double pairs[N * (N + 1) / 2][RUE_SCALE_COUNT]; /* covariances for scales of 1 */
    double log_ratio[N];                            /* of measured over expected time */
    double disturbed[N];                            /* probability that the trial was disturbed */
    double alpha[N];          /* K^-1 log_ratio (Rasmussen and Williams 2006, algorithm 2.1) */
    double contrast[N];       /* -K^-1 times the trials' prior covariances with the contrast */
    double factor[N * N];     /* Cholesky factor of K, for `scales` */
    double work[N * N];       /* K^-1; or a Cholesky factor for other scales */
    double block[N * N];      /* a block of K^-1 */
    struct scales scales;     /* geometric mean over the hypotheses */
    double *normals, *latent; /* [parameters], [latent size] scratch */
    struct rue_posterior_calibration calibration;
};

/* ---- positive definite matrices, by the lower triangle, in rows of N ---- */

static double dot(const double *a, const double *b, size_t count)
{
    return cblas_ddot((int)count, a, 1, b, 1);
}

/* Replaces the matrix by its Cholesky factor L; false if it is not positive definite. */
static bool factorise(double *matrix, size_t stride, size_t count)
{
    gsl_matrix_view view = gsl_matrix_view_array_with_tda(matrix, count, count, stride);
    return gsl_linalg_cholesky_decomp1(&view.matrix) == GSL_SUCCESS;
}

/* Replaces `values` by L^-1 `values`. */
static void solve_lower(const double *lower, size_t count, double *values)
{
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)count, lower, N, values, 1);
}

/* Replaces `values` by (L L')^-1 `values`. */
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

/* ---- the Gaussian process ---- */

static double drift_covariance(const struct rue_posterior_trial *a, const struct rue_posterior_trial *b)
{
    if (a->node != b->node || rue_speed_differs(a->speed, b->speed)) return 0;
    return drift_sd * drift_sd * exp(-fabs(a->seconds - b->seconds) / drift_s);
}

double rue_posterior_drift_covariance(const struct rue_posterior_trial *a,
                                      const struct rue_posterior_trial *b)
{
    return drift_covariance(a, b) + (a->node && a->node == b->node ? node_sd * node_sd : 0);
}

static size_t parameter_index(const struct rue_posterior_point *point, size_t slope)
{
    return slope < RUE_LOADER_SLOPES ? slope : slope + 2 * point->consumer;
}

/* The consumer's slopes count only if it has parameters. */
static size_t slope_count(const struct rue_posterior *gp, const struct rue_posterior_point *point)
{
    bool unknown = parameter_index(point, RUE_LOADER_SLOPES) < gp->parameters;
    return unknown ? RUE_POSTERIOR_SLOPES : RUE_LOADER_SLOPES;
}

static double weighted_slopes(const struct rue_posterior *gp, const double *parameters,
                              const struct rue_posterior_point *point)
{
    double sum = 0;
    for (size_t s = 0; s < slope_count(gp, point); s++)
        sum += point->slopes[s] * parameters[parameter_index(point, s)];
    return sum;
}

/* The prior covariance of two log ratios without drift and noise, for scales of 1. */
static void point_covariance(const struct rue_posterior *gp, const struct rue_posterior_point *one,
                             const struct rue_posterior_point *other, double out[RUE_SCALE_COUNT])
{
    memset(out, 0, RUE_SCALE_COUNT * sizeof *out);
    rue_random_fields_covariance(gp->fields, &one->site, &other->site, out);
    for (size_t s = 0; s < slope_count(gp, one); s++) {
        const double *row = gp->covariance + parameter_index(one, s) * gp->parameters;
        if (one->slopes[s] != 0) out[RUE_SCALE_FIXED] += one->slopes[s] * weighted_slopes(gp, row, other);
    }
}

static double scaled_covariance(const double covariances[RUE_SCALE_COUNT], const struct scales *scales)
{
    double sum = 0;
    for (int s = 0; s < RUE_SCALE_COUNT; s++) sum += scales->fields[s] * scales->fields[s] * covariances[s];
    return sum;
}

/* The variance of the noise of a trial that was not disturbed. */
static double usual_variance(const struct rue_posterior_trial *trial, const struct scales *scales)
{
    return scales->noise * scales->noise * trial->noise_variance + trial->added_variance;
}

static double trial_noise_variance(const struct rue_posterior *gp, size_t trial, const struct scales *scales)
{
    return rue_disturbance_variance(gp->disturbed[trial], usual_variance(&gp->trials[trial], scales));
}

/* Writes the Cholesky factor of K for `scales`; false if K is not positive definite. */
static bool factorise_covariance(const struct rue_posterior *gp, const struct scales *scales, double *out)
{
    size_t count = gp->count;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++)
            out[i * N + j] = scaled_covariance(gp->pairs[i * (i + 1) / 2 + j], scales);
        out[i * N + i] += trial_noise_variance(gp, i, scales);
    }
    return factorise(out, N, count);
}

static rue_status fail_indefinite(const struct rue_posterior *gp, rue_error *error)
{
    return rue_fail(error, RUE_INTERNAL, "the covariance matrix of %zu trials is not positive definite",
                    gp->count);
}

/* Factorises K and computes alpha for the present scales. */
static rue_status condition_on_trials(struct rue_posterior *gp, rue_error *error)
{
    if (!factorise_covariance(gp, &gp->scales, gp->factor)) return fail_indefinite(gp, error);
    memcpy(gp->alpha, gp->log_ratio, gp->count * sizeof *gp->log_ratio);
    solve(gp->factor, gp->count, gp->alpha);
    return RUE_OK;
}

/* ---- scales and disturbed trials ---- */

static struct scales hypothesis_scales(size_t hypothesis)
{
    size_t n = hypothesis % NOISES, c = hypothesis / NOISES % CELLS,
           s = hypothesis / NOISES / CELLS % SMOOTHS, m = hypothesis / NOISES / CELLS / SMOOTHS;
    return (struct scales){{[RUE_SCALE_FIXED] = 1,
                            [RUE_SCALE_MODEL] = model_scales[m],
                            [RUE_SCALE_SMOOTH] = smooth_scales[s],
                            [RUE_SCALE_CELL] = cell_scales[c]},
                           noise_scales[n]};
}

/* The logarithm of the marginal likelihood times the prior of the scales, up to a constant. */
static double log_scale_weight(struct rue_posterior *gp, const struct scales *scales)
{
    double *whitened = gp->alpha, squares = pow(log(scales->noise), 2);
    if (!factorise_covariance(gp, scales, gp->work)) return -INFINITY;
    memcpy(whitened, gp->log_ratio, gp->count * sizeof *whitened);
    solve_lower(gp->work, gp->count, whitened);
    for (int s = 0; s < RUE_SCALE_COUNT; s++) squares += pow(log(scales->fields[s]), 2);
    double sum = -0.5 * (dot(whitened, whitened, gp->count) + squares / (scale_sd * scale_sd));
    for (size_t i = 0; i < gp->count; i++) sum -= log(gp->work[i * N + i]);
    return sum;
}

/* Sets the scales to their geometric mean over the hypotheses, weighted by posterior probability. */
static rue_status average_scales(struct rue_posterior *gp, rue_error *error)
{
    double weights[HYPOTHESES], highest = -INFINITY, sum = 0;
    struct scales mean = {.noise = 0};
    for (size_t h = 0; h < HYPOTHESES; h++) {
        struct scales scales = hypothesis_scales(h);
        rue_status status = gp->stop ? gp->stop() : RUE_OK;
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        weights[h] = log_scale_weight(gp, &scales);
        highest = fmax(highest, weights[h]);
    }
    if (!isfinite(highest)) return fail_indefinite(gp, error);
    for (size_t h = 0; h < HYPOTHESES; h++) sum += weights[h] = exp(weights[h] - highest);
    for (size_t h = 0; h < HYPOTHESES; h++) {
        struct scales scales = hypothesis_scales(h);
        weights[h] /= sum;
        for (int s = 0; s < RUE_SCALE_COUNT; s++) mean.fields[s] += weights[h] * log(scales.fields[s]);
        mean.noise += weights[h] * log(scales.noise);
    }
    for (int s = 0; s < RUE_SCALE_COUNT; s++) gp->scales.fields[s] = exp(mean.fields[s]);
    gp->scales.noise = exp(mean.noise);
    return RUE_OK;
}

/* The probability that a trial with this residual was disturbed. `variance`: of its prediction, without
 * noise. */
static double disturbance_probability(const struct rue_posterior *gp, const struct rue_posterior_trial *trial,
                                      double residual, double variance)
{
    return rue_disturbance_probability(residual, sqrt(variance + usual_variance(trial, &gp->scales)));
}

/* Uses each trial's leave-one-out residual and its variance, 1 / (K^-1)_ii. */
static void update_disturbed(struct rue_posterior *gp)
{
    for (size_t i = 0, n = gp->count; i < n; i++) {
        double variance = 1 / gp->work[i * N + i], residual = gp->alpha[i] * variance;
        gp->disturbed[i] = disturbance_probability(
            gp, &gp->trials[i], residual, fmax(variance - trial_noise_variance(gp, i, &gp->scales), 0));
    }
}

/* If most trials of a configuration (at least 2) seem disturbed, the prediction is wrong instead, so they
 * count fully. */
static void restore_consistent(struct rue_posterior *gp)
{
    bool residual[N];
    for (size_t i = 0; i < gp->count; i++) {
        size_t all = 0, disturbed = 0;
        for (size_t j = 0; j < gp->count; j++) {
            if (gp->trials[j].point.site.config != gp->trials[i].point.site.config) continue;
            all++;
            disturbed += gp->disturbed[j] > 0.5;
        }
        residual[i] = disturbed >= 2 && 2 * disturbed > all;
    }
    for (size_t i = 0; i < gp->count; i++)
        if (residual[i]) gp->disturbed[i] = 0;
}

bool rue_posterior_is_last_disturbed(const struct rue_posterior *gp)
{
    return gp->count > 0 && gp->disturbed[gp->count - 1] > 0.5;
}

/* Predicts the trials `members` of one configuration from all others; returns the error of their mean in
 * standard deviations. */
static double left_out_residual(struct rue_posterior *gp, const size_t *members, size_t count)
{
    double *block = gp->block, whitened[N], ones[N], sum = 0, variance = 0;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b <= a; b++) block[a * N + b] = gp->work[members[a] * N + members[b]];
        whitened[a] = gp->alpha[members[a]];
        ones[a] = 1;
    }
    if (!factorise(block, N, count)) return 0;
    solve(block, count, whitened);
    solve(block, count, ones);
    for (size_t a = 0; a < count; a++) sum += whitened[a], variance += ones[a];
    return sum / sqrt(variance);
}

/* Each configuration counts once, because its trials share their prediction error. */
static void calibrate_posterior(struct rue_posterior *gp)
{
    size_t members[N];
    double sum = 0;
    gp->calibration = (struct rue_posterior_calibration){.ratio = 1};
    for (size_t i = 0; i < gp->count; i++) {
        size_t config = gp->trials[i].point.site.config, count = 0;
        for (size_t j = 0; j < gp->count; j++)
            if (gp->trials[j].point.site.config == config) members[count++] = j;
        if (members[0] != i) continue;
        sum += pow(left_out_residual(gp, members, count), 2);
        gp->calibration.configs++;
    }
    if (gp->calibration.configs >= CALIBRATION_MIN)
        gp->calibration.ratio = sqrt(sum / (double)gp->calibration.configs);
}

rue_status rue_posterior_update(struct rue_posterior *gp, rue_error *error)
{
    if (gp->count == 0) return RUE_OK;
    rue_status status = average_scales(gp, error);
    for (int iteration = 0; status == RUE_OK && iteration < ITERATIONS; iteration++) {
        status = condition_on_trials(gp, error);
        if (status != RUE_OK) break;
        invert(gp->factor, gp->count, gp->work);
        if (iteration + 1 == ITERATIONS) break;
        update_disturbed(gp);
        restore_consistent(gp);
    }
    if (status == RUE_OK) calibrate_posterior(gp);
    return status;
}

struct rue_posterior_calibration rue_posterior_calibration(const struct rue_posterior *gp)
{
    return gp->calibration;
}

size_t rue_posterior_trial_count(const struct rue_posterior *gp)
{
    return gp->count;
}

void rue_posterior_add(struct rue_posterior *gp, const struct rue_posterior_trial *trial)
{
    size_t count = gp->count;
    if (count >= N) return;
    double mean, variance;
    rue_posterior_predict(gp, &trial->point, &mean, &variance);
    gp->disturbed[count] =
        count < DISTURBED_MIN
            ? 0
            : disturbance_probability(gp, trial, trial->log_ratio - mean,
                                      variance + rue_posterior_drift_covariance(trial, trial));
    gp->trials[count] = *trial;
    gp->log_ratio[count] = trial->log_ratio - weighted_slopes(gp, gp->mean, &trial->point);
    for (size_t j = 0; j <= count; j++) {
        double *pair = gp->pairs[count * (count + 1) / 2 + j];
        point_covariance(gp, &trial->point, &gp->trials[j].point, pair);
        pair[RUE_SCALE_FIXED] += rue_posterior_drift_covariance(trial, &gp->trials[j]);
    }
    gp->count++;
    if (condition_on_trials(gp, NULL) != RUE_OK) gp->count--; /* earlier rows of the factor are unchanged */
}

void rue_posterior_truncate(struct rue_posterior *gp, size_t count)
{
    if (count >= gp->count) return;
    gp->count = count;
    (void)!condition_on_trials(gp, NULL); /* a leading block of a positive definite matrix is one, too */
}

/* The covariances of a point with all trials into `out` [count]. */
static void cross_covariances(const struct rue_posterior *gp, const struct rue_posterior_point *point,
                              double *out)
{
    double parts[RUE_SCALE_COUNT];
    for (size_t i = 0; i < gp->count; i++) {
        point_covariance(gp, point, &gp->trials[i].point, parts);
        out[i] = scaled_covariance(parts, &gp->scales);
    }
}

void rue_posterior_predict(const struct rue_posterior *gp, const struct rue_posterior_point *point,
                           double *mean, double *variance)
{
    double parts[RUE_SCALE_COUNT], cross[N];
    point_covariance(gp, point, point, parts);
    *variance = scaled_covariance(parts, &gp->scales);
    cross_covariances(gp, point, cross);
    *mean = weighted_slopes(gp, gp->mean, point) + dot(cross, gp->alpha, gp->count);
    solve_lower(gp->factor, gp->count, cross);
    *variance = fmax(0, *variance - dot(cross, cross, gp->count));
}

/* ---- latent vectors: the parameters' deviations from those of the prediction, then the fields' values
 * ---- */

size_t rue_posterior_latent_size(const struct rue_posterior *gp)
{
    return gp->parameters + rue_random_fields_size(gp->fields);
}

double rue_posterior_evaluate(const struct rue_posterior *gp, const double *latent,
                              const struct rue_posterior_point *point)
{
    return weighted_slopes(gp, latent, point) +
           rue_random_fields_evaluate(gp->fields, latent + gp->parameters, &point->site);
}

void rue_posterior_accumulate(const struct rue_posterior *gp, const struct rue_posterior_point *point,
                              double weight, double *latent)
{
    for (size_t s = 0; s < slope_count(gp, point); s++)
        latent[parameter_index(point, s)] += weight * point->slopes[s];
    rue_random_fields_accumulate(gp->fields, &point->site, weight, latent + gp->parameters);
}

static void accumulate_trials(const struct rue_posterior *gp, const double *weights, double *latent)
{
    for (size_t i = 0; i < gp->count; i++)
        rue_posterior_accumulate(gp, &gp->trials[i].point, weights[i], latent);
}

/* Multiplies a linear combination by the prior covariance matrix, in place. */
static void multiply_prior(const struct rue_posterior *gp, const struct scales *scales, double *latent)
{
    size_t n = gp->parameters;
    memcpy(gp->normals, latent, n * sizeof *latent);
    for (size_t p = 0; p < n; p++) latent[p] = dot(gp->covariance + p * n, gp->normals, n);
    rue_random_fields_covary(gp->fields, scales->fields, latent + n);
}

void rue_posterior_mean(const struct rue_posterior *gp, double *latent)
{
    memset(latent, 0, rue_posterior_latent_size(gp) * sizeof *latent);
    accumulate_trials(gp, gp->alpha, latent);
    multiply_prior(gp, &gp->scales, latent);
    for (size_t p = 0; p < gp->parameters; p++) latent[p] += gp->mean[p];
}

void rue_posterior_set_contrast(struct rue_posterior *gp, double *latent)
{
    memcpy(gp->latent, latent, rue_posterior_latent_size(gp) * sizeof *latent);
    multiply_prior(gp, &gp->scales, gp->latent);
    for (size_t i = 0; i < gp->count; i++)
        gp->contrast[i] = -rue_posterior_evaluate(gp, gp->latent, &gp->trials[i].point);
    solve(gp->factor, gp->count, gp->contrast);
    accumulate_trials(gp, gp->contrast, latent);
    multiply_prior(gp, &gp->scales, latent);
}

/* The drift that a trial shares with recent ones reduces its gain. */
double rue_posterior_variance_reduction(const struct rue_posterior *gp, const double *latent,
                                        const struct rue_posterior_trial *trial)
{
    double parts[RUE_SCALE_COUNT], cross[N], contrast = rue_posterior_evaluate(gp, latent, &trial->point);
    point_covariance(gp, &trial->point, &trial->point, parts);
    double variance = scaled_covariance(parts, &gp->scales) + rue_posterior_drift_covariance(trial, trial) +
                      usual_variance(trial, &gp->scales);
    cross_covariances(gp, &trial->point, cross);
    for (size_t i = 0; i < gp->count; i++) {
        double drift = rue_posterior_drift_covariance(trial, &gp->trials[i]);
        cross[i] += drift;
        contrast += drift * gp->contrast[i];
    }
    solve_lower(gp->factor, gp->count, cross);
    variance -= dot(cross, cross, gp->count);
    return contrast * contrast / fmax(variance, 1e-12);
}

/* Matheron's rule: a sample from the prior, corrected by the trials' residuals to that sample. */
void rue_posterior_sample(struct rue_posterior *gp, uint64_t *seed, double *latent)
{
    size_t n = gp->parameters, size = rue_posterior_latent_size(gp);
    const struct scales *scales = &gp->scales;
    double residual[N], drift[N], effect[N];
    rue_random_normals(seed, gp->normals, n);
    for (size_t p = 0; p < n; p++) latent[p] = gp->mean[p] + dot(gp->cholesky + p * n, gp->normals, p + 1);
    rue_random_fields_sample(gp->fields, scales->fields, seed, latent + n);
    for (size_t i = 0; i < gp->count; i++) {
        const struct rue_posterior_trial *trial = &gp->trials[i];
        size_t last = i; /* trial on the same node */
        while (last > 0 && gp->trials[last - 1].node != trial->node) last--;
        double share = last ? drift_covariance(trial, &gp->trials[last - 1]) / (drift_sd * drift_sd) : 0;
        drift[i] = (last ? share * drift[last - 1] : 0) +
                   sqrt(1 - share * share) * drift_sd * rue_random_normal(seed);
        effect[i] = last ? effect[last - 1] : trial->node ? node_sd * rue_random_normal(seed) : 0;
        double noise = sqrt(trial_noise_variance(gp, i, scales)) * rue_random_normal(seed);
        residual[i] = trial->log_ratio - rue_posterior_evaluate(gp, latent, &trial->point) - drift[i] -
                      effect[i] - noise;
    }
    solve(gp->factor, gp->count, residual);
    memset(gp->latent, 0, size * sizeof *latent);
    accumulate_trials(gp, residual, gp->latent);
    multiply_prior(gp, scales, gp->latent);
    for (size_t i = 0; i < size; i++) latent[i] += gp->latent[i];
}

rue_status rue_posterior_open(const struct rue_posterior_setup *setup, struct rue_posterior **out,
                              rue_error *error)
{
    size_t n = setup->parameter_count;
    gsl_set_error_handler_off();
    struct rue_posterior *gp = calloc(1, sizeof *gp);
    if (!gp) return rue_fail_memory(error, "the posterior", sizeof *gp);
    gp->parameters = n;
    gp->stop = setup->stop;
    rue_status status =
        rue_random_fields_open(setup->model_count, setup->configs, setup->config_count, &gp->fields, error);
    size_t size = status == RUE_OK ? rue_posterior_latent_size(gp) : 0;
    gp->mean = calloc(n, sizeof *gp->mean);
    gp->covariance = calloc(n * n, sizeof *gp->covariance);
    gp->cholesky = calloc(n * n, sizeof *gp->cholesky);
    gp->normals = calloc(n, sizeof *gp->normals);
    gp->latent = calloc(size + 1, sizeof *gp->latent);
    if (status == RUE_OK && (!gp->mean || !gp->covariance || !gp->cholesky || !gp->normals || !gp->latent))
        status = rue_fail_memory(error, "the posterior", (n * n + size) * sizeof(double));
    if (status == RUE_OK) {
        if (setup->mean) memcpy(gp->mean, setup->mean, n * sizeof *gp->mean);
        for (size_t i = 0; i < n * n; i++)
            gp->cholesky[i] = gp->covariance[i] =
                setup->covariance[i] + (i % (n + 1) == 0 ? parameter_sd * parameter_sd : 0);
        if (!factorise(gp->cholesky, n, n))
            status = rue_fail(error, RUE_INTERNAL,
                              "the covariance matrix of the parameters is not positive definite");
    }
    if (status == RUE_OK) status = average_scales(gp, error);
    if (status == RUE_OK) status = condition_on_trials(gp, error);
    if (status != RUE_OK) return rue_posterior_close(gp), status;
    gp->calibration.ratio = 1;
    *out = gp;
    return RUE_OK;
}

void rue_posterior_close(struct rue_posterior *gp)
{
    if (!gp) return;
    rue_random_fields_close(gp->fields);
    free(gp->mean);
    free(gp->covariance);
    free(gp->cholesky);
    free(gp->normals);
    free(gp->latent);
    free(gp);
}
