#include "posterior.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* Standard deviations of what predictions are off by, in logarithms; the length is in doublings of a knob. */
static const double smooth_sd = 0.02, batch_sd = 0.02, own_sd = 0.02, smooth_length = 1.2;
static const double parameter_sd = 0.03, not_measured_factor = 2;
static const double drift_sd = 0.02, drift_s = 1000, disturbed_sd = 0.3;

/* The state is the errors of the cells, then how far off the parameters are, and the drift last. */
struct posterior_sizes {
    size_t models, configs, cells, state, parameters, draws;
};

struct rue_posterior {
    struct posterior_sizes size;
    uint64_t seed;
    double *mean;       /* [state] */
    double *covariance; /* [state][state] */
    double *draws;      /* [draws][state] */
    double *jacobian;   /* [cells][parameters] */
    double *gain;       /* [state] */
    double *shift;      /* [parameters] */
    double evidence;
};

/* A standard normal number (Box, Muller 1958). */
static double draw_normal(uint64_t *seed)
{
    double radius = sqrt(-2 * log(1 - rue_random_unit(seed)));
    return radius * cos(2 * M_PI * rue_random_unit(seed));
}

static double knob_log2(const struct rue_config *config, enum rue_knob knob)
{
    return log2(config->value[knob] + (knob == RUE_NUM_WORKERS));
}

/* Configurations of different ways of loading have nothing smooth in common. */
static double smooth(const struct rue_config *a, const struct rue_config *b)
{
    if (a->value[RUE_PARALLELISM] != b->value[RUE_PARALLELISM]) return 0;
    double batch = 0.5 * (knob_log2(a, RUE_BATCH_SIZE) - knob_log2(b, RUE_BATCH_SIZE)),
           workers = 0.5 * (knob_log2(a, RUE_NUM_WORKERS) - knob_log2(b, RUE_NUM_WORKERS)),
           prefetch = knob_log2(a, RUE_PREFETCH_FACTOR) - knob_log2(b, RUE_PREFETCH_FACTOR);
    double distance = sqrt(3 * (batch * batch + workers * workers + prefetch * prefetch)) / smooth_length;
    return (1 + distance) * exp(-distance);
}

static double batch_scale(const struct rue_posterior_prior *prior, size_t cell)
{
    double factor = prior->compute_measured[cell] ? 1 : not_measured_factor;
    return batch_sd * prior->alpha * prior->consumer_share[cell] * factor;
}

static bool same_batch(const struct rue_posterior_prior *prior, size_t i, size_t j)
{
    const struct rue_config *a = &prior->configs[i % prior->config_count],
                            *b = &prior->configs[j % prior->config_count];
    return i / prior->config_count == j / prior->config_count &&
           a->value[RUE_BATCH_SIZE] == b->value[RUE_BATCH_SIZE];
}

/* Lower triangle L with L L' = `matrix` [count][count], in its place; false when it has none. */
static bool factorise(double *matrix, size_t count)
{
    gsl_matrix_view view = gsl_matrix_view_array(matrix, count, count);
    return gsl_linalg_cholesky_decomp1(&view.matrix) == GSL_SUCCESS;
}

/* The parts that the prior is made of, factorised. */
struct parts {
    double *root;       /* [parameters][parameters] L of the parameters' covariance */
    double *parameters; /* [cells][parameters] J L */
    double *smooth;     /* [configs][configs] the kernel's L */
};

static void parts_close(struct parts *parts)
{
    free(parts->root);
    free(parts->parameters);
    free(parts->smooth);
}

static rue_status parts_open(const struct rue_posterior_prior *prior, const struct posterior_sizes *size,
                             struct parts *out, rue_error *error)
{
    size_t n = size->parameters;
    double *root = out->root = calloc(n * n + 1, sizeof *root);
    out->parameters = calloc(size->cells * n + 1, sizeof *out->parameters);
    out->smooth = calloc(size->configs * size->configs, sizeof *out->smooth);
    rue_status status = RUE_OK;
    if (!root || !out->parameters || !out->smooth) status = rue_fail_memory(error, "a prior", size->cells);
    for (size_t i = 0; status == RUE_OK && i < n * n; i++)
        root[i] = prior->covariance[i] + (i % (n + 1) == 0 ? parameter_sd * parameter_sd : 0);
    for (size_t i = 0; status == RUE_OK && i < size->configs * size->configs; i++) {
        size_t a = i / size->configs, b = i % size->configs;
        out->smooth[i] = smooth(&prior->configs[a], &prior->configs[b]) + (a == b ? 1e-6 : 0);
    }
    if (status == RUE_OK && ((n && !factorise(root, n)) || !factorise(out->smooth, size->configs)))
        status = rue_fail(error, RUE_INTERNAL, "the prior's covariance is not positive");
    for (size_t i = 0; status == RUE_OK && i < size->cells; i++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p; q < n; q++)
                out->parameters[i * n + p] += prior->jacobian[i * n + q] * root[q * n + p];
    return status;
}

