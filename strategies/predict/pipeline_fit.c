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

static const double least_gain = 0.01; /* of the sum of squares, in variances */
static const double step = 1e-4;       /* of a logarithm, for derivatives */

/* How far the logarithm of a measured time lies from that of a good prediction: until the first batch, from
 * there to the last, shut-down. */
static const double spread[TIMES] = {0.06, 0.04, 0.15};

/* What is believed of loaders before any trial. The time of an image is guessed from the trials. */
struct belief {
    double centre, sd; /* of the logarithm */
};
#define OF_AN_IMAGE NAN
static const struct belief beliefs_threads[RUE_PIPELINE_PARAMETER_COUNT] = {
    [RUE_PIPELINE_start_s] = {1e-4, 2},
    [RUE_PIPELINE_start_worker_s] = {5e-5, 1.5},
    [RUE_PIPELINE_batch_s] = {2e-5, 2},
    [RUE_PIPELINE_item_s] = {OF_AN_IMAGE, 2},
    [RUE_PIPELINE_contention_ratio] = {0.01, 1.5},
    [RUE_PIPELINE_storage_s] = {OF_AN_IMAGE, 2},
    [RUE_PIPELINE_stop_worker_s] = {3e-5, 1.5},
    [RUE_PIPELINE_jitter_ratio] = {0.05, 1},
    [RUE_PIPELINE_inline_ratio] = {1, 0.1},
    [RUE_PIPELINE_warm_up_ratio] = {0.1, 2},
    [RUE_PIPELINE_beside_ratio] = {1, 0.3},
};
static const struct belief beliefs_processes[RUE_PIPELINE_PARAMETER_COUNT] = {
    [RUE_PIPELINE_start_s] = {0.1, 1.5},           [RUE_PIPELINE_start_worker_s] = {0.03, 1.5},
    [RUE_PIPELINE_batch_s] = {3e-3, 1.5},          [RUE_PIPELINE_item_s] = {OF_AN_IMAGE, 2},
    [RUE_PIPELINE_contention_ratio] = {0.01, 1.5}, [RUE_PIPELINE_storage_s] = {OF_AN_IMAGE, 2},
    [RUE_PIPELINE_stop_worker_s] = {0.01, 1.5},    [RUE_PIPELINE_jitter_ratio] = {0.05, 1},
    [RUE_PIPELINE_inline_ratio] = {1, 0.5},        [RUE_PIPELINE_warm_up_ratio] = {0.3, 2},
    [RUE_PIPELINE_beside_ratio] = {1, 0.3},
};
static const double storage_share = 1.0 / 32; /* of the time of an image, where nothing is known */
static const double consumer_sd = 3, consumer_sd_of_prior = 0.5;

struct problem {
    const struct rue_pipeline_fit_setup *setup;
    const struct rue_pipeline_sample *samples; /* of the setup */
    size_t sample_count, count, rows;
    double image_s;      /* guessed */
    double *centre, *sd; /* [count] of what is believed before the trials */
    double *weight;      /* [rows] of residuals, for those far out less than 1 */
    double *base;        /* [rows] */
    double *x;           /* [count] */
};

static struct rue_pipeline_loader loader_of(const struct problem *problem, const double *x)
{
    struct rue_pipeline_loader loader = {.cpus = problem->setup->cpus,
                                         .round_robin = problem->setup->round_robin};
    for (int p = 0; p < N; p++) loader.value[p] = exp(x[p]);
    return loader;
}

static struct rue_pipeline_consumer consumer_of(const struct rue_pipeline_sample *sample, const double *x)
{
    if (sample->unknown == RUE_PIPELINE_KNOWN) return sample->consumer;
    const double *own = x + N + 2 * sample->unknown;
    return (struct rue_pipeline_consumer){exp(own[0]), exp(own[1]), 0, false};
}

static rue_status check_fit_stop(const struct problem *problem)
{
    return problem->setup->stop ? problem->setup->stop() : RUE_OK;
}

static double log_distance(double measured_s, double predicted_s, double sd)
{
    if (!(measured_s > 0) || !(predicted_s > 0)) return 0; /* not known, or nothing to tell */
    return log(measured_s / predicted_s) / sd;
}

