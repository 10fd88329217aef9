#include "error_prior.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "consumers.h"
#include "random.h"

/* Standard deviations of what predictions are off by, in logarithms; the length is in doublings of a knob. */
static const double smooth_sd = 0.024, batch_sd = 0.024, own_sd = 0.024, smooth_length = 1.2;
static const double parameter_sd = 0.03, not_measured_factor = 2;
static const double drift_sd = 0.02, drift_s = 1000, disturbed_sd = 0.3;

struct rue_error_prior {
    size_t configs, cells, parameters;
    int *batch_size; /* [configs] below 0 where batches are not pinned: models take another time for them */
    size_t *alike;   /* [configs] the first one of the same */
    double *scale;   /* [cells] sd of what a cell has of its model and batch size */
    double *covariance;  /* [parameters][parameters] */
    double *root;        /* [parameters][parameters] L of that */
    double *jacobian;    /* [cells][parameters] */
    double *slopes;      /* [cells][parameters] J L */
    double *smooth;      /* [configs][configs] the kernel */
    double *smooth_root; /* [configs][configs] its L */
    double *room;        /* [2][configs] for a draw */
};

/* ---- what it is made of ---- */

/* A configuration by what is smooth. */
struct place {
    double batch, workers, prefetch; /* log2 */
    double pinned;                   /* as far from not as a doubling */
    int parallelism;
};

static double knob_log2(const struct rue_config *config, enum rue_knob knob)
{
    return log2(config->value[knob] + (knob == RUE_NUM_WORKERS));
}

static struct place place_of(const struct rue_config *config)
{
    return (struct place){knob_log2(config, RUE_BATCH_SIZE), knob_log2(config, RUE_NUM_WORKERS),
                          knob_log2(config, RUE_PREFETCH_FACTOR), rue_consumers_pins(config),
                          config->value[RUE_PARALLELISM]};
}

/* Configurations of different ways of loading have nothing smooth in common. */
static double smooth(const struct place *a, const struct place *b)
{
    if (a->parallelism != b->parallelism) return 0;
    double batch = 0.5 * (a->batch - b->batch), workers = 0.5 * (a->workers - b->workers),
           prefetch = a->prefetch - b->prefetch, pinned = a->pinned - b->pinned;
    double squares = batch * batch + workers * workers + prefetch * prefetch + pinned * pinned;
    double distance = sqrt(3 * squares) / smooth_length;
    return (1 + distance) * exp(-distance);
}

/* Lower triangle L with L L' = `matrix` [count][count], in its place; false when it has none. */
static bool factorise(double *matrix, size_t count)
{
    gsl_matrix_view view = gsl_matrix_view_array(matrix, count, count);
    return gsl_linalg_cholesky_decomp1(&view.matrix) == GSL_SUCCESS;
}

static rue_status fill_smooth(struct rue_error_prior *prior, const struct rue_config *configs,
                              rue_error *error)
{
    size_t count = prior->configs;
    struct place *places = calloc(count, sizeof *places);
    if (!places) return rue_fail_memory(error, "a prior", count * sizeof *places);
    for (size_t c = 0; c < count; c++) places[c] = place_of(&configs[c]);
    for (size_t i = 0; i < count * count; i++) {
        size_t a = i / count, b = i % count;
        prior->smooth[i] = smooth(&places[a], &places[b]);
        prior->smooth_root[i] = prior->smooth[i] + (a == b ? 1e-6 : 0);
    }
    free(places);
    return RUE_OK;
}

static void fill_batches(struct rue_error_prior *prior, const struct rue_error_prior_setup *setup)
{
    for (size_t c = 0; c < prior->configs; c++) {
        int batch_size = setup->configs[c].value[RUE_BATCH_SIZE];
        prior->batch_size[c] = rue_consumers_pins(&setup->configs[c]) ? batch_size : -batch_size;
        while (prior->batch_size[prior->alike[c]] != prior->batch_size[c]) prior->alike[c]++;
    }
    for (size_t i = 0; i < prior->cells; i++)
        prior->scale[i] =
            batch_sd * setup->consumer_share[i] * (setup->compute_measured[i] ? 1 : not_measured_factor);
}

void rue_error_prior_slopes_of(const struct rue_error_prior *prior, const double *jacobian, double *out)
{
    size_t n = prior->parameters;
    for (size_t p = 0; p < n; p++) {
        out[p] = 0;
        for (size_t q = p; q < n; q++) out[p] += jacobian[q] * prior->root[q * n + p];
    }
}

static rue_status fill(struct rue_error_prior *prior, const struct rue_error_prior_setup *setup,
                       rue_error *error)
{
    size_t n = prior->parameters;
    rue_status status = fill_smooth(prior, setup->configs, error);
    if (status != RUE_OK) return status;
    fill_batches(prior, setup);
    memcpy(prior->jacobian, setup->jacobian, prior->cells * n * sizeof *prior->jacobian);
    for (size_t i = 0; i < n * n; i++)
        prior->root[i] = prior->covariance[i] =
            setup->covariance[i] + (i % (n + 1) == 0 ? parameter_sd * parameter_sd : 0);
    gsl_set_error_handler_off();
    if ((n && !factorise(prior->root, n)) || !factorise(prior->smooth_root, prior->configs))
        return rue_fail(error, RUE_INTERNAL, "the prior's covariance is not positive");
    for (size_t i = 0; i < prior->cells; i++)
        rue_error_prior_slopes_of(prior, setup->jacobian + i * n, prior->slopes + i * n);
    return RUE_OK;
}

/* ---- what is asked of it ---- */

size_t rue_error_prior_cells(const struct rue_error_prior *prior)
{
    return prior->cells;
}

