#include "pipeline_fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "disturbance.h"
#include "job_time.h"

enum { N = RUE_PIPELINE_PARAMETER_COUNT, TIMES = 3, ITERATIONS = 60, ROUNDS = 3 };

static const double min_improvement = 0.01; /* of the sum of squares; below it the iteration stops */
static const double step = 1e-4;            /* of a logarithm, for numerical derivatives */

/* Standard deviation of the logarithm of measured over predicted time: until the first batch, from the first
 * batch to the last, shut-down. */
static const double noise_sd[TIMES] = {0.06, 0.04, 0.15};

/* Log-normal priors of a loader's parameters. The time per image is guessed from the trials. */
struct prior_row {
    double centre, sd; /* of the logarithm */
};
#define IMAGE_TIME NAN
static const struct prior_row thread_priors[RUE_PIPELINE_PARAMETER_COUNT] = {
    [RUE_PIPELINE_start_s] = {1e-4, 2},
    [RUE_PIPELINE_start_worker_s] = {5e-5, 1.5},
    [RUE_PIPELINE_batch_s] = {2e-5, 2},
    [RUE_PIPELINE_item_s] = {IMAGE_TIME, 2},
    [RUE_PIPELINE_contention_ratio] = {0.01, 1.5},
    [RUE_PIPELINE_storage_s] = {IMAGE_TIME, 2},
    [RUE_PIPELINE_stop_worker_s] = {3e-5, 1.5},
    [RUE_PIPELINE_jitter_ratio] = {0.05, 1},
    [RUE_PIPELINE_inline_ratio] = {1, 0.1},
    [RUE_PIPELINE_warm_up_ratio] = {0.1, 2},
    [RUE_PIPELINE_beside_ratio] = {1, 0.3},
};
static const struct prior_row process_priors[RUE_PIPELINE_PARAMETER_COUNT] = {
    [RUE_PIPELINE_start_s] = {0.1, 1.5},           [RUE_PIPELINE_start_worker_s] = {0.03, 1.5},
    [RUE_PIPELINE_batch_s] = {3e-3, 1.5},          [RUE_PIPELINE_item_s] = {IMAGE_TIME, 2},
    [RUE_PIPELINE_contention_ratio] = {0.01, 1.5}, [RUE_PIPELINE_storage_s] = {IMAGE_TIME, 2},
    [RUE_PIPELINE_stop_worker_s] = {0.01, 1.5},    [RUE_PIPELINE_jitter_ratio] = {0.05, 1},
    [RUE_PIPELINE_inline_ratio] = {1, 0.5},        [RUE_PIPELINE_warm_up_ratio] = {0.3, 2},
    [RUE_PIPELINE_beside_ratio] = {1, 0.3},
};
static const double storage_share = 1.0 / 32; /* of the time per image, without a prior */
static const double consumer_sd = 3, known_consumer_sd = 0.5;

struct problem {
    const struct rue_pipeline_fit_setup *setup;
    const struct rue_pipeline_sample *samples; /* of the setup */
    size_t sample_count, count, rows;
    double image_s;      /* first guess */
    double *centre, *sd; /* [count] of the prior */
    double *weight;      /* [residual_count] less than 1 for outliers */
    double *residuals;   /* [residual_count] unweighted */
    double *theta;       /* [count] */
};

static struct rue_pipeline_loader loader_from(const struct problem *problem, const double *theta)
{
    struct rue_pipeline_loader loader = {.cpus = problem->setup->cpus,
                                         .round_robin = problem->setup->round_robin};
    for (int p = 0; p < N; p++) loader.value[p] = exp(theta[p]);
    return loader;
}

static struct rue_pipeline_consumer sample_consumer(const struct rue_pipeline_sample *sample,
                                                    const double *theta)
{
    if (sample->unknown_consumer == RUE_PIPELINE_KNOWN) return sample->consumer;
    const double *logs = theta + N + 2 * sample->unknown_consumer;
    return (struct rue_pipeline_consumer){exp(logs[0]), exp(logs[1]), 0, false};
}

static rue_status check_fit_stop(const struct problem *problem)
{
    return problem->setup->stop ? problem->setup->stop() : RUE_OK;
}

static double log_residual(double measured_s, double predicted_s, double sd)
{
    if (!(measured_s > 0) || !(predicted_s > 0)) return 0; /* unknown */
    return log(measured_s / predicted_s) / sd;
}

static struct rue_pipeline_times predict_sample(const struct problem *problem, const double *theta,
                                                size_t index)
{
    const struct rue_pipeline_sample *sample = &problem->samples[index];
    struct rue_pipeline_loader loader = loader_from(problem, theta);
    struct rue_pipeline_consumer consumer = sample_consumer(sample, theta);
    return rue_pipeline_predict(&loader, &consumer, &sample->config, sample->images);
}