static void fill_covariance(const struct rue_posterior_prior *prior, const struct parts *parts,
                            struct rue_posterior *posterior)
{
    const struct posterior_sizes *size = &posterior->size;
    double square = prior->alpha * prior->alpha;
    for (size_t i = 0; i < size->cells; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *a = parts->parameters + i * size->parameters,
                         *b = parts->parameters + j * size->parameters;
            double sum = square * smooth_sd * smooth_sd *
                         smooth(&prior->configs[i % size->configs], &prior->configs[j % size->configs]);
            for (size_t p = 0; p < size->parameters; p++) sum += a[p] * b[p];
            if (same_batch(prior, i, j)) sum += batch_scale(prior, i) * batch_scale(prior, j);
            if (i == j) sum += square * own_sd * own_sd;
            posterior->covariance[i * size->state + j] = posterior->covariance[j * size->state + i] = sum;
        }
    /* The parameters are L z: with a cell they share what makes up its error. */
    for (size_t p = 0; p < size->parameters; p++) {
        double *own = posterior->covariance + (size->cells + p) * size->state;
        const double *root = parts->root + p * size->parameters;
        for (size_t i = 0; i < size->cells; i++)
            for (size_t q = 0; q <= p; q++) own[i] += root[q] * parts->parameters[i * size->parameters + q];
        for (size_t i = 0; i < size->cells; i++)
            posterior->covariance[i * size->state + size->cells + p] = own[i];
        for (size_t other = 0; other < size->parameters; other++)
            for (size_t q = 0; q <= p && q <= other; q++)
                own[size->cells + other] += root[q] * parts->root[other * size->parameters + q];
    }
    posterior->covariance[size->state * size->state - 1] = drift_sd * drift_sd;
}

/* The seed of a draw's normal number that all cells of a model and a batch size share. */
static uint64_t batch_seed(uint64_t seed, size_t model, int batch_size)
{
    return rue_mix64(rue_mix64(seed ^ (uint64_t)model << 32) ^ (uint64_t)batch_size);
}

static void fill_draw(const struct rue_posterior_prior *prior, const struct parts *parts, uint64_t seed,
                      const struct posterior_sizes *size, double *normal, double *draw)
{
    uint64_t stream = seed;
    memset(draw, 0, size->state * sizeof *draw);
    for (size_t p = 0; p < size->parameters; p++) normal[p] = draw_normal(&stream);
    for (size_t i = 0; i < size->cells; i++)
        for (size_t p = 0; p < size->parameters; p++)
            draw[i] += parts->parameters[i * size->parameters + p] * normal[p];
    for (size_t p = 0; p < size->parameters; p++)
        for (size_t q = 0; q <= p; q++)
            draw[size->cells + p] += parts->root[p * size->parameters + q] * normal[q];
    for (size_t c = 0; c < size->configs; c++) normal[c] = draw_normal(&stream);
    for (size_t i = 0; i < size->cells; i++) {
        size_t config = i % size->configs;
        double sum = 0;
        for (size_t c = 0; c <= config; c++) sum += parts->smooth[config * size->configs + c] * normal[c];
        uint64_t shared = batch_seed(seed, i / size->configs, prior->configs[config].value[RUE_BATCH_SIZE]);
        draw[i] += prior->alpha * (smooth_sd * sum + own_sd * draw_normal(&stream)) +
                   batch_scale(prior, i) * draw_normal(&shared);
    }
    draw[size->state - 1] = drift_sd * draw_normal(&stream);
}