size_t rue_error_prior_parameters(const struct rue_error_prior *prior)
{
    return prior->parameters;
}

const double *rue_error_prior_covariance(const struct rue_error_prior *prior)
{
    return prior->covariance;
}

const double *rue_error_prior_jacobian(const struct rue_error_prior *prior, size_t cell)
{
    return prior->jacobian + cell * prior->parameters;
}

const double *rue_error_prior_slopes(const struct rue_error_prior *prior, size_t cell)
{
    return prior->slopes + cell * prior->parameters;
}

double rue_error_prior_scaled(const struct rue_error_prior *prior, size_t cell, size_t other)
{
    size_t a = cell % prior->configs, b = other % prior->configs;
    double sum = smooth_sd * smooth_sd * prior->smooth[a * prior->configs + b];
    if (cell / prior->configs == other / prior->configs && prior->alike[a] == prior->alike[b])
        sum += prior->scale[cell] * prior->scale[other];
    if (cell == other) sum += own_sd * own_sd;
    return sum;
}

double rue_error_prior_drift_variance(void)
{
    return drift_sd * drift_sd;
}

double rue_error_prior_drift_kept(double seconds)
{
    return exp(-seconds / drift_s);
}

double rue_error_prior_disturbance(double distance)
{
    return distance > RUE_ERROR_OUTLIER ? disturbed_sd * disturbed_sd : 0;
}

/* ---- draws ---- */

/* The seed of a draw's normal number that all cells of a model and a batch size share. */
static uint64_t batch_seed(uint64_t seed, size_t model, int batch_size)
{
    return rue_mix64(rue_mix64(seed ^ (uint64_t)model << 32) ^ (uint64_t)batch_size);
}

/* L times `normal` [count], in its place; `root` is L, lower triangular. */
static void join(const double *root, size_t count, double *normal)
{
    for (size_t i = count; i-- > 0;) {
        double sum = 0;
        for (size_t j = 0; j <= i; j++) sum += root[i * count + j] * normal[j];
        normal[i] = sum;
    }
}

void rue_error_prior_draw(const struct rue_error_prior *prior, double alpha, uint64_t seed, double *out)
{
    uint64_t stream = seed;
    double *shared = prior->room, *of_batch = shared + prior->configs, *z = out + prior->cells;
    for (size_t p = 0; p < prior->parameters; p++) z[p] = rue_random_normal(&stream);
    for (size_t c = 0; c < prior->configs; c++) shared[c] = rue_random_normal(&stream);
    join(prior->smooth_root, prior->configs, shared); /* all models have it */
    for (size_t i = 0; i < prior->cells; i++) {
        size_t model = i / prior->configs, config = i % prior->configs;
        uint64_t own = batch_seed(seed, model, prior->batch_size[config]);
        of_batch[config] =
            prior->alike[config] == config ? rue_random_normal(&own) : of_batch[prior->alike[config]];
        out[i] = 0;
        for (size_t p = 0; p < prior->parameters; p++)
            out[i] += prior->slopes[i * prior->parameters + p] * z[p];
        out[i] += alpha * (smooth_sd * shared[config] + own_sd * rue_random_normal(&stream)) +
                  alpha * prior->scale[i] * of_batch[config];
    }
    join(prior->root, prior->parameters, z); /* theta */
    out[prior->cells + prior->parameters] = drift_sd * rue_random_normal(&stream);
}

/* ---- life ---- */

void rue_error_prior_close(struct rue_error_prior *prior)
{
    if (!prior) return;
    free(prior->batch_size);
    free(prior->alike);
    free(prior->scale);
    free(prior->covariance);
    free(prior->root);
    free(prior->jacobian);
    free(prior->slopes);
    free(prior->smooth);
    free(prior->smooth_root);
    free(prior->room);
    free(prior);
}

rue_status rue_error_prior_open(const struct rue_error_prior_setup *setup, struct rue_error_prior **out,
                                rue_error *error)
{
    size_t configs = setup->config_count, cells = setup->model_count * configs, n = setup->parameter_count;
    struct rue_error_prior *prior = calloc(1, sizeof *prior);
    if (!prior) return rue_fail_memory(error, "a prior", sizeof *prior);
    *prior = (struct rue_error_prior){.configs = configs,
                                      .cells = cells,
                                      .parameters = n,
                                      .batch_size = calloc(configs, sizeof *prior->batch_size),
                                      .alike = calloc(configs, sizeof *prior->alike),
                                      .scale = calloc(cells, sizeof *prior->scale),
                                      .covariance = calloc(n * n + 1, sizeof *prior->covariance),
                                      .root = calloc(n * n + 1, sizeof *prior->root),
                                      .jacobian = calloc(cells * n + 1, sizeof *prior->jacobian),
                                      .slopes = calloc(cells * n + 1, sizeof *prior->slopes),
                                      .smooth = calloc(configs * configs, sizeof *prior->smooth),
                                      .smooth_root = calloc(configs * configs, sizeof *prior->smooth_root),
                                      .room = calloc(2 * configs, sizeof *prior->room)};
    rue_status status = RUE_OK;
    if (!prior->batch_size || !prior->alike || !prior->scale || !prior->covariance || !prior->root ||
        !prior->jacobian || !prior->slopes || !prior->smooth || !prior->smooth_root || !prior->room)
        status = rue_fail_memory(error, "a prior", (configs * configs + cells * n) * sizeof(double));
    if (status == RUE_OK) status = fill(prior, setup, error);
    if (status != RUE_OK) return rue_error_prior_close(prior), status;
    *out = prior;
    return RUE_OK;
}