/* The residuals of one sample, 0 for an unknown time. RUE_MEMORY, or the status of `stop`. */
static rue_status sample_residuals(const struct problem *problem, const struct rue_pipeline_times *times,
                                   size_t index, double *residuals)
{
    const struct rue_pipeline_times *measured = &problem->samples[index].times;
    double *out = residuals + TIMES * index;
    bool whole = isnan(measured->first_batch_s); /* times of the parts are unknown */
    out[0] = log_residual(measured->first_batch_s, times->first_batch_s, noise_sd[0]);
    out[1] = whole ? log_residual(measured->end_to_end_s, times->end_to_end_s, noise_sd[1])
                   : log_residual(rue_pipeline_middle_s(measured), rue_pipeline_middle_s(times), noise_sd[1]);
    out[2] = log_residual(measured->shutdown_s, times->shutdown_s, noise_sd[2]);
    return isnan(times->end_to_end_s) ? RUE_MEMORY : check_fit_stop(problem);
}

/* All unweighted residuals: of the samples, then of each parameter under its prior. */
static rue_status fill_residuals(struct problem *problem, const double *theta)
{
    double *residuals = problem->residuals;
    for (size_t s = 0; s < problem->sample_count; s++) {
        struct rue_pipeline_times times = predict_sample(problem, theta, s);
        rue_status status = sample_residuals(problem, &times, s, residuals);
        if (status != RUE_OK) return status;
    }
    double *deviations = residuals + TIMES * problem->sample_count;
    for (size_t p = 0; p < problem->count; p++)
        deviations[p] = (theta[p] - problem->centre[p]) / problem->sd[p];
    return RUE_OK;
}

static void copy_vector(const gsl_vector *from, double *to)
{
    for (size_t i = 0; i < from->size; i++) to[i] = gsl_vector_get(from, i);
}

static int fit_residuals(const gsl_vector *at, void *context, gsl_vector *out)
{
    struct problem *problem = context;
    copy_vector(at, problem->theta);
    if (fill_residuals(problem, problem->theta) != RUE_OK) return GSL_ENOMEM;
    for (size_t r = 0; r < problem->rows; r++)
        gsl_vector_set(out, r, problem->residuals[r] * problem->weight[r]);
    return GSL_SUCCESS;
}

/* Gives disturbed and uncertain times less weight. */
static void reweigh_residuals(struct problem *problem)
{
    for (size_t r = 0; r < TIMES * problem->sample_count; r++) {
        double usual = noise_sd[r % TIMES], sd = hypot(usual, problem->samples[r / TIMES].added_sd),
               disturbed = rue_disturbance_probability(problem->residuals[r] * usual, sd);
        problem->weight[r] = usual / sqrt(rue_disturbance_variance(disturbed, sd * sd));
    }
}

/* Iterates until a step hardly reduces the sum of squares. Returns GSL's code; a step without progress is
 * success. */
static int iterate_fit(gsl_multifit_nlinear_workspace *work)
{
    const gsl_vector *residuals = gsl_multifit_nlinear_residual(work);
    double before, squares = INFINITY;
    int i = 0, code;
    do {
        before = squares;
        code = gsl_multifit_nlinear_iterate(work);
        gsl_blas_ddot(residuals, residuals, &squares);
    } while (code == GSL_SUCCESS && ++i < ITERATIONS && before - squares > min_improvement);
    return code == GSL_ENOPROG ? GSL_SUCCESS : code;
}

/* Writes the maximum a posteriori estimate to `theta`, by iteratively reweighted least squares;
 * `covariance` [count][count]. */
static rue_status maximise_posterior(struct problem *problem, double *theta, double *covariance,
                                     rue_error *error)
{
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    parameters.h_df = step;
    gsl_multifit_nlinear_fdf fdf = {
        .f = fit_residuals, .n = problem->rows, .p = problem->count, .params = problem};
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, fdf.n, fdf.p);
    if (!work) return rue_fail_memory(error, "a fit", problem->rows * problem->count * sizeof *theta);
    double squares = 0;
    int code = GSL_SUCCESS;
    memcpy(theta, problem->setup->start ? problem->setup->start : problem->centre,
           problem->count * sizeof *theta);
    for (size_t r = 0; r < problem->rows; r++) problem->weight[r] = 1;
    for (int round = 0; code == GSL_SUCCESS && round < ROUNDS; round++) {
        gsl_vector_const_view start = gsl_vector_const_view_array(theta, problem->count);
        code = gsl_multifit_nlinear_init(&start.vector, &fdf, work);
        if (code == GSL_SUCCESS) code = iterate_fit(work);
        if (code == GSL_SUCCESS) copy_vector(gsl_multifit_nlinear_position(work), theta);
        if (code == GSL_SUCCESS && fill_residuals(problem, theta) != RUE_OK) code = GSL_ENOMEM;
        reweigh_residuals(problem);
    }
    gsl_matrix_view out = gsl_matrix_view_array(covariance, problem->count, problem->count);
    if (code == GSL_SUCCESS)
        code = gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0, &out.matrix);
    gsl_multifit_nlinear_free(work);
    for (size_t r = 0; r < problem->rows; r++) squares += problem->residuals[r] * problem->residuals[r];
    rue_status stopped = check_fit_stop(problem);
    if (stopped != RUE_OK) return rue_fail(error, stopped, "interrupted");
    return code == GSL_SUCCESS && isfinite(squares)
               ? RUE_OK
               : rue_fail(error, RUE_INTERNAL, "no parameters fit the %zu trials", problem->sample_count);
}