static rue_status fill(const struct rue_posterior_prior *prior, struct rue_posterior *posterior,
                       rue_error *error)
{
    const struct posterior_sizes *size = &posterior->size;
    struct parts parts = {0};
    rue_status status = parts_open(prior, size, &parts, error);
    size_t most = size->configs > size->parameters ? size->configs : size->parameters;
    double *normal = calloc(most, sizeof *normal);
    if (status == RUE_OK && !normal) status = rue_fail_memory(error, "a prior", most * sizeof *normal);
    if (status == RUE_OK) {
        fill_covariance(prior, &parts, posterior);
        for (size_t d = 0; d < size->draws; d++)
            fill_draw(prior, &parts, rue_mix64(prior->seed + d), size, normal,
                      posterior->draws + d * size->state);
    }
    free(normal);
    parts_close(&parts);
    return status;
}

void rue_posterior_close(struct rue_posterior *posterior)
{
    if (!posterior) return;
    free(posterior->mean);
    free(posterior->covariance);
    free(posterior->draws);
    free(posterior->jacobian);
    free(posterior->gain);
    free(posterior->shift);
    free(posterior);
}

rue_status rue_posterior_open(const struct rue_posterior_prior *prior, struct rue_posterior **out,
                              rue_error *error)
{
    size_t cells = prior->model_count * prior->config_count, state = cells + prior->parameter_count + 1;
    struct rue_posterior *posterior = calloc(1, sizeof *posterior);
    if (!posterior) return rue_fail_memory(error, "a posterior", sizeof *posterior);
    gsl_set_error_handler_off();
    posterior->size = (struct posterior_sizes){.models = prior->model_count,
                                               .configs = prior->config_count,
                                               .cells = cells,
                                               .state = state,
                                               .parameters = prior->parameter_count,
                                               .draws = prior->draws};
    posterior->seed = rue_mix64(~prior->seed);
    posterior->mean = calloc(state, sizeof *posterior->mean);
    posterior->gain = calloc(state, sizeof *posterior->gain);
    posterior->shift = calloc(prior->parameter_count + 1, sizeof *posterior->shift);
    posterior->jacobian = calloc(cells * prior->parameter_count + 1, sizeof *posterior->jacobian);
    posterior->covariance = calloc(state * state, sizeof *posterior->covariance);
    posterior->draws = calloc(prior->draws * state + 1, sizeof *posterior->draws);
    rue_status status = RUE_OK;
    if (!posterior->mean || !posterior->gain || !posterior->shift || !posterior->jacobian ||
        !posterior->covariance || !posterior->draws)
        status = rue_fail_memory(error, "a posterior", (state + prior->draws) * state * sizeof(double));
    if (status == RUE_OK)
        memcpy(posterior->jacobian, prior->jacobian, cells * prior->parameter_count * sizeof(double));
    if (status == RUE_OK) status = fill(prior, posterior, error);
    if (status != RUE_OK) return rue_posterior_close(posterior), status;
    *out = posterior;
    return RUE_OK;
}

void rue_posterior_wait(struct rue_posterior *posterior, double seconds)
{
    size_t state = posterior->size.state, drift = state - 1;
    double kept = exp(-seconds / drift_s), fresh = drift_sd * sqrt(1 - kept * kept);
    posterior->mean[drift] *= kept;
    for (size_t i = 0; i < state; i++) {
        posterior->covariance[i * state + drift] *= kept;
        posterior->covariance[drift * state + i] *= kept;
    }
    posterior->covariance[drift * state + drift] += fresh * fresh;
    for (size_t d = 0; d < posterior->size.draws; d++) {
        double *own = &posterior->draws[d * state + drift];
        *own = kept * *own + fresh * draw_normal(&posterior->seed);
    }
}

/* What a trial in `cell` sees of the state. */
static double seen(const struct rue_posterior *posterior, const double *state, size_t cell,
                   const double *shift)
{
    double sum = state[cell] + state[posterior->size.state - 1];
    for (size_t p = 0; shift && p < posterior->size.parameters; p++)
        sum += shift[p] * state[posterior->size.cells + p];
    return sum;
}