static struct rue_pipeline_times predict_sample(const struct problem *problem, const double *x, size_t index)
{
    const struct rue_pipeline_sample *sample = &problem->samples[index];
    struct rue_pipeline_loader loader = loader_of(problem, x);
    struct rue_pipeline_consumer consumer = consumer_of(sample, x);
    return rue_pipeline_predict(&loader, &consumer, &sample->config, sample->images);
}

/* The rows of one sample, 0 where a time is not known. RUE_MEMORY, or what the stop returns. */
static rue_status fill_rows(const struct problem *problem, const struct rue_pipeline_times *times,
                            size_t index, double *rows)
{
    const struct rue_pipeline_times *measured = &problem->samples[index].times;
    double *own = rows + TIMES * index;
    bool whole = isnan(measured->first_batch_s); /* its parts were not told */
    own[0] = log_distance(measured->first_batch_s, times->first_batch_s, spread[0]);
    own[1] = whole ? log_distance(measured->end_to_end_s, times->end_to_end_s, spread[1])
                   : log_distance(rue_pipeline_middle_s(measured), rue_pipeline_middle_s(times), spread[1]);
    own[2] = log_distance(measured->shutdown_s, times->shutdown_s, spread[2]);
    return isnan(times->end_to_end_s) ? RUE_MEMORY : check_fit_stop(problem);
}

/* All rows, unweighted: those of the samples, then one for each belief; into `base`. */
static rue_status all_rows(struct problem *problem, const double *x)
{
    double *rows = problem->base;
    for (size_t s = 0; s < problem->sample_count; s++) {
        struct rue_pipeline_times times = predict_sample(problem, x, s);
        rue_status status = fill_rows(problem, &times, s, rows);
        if (status != RUE_OK) return status;
    }
    double *beliefs = rows + TIMES * problem->sample_count;
    for (size_t p = 0; p < problem->count; p++) beliefs[p] = (x[p] - problem->centre[p]) / problem->sd[p];
    return RUE_OK;
}

static void copy_out(const gsl_vector *from, double *to)
{
    for (size_t i = 0; i < from->size; i++) to[i] = gsl_vector_get(from, i);
}

static int fit_residuals(const gsl_vector *at, void *context, gsl_vector *out)
{
    struct problem *problem = context;
    copy_out(at, problem->x);
    if (all_rows(problem, problem->x) != RUE_OK) return GSL_ENOMEM;
    for (size_t r = 0; r < problem->rows; r++) gsl_vector_set(out, r, problem->base[r] * problem->weight[r]);
    return GSL_SUCCESS;
}

/* Disturbed rows count less: interference is no news of the loader. */
static void reweigh_rows(struct problem *problem)
{
    for (size_t r = 0; r < TIMES * problem->sample_count; r++) {
        double sd = spread[r % TIMES], disturbed = rue_disturbance_probability(problem->base[r] * sd, sd);
        problem->weight[r] = sd / sqrt(rue_disturbance_variance(disturbed, sd * sd));
    }
}

/* Until a step hardly makes the parameters more probable. Returns GSL's code; that no step does is a success.
 */
static int iterate_fit(gsl_multifit_nlinear_workspace *work)
{
    const gsl_vector *rows = gsl_multifit_nlinear_residual(work);
    double before, squares = INFINITY;
    int i = 0, code;
    do {
        before = squares;
        code = gsl_multifit_nlinear_iterate(work);
        gsl_blas_ddot(rows, rows, &squares);
    } while (code == GSL_SUCCESS && ++i < ITERATIONS && before - squares > least_gain);
    return code == GSL_ENOPROG ? GSL_SUCCESS : code;
}