/* Seconds per image of one worker, if workers were the only limit: from the sample with the fewest
 * workers. */
static double guess_image_s(const struct problem *problem)
{
    double guess = NAN;
    int fewest = 0;
    for (size_t s = 0; s < problem->sample_count; s++) {
        const struct rue_pipeline_sample *sample = &problem->samples[s];
        int workers = (int)rue_trial_loaders(&sample->config);
        double duration_s = sample->times.end_to_end_s;
        if (!(duration_s > 0) || (!isnan(guess) && workers >= fewest)) continue;
        guess = duration_s / (double)sample->images *
                (workers < problem->setup->cpus ? workers : problem->setup->cpus);
        fewest = workers;
    }
    return guess;
}

/* Centre and standard deviation of each parameter's prior. */
static void fill_prior(struct problem *problem)
{
    const struct prior_row *priors = problem->setup->round_robin ? process_priors : thread_priors;
    const struct rue_pipeline_prior *prior = problem->setup->prior;
    for (size_t p = 0; p < problem->count; p++) {
        double centre = NAN, sd = consumer_sd;
        if (p < N) {
            centre = prior ? prior->value[p] : priors[p].centre;
            sd = prior ? prior->sd[p] : priors[p].sd;
        } else if (prior && prior->consumers) {
            const struct rue_pipeline_consumer *known = &prior->consumers[(p - N) / 2];
            centre = (p - N) % 2 ? known->image_s : known->batch_s;
            if (centre > 0) sd = known_consumer_sd;
        }
        if (!(centre > 0)) centre = problem->image_s * (p == RUE_PIPELINE_storage_s ? storage_share : 1);
        problem->centre[p] = log(centre);
        problem->sd[p] = sd;
    }
}

static void fill_fit(const struct problem *problem, struct rue_pipeline_fit *fit)
{
    for (size_t p = 0; p < fit->count; p++)
        fit->prior_covariance[p * (fit->count + 1)] = problem->sd[p] * problem->sd[p];
    fit->loader = loader_from(problem, fit->estimate);
    for (size_t c = 0; c < fit->consumer_count; c++) {
        const double *logs = fit->estimate + N + 2 * c;
        fit->consumers[c] = (struct rue_pipeline_consumer){exp(logs[0]), exp(logs[1]), 0, false};
    }
}

void rue_pipeline_fit_close(struct rue_pipeline_fit *fit)
{
    if (!fit) return;
    free(fit->consumers);
    free(fit->covariance);
    free(fit);
}

static struct rue_pipeline_fit *allocate_fit(size_t consumers, size_t count)
{
    struct rue_pipeline_fit *fit = calloc(1, sizeof *fit);
    if (!fit) return NULL;
    fit->consumer_count = consumers;
    fit->count = count;
    fit->consumers = calloc(consumers + 1, sizeof *fit->consumers);
    fit->covariance = calloc((2 * count + 1) * count, sizeof *fit->covariance);
    if (!fit->consumers || !fit->covariance) return rue_pipeline_fit_close(fit), NULL;
    fit->prior_covariance = fit->covariance + count * count;
    fit->estimate = fit->prior_covariance + count * count;
    return fit;
}

rue_status rue_pipeline_fit_open(const struct rue_pipeline_fit_setup *setup, struct rue_pipeline_fit **out,
                                 rue_error *error)
{
    gsl_set_error_handler_off();
    const struct rue_pipeline_prior *prior = setup->prior;
    size_t sample_count = setup->sample_count, consumer_count = setup->consumer_count;
    struct problem problem = {.setup = setup, .samples = setup->samples, .sample_count = sample_count};
    problem.count = N + 2 * consumer_count;
    problem.rows = TIMES * sample_count + problem.count;
    problem.image_s = guess_image_s(&problem);
    if (prior && !(problem.image_s > 0)) problem.image_s = prior->value[RUE_PIPELINE_item_s];
    if (!(problem.image_s > 0)) return rue_fail(error, RUE_USAGE, "no trial to fit the model to");
    size_t doubles = 3 * problem.count + 2 * problem.rows;
    double *block = calloc(doubles, sizeof *block);
    struct rue_pipeline_fit *fit = allocate_fit(consumer_count, problem.count);
    rue_status status = block && fit ? RUE_OK : rue_fail_memory(error, "a fit", doubles * sizeof *block);
    if (status == RUE_OK) {
        problem.centre = block;
        problem.sd = problem.centre + problem.count;
        problem.theta = problem.sd + problem.count;
        problem.weight = problem.theta + problem.count;
        problem.residuals = problem.weight + problem.rows;
        fill_prior(&problem);
        status = maximise_posterior(&problem, fit->estimate, fit->covariance, error);
        if (status == RUE_OK) fill_fit(&problem, fit);
    }
    free(block);
    if (status != RUE_OK) return rue_pipeline_fit_close(fit), status;
    *out = fit;
    return RUE_OK;
}