double rue_posterior_observe(struct rue_posterior *posterior, size_t cell, const double *jacobian,
                             double error, double sd)
{
    size_t state = posterior->size.state, parameters = posterior->size.parameters;
    double *gain = posterior->gain, *shift = jacobian ? posterior->shift : NULL;
    for (size_t p = 0; jacobian && p < parameters; p++)
        shift[p] = jacobian[p] - posterior->jacobian[cell * parameters + p];
    for (size_t i = 0; i < state; i++)
        gain[i] = seen(posterior, posterior->covariance + i * state, cell, shift);
    double surprise = error - seen(posterior, posterior->mean, cell, shift), noise = sd * sd;
    double variance = seen(posterior, gain, cell, shift) + noise, distance = surprise / sqrt(variance);
    if (distance > RUE_POSTERIOR_OUTLIER) {
        noise += disturbed_sd * disturbed_sd;
        variance += disturbed_sd * disturbed_sd;
    }
    posterior->evidence -= 0.5 * (log(variance) + surprise * surprise / variance);
    for (size_t d = 0; d < posterior->size.draws; d++) {
        double *draw = posterior->draws + d * state;
        double noisy = error + sqrt(noise) * draw_normal(&posterior->seed);
        double step = (noisy - seen(posterior, draw, cell, shift)) / variance;
        for (size_t i = 0; i < state; i++) draw[i] += gain[i] * step;
    }
    for (size_t i = 0; i < state; i++) {
        posterior->mean[i] += gain[i] * surprise / variance;
        for (size_t j = 0; j < state; j++)
            posterior->covariance[i * state + j] -= gain[i] * gain[j] / variance;
    }
    return distance;
}

/* Entry `i` of what a trial sees of the state, by number of the nonzero ones: its cell, the drift, the
 * parameters. */
static size_t entries_of(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial)
{
    return 2 + (trial->jacobian ? posterior->size.parameters : 0);
}

static size_t entry(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial, size_t i,
                    double *value)
{
    *value = 1;
    if (i == 0) return trial->cell;
    if (i == 1) return posterior->size.state - 1;
    *value = trial->jacobian[i - 2] - posterior->jacobian[trial->cell * posterior->size.parameters + i - 2];
    return posterior->size.cells + i - 2;
}

static double along(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                    const double *vector)
{
    double sum = 0, value;
    for (size_t i = 0; i < entries_of(posterior, trial); i++) {
        size_t at = entry(posterior, trial, i, &value);
        sum += value * vector[at];
    }
    return sum;
}

/* The covariance of what two trials would see, without noise. */
static double between(const struct rue_posterior *posterior, const struct rue_posterior_trial *a,
                      const struct rue_posterior_trial *b)
{
    double sum = 0, value;
    for (size_t i = 0; i < entries_of(posterior, a); i++) {
        size_t at = entry(posterior, a, i, &value);
        sum += value * along(posterior, b, posterior->covariance + at * posterior->size.state);
    }
    return sum;
}

void rue_posterior_expect(const struct rue_posterior *posterior, const struct rue_posterior_trial *trial,
                          double *mean, double *sd)
{
    *mean = along(posterior, trial, posterior->mean);
    *sd = sqrt(fmax(0, between(posterior, trial, trial)) + trial->sd * trial->sd);
}

void rue_posterior_direct(const struct rue_posterior *posterior, const double *weights, double *out)
{
    size_t state = posterior->size.state;
    memset(out, 0, state * sizeof *out);
    for (size_t i = 0; i < posterior->size.cells; i++)
        for (size_t j = 0; weights[i] != 0 && j < state; j++)
            out[j] += weights[i] * posterior->covariance[i * state + j];
}

double rue_posterior_gain(const struct rue_posterior *posterior, const double *direction,
                          const struct rue_posterior_trial *trials, size_t count)
{
    const struct rue_posterior_trial *a = &trials[0], *b = &trials[1];
    double with_a = along(posterior, a, direction), var_a = between(posterior, a, a) + a->sd * a->sd;
    if (count == 1) return with_a * with_a / var_a;
    double with_b = along(posterior, b, direction), var_b = between(posterior, b, b) + b->sd * b->sd;
    double both = between(posterior, a, b), determinant = var_a * var_b - both * both;
    return (with_a * with_a * var_b - 2 * with_a * with_b * both + with_b * with_b * var_a) / determinant;
}

double rue_posterior_evidence(const struct rue_posterior *posterior)
{
    return posterior->evidence;
}

const double *rue_posterior_mean(const struct rue_posterior *posterior)
{
    return posterior->mean;
}

double rue_posterior_covariance(const struct rue_posterior *posterior, size_t cell, size_t other)
{
    return posterior->covariance[cell * posterior->size.state + other];
}

const double *rue_posterior_draw(const struct rue_posterior *posterior, size_t index)
{
    return posterior->draws + index * posterior->size.state;
}