/* From what is believed to the best near it, robustly, into `x`; `covariance` [count][count]. */
static rue_status search_parameters(struct problem *problem, double *x, double *covariance, rue_error *error)
{
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    parameters.h_df = step;
    gsl_multifit_nlinear_fdf fdf = {
        .f = fit_residuals, .n = problem->rows, .p = problem->count, .params = problem};
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, fdf.n, fdf.p);
    if (!work) return rue_fail_memory(error, "a fit", problem->rows * problem->count * sizeof *x);
    double squares = 0;
    int code = GSL_SUCCESS;
    memcpy(x, problem->setup->start ? problem->setup->start : problem->centre, problem->count * sizeof *x);
    for (size_t r = 0; r < problem->rows; r++) problem->weight[r] = 1;
    for (int round = 0; code == GSL_SUCCESS && round < ROUNDS; round++) {
        gsl_vector_const_view start = gsl_vector_const_view_array(x, problem->count);
        code = gsl_multifit_nlinear_init(&start.vector, &fdf, work);
        if (code == GSL_SUCCESS) code = iterate_fit(work);
        if (code == GSL_SUCCESS) copy_out(gsl_multifit_nlinear_position(work), x);
        if (code == GSL_SUCCESS && all_rows(problem, x) != RUE_OK) code = GSL_ENOMEM;
        reweigh_rows(problem);
    }
    gsl_matrix_view out = gsl_matrix_view_array(covariance, problem->count, problem->count);
    if (code == GSL_SUCCESS)
        code = gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0, &out.matrix);
    gsl_multifit_nlinear_free(work);
    for (size_t r = 0; r < problem->rows; r++) squares += problem->base[r] * problem->base[r];
    rue_status stopped = check_fit_stop(problem);
    if (stopped != RUE_OK) return rue_fail(error, stopped, "interrupted");
    return code == GSL_SUCCESS && isfinite(squares)
               ? RUE_OK
               : rue_fail(error, RUE_INTERNAL, "no parameters fit the %zu trials", problem->sample_count);
}

/* Seconds that one worker takes for an image, if workers were all there is: of the sample with the fewest. */
static double guess_image_s(const struct problem *problem)
{
    double guess = NAN;
    int fewest = 0;
    for (size_t s = 0; s < problem->sample_count; s++) {
        const struct rue_pipeline_sample *sample = &problem->samples[s];
        int workers = (int)rue_trial_loaders(&sample->config);
        double took_s = sample->times.end_to_end_s;
        if (!(took_s > 0) || (!isnan(guess) && workers >= fewest)) continue;
        guess = took_s / (double)sample->images *
                (workers < problem->setup->cpus ? workers : problem->setup->cpus);
        fewest = workers;
    }
    return guess;
}

/* What is believed before the trials. */
static void believe_prior(struct problem *problem)
{
    const struct belief *beliefs = problem->setup->round_robin ? beliefs_processes : beliefs_threads;
    const struct rue_pipeline_prior *prior = problem->setup->prior;
    for (size_t p = 0; p < problem->count; p++) {
        double centre = NAN, sd = consumer_sd;
        if (p < N) {
            centre = prior ? prior->value[p] : beliefs[p].centre;
            sd = prior ? prior->sd[p] : beliefs[p].sd;
        } else if (prior && prior->consumers) {
            const struct rue_pipeline_consumer *own = &prior->consumers[(p - N) / 2];
            centre = (p - N) % 2 ? own->image_s : own->batch_s;
            if (centre > 0) sd = consumer_sd_of_prior;
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
    fit->loader = loader_of(problem, fit->found);
    for (size_t c = 0; c < fit->consumer_count; c++) {
        const double *own = fit->found + N + 2 * c;
        fit->consumers[c] = (struct rue_pipeline_consumer){exp(own[0]), exp(own[1]), 0, false};
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
    fit->found = fit->prior_covariance + count * count;
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
    if (!(problem.image_s > 0)) return rue_fail(error, RUE_USAGE, "no trial to learn from");
    size_t doubles = 3 * problem.count + 2 * problem.rows;
    double *room = calloc(doubles, sizeof *room);
    struct rue_pipeline_fit *fit = allocate_fit(consumer_count, problem.count);
    rue_status status = room && fit ? RUE_OK : rue_fail_memory(error, "a fit", doubles * sizeof *room);
    if (status == RUE_OK) {
        problem.centre = room;
        problem.sd = problem.centre + problem.count;
        problem.x = problem.sd + problem.count;
        problem.weight = problem.x + problem.count;
        problem.base = problem.weight + problem.rows;
        believe_prior(&problem);
        status = search_parameters(&problem, fit->found, fit->covariance, error);
        if (status == RUE_OK) fill_fit(&problem, fit);
    }
    free(room);
    if (status != RUE_OK) return rue_pipeline_fit_close(fit), status;
    *out = fit;
    return RUE_OK;
}
