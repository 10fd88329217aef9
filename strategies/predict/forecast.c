#include "forecast.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"
#include "random.h"

static const struct rue_speed at_beginning = {0, 0};
static const double trial_sd = 0.012; /* of the logarithm of a trial's time */
static const double batch_sd = 0.1;   /* of that of a batch's loading: few batches scatter more than many */
/* What disturbs a trial, however short it is, where workers are threads, and where they are processes. */
static const double thread_hiccup_s = 0.005, process_hiccup_s = 0.02;
static const double first_batch_error = 0.2; /* by which one may come sooner than predicted */
static const double least_change = 0.05;     /* of the logarithm of a time: what changes less is a line */
static const double truncated_sd = 0.005;    /* of a part of the job as an estimate of the whole */

enum { LEAST_DRAWS = 12, CLAIM_CELLS = 5000000 }; /* of large grids there are fewer draws */

/* ---- trials ---- */

/* Whether such a trial would only answer as one before it did, of those before `end` (NULL: of all). */
static bool tells_nothing(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                          const struct rue_logged_trial *end)
{
    size_t alike = 0, answers = forecast->setup->runner.distinct_results;
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    for (size_t i = 0; answers > 0 && i < joints->count && &joints->at[i] != end; i++) {
        const struct rue_logged_trial *trial = &joints->at[i];
        alike += trial->model == model && trial->config == config && trial->images == images;
    }
    return answers > 0 && alike >= answers;
}

/* Such a trial as the belief gets it, without what it measured. */
static struct rue_posterior_trial trial_of(const struct rue_forecast *forecast, size_t model, size_t config,
                                           uint64_t images, double predicted_s)
{
    const struct rue_strategy_setup *setup = forecast->setup;
    struct rue_posterior_trial trial = {
        .point = rue_prediction_point(forecast->prediction, model, config, images)};
    double batches = ceil((double)images / (double)rue_trial_batch(&setup->grid.configs[config]));
    double loading = batch_sd * trial.point.place.amplitude[RUE_AMPLITUDE_LOAD];
    double hiccup = (setup->runner.round_robin ? process_hiccup_s : thread_hiccup_s) / predicted_s;
    double job = (double)rue_setup_images(setup, config, setup->job.images);
    double truncated = truncated_sd * (1 - fmin(1, (double)images / job));
    trial.noise = trial_sd * trial_sd + loading * loading / batches + hiccup * hiccup + truncated * truncated;
    return trial;
}

static void observe_trial(struct rue_forecast *forecast, const struct rue_logged_trial *trial)
{
    double predicted_s =
        rue_prediction_time_s(forecast->prediction, trial->model, trial->config, trial->images,
                              rue_prediction_speed(forecast->prediction, trial));
    if (!(predicted_s > 0) || tells_nothing(forecast, trial->model, trial->config, trial->images, trial))
        return;
    struct rue_posterior_trial observed =
        trial_of(forecast, trial->model, trial->config, trial->images, predicted_s);
    observed.log_ratio = log(trial->times.end_to_end_s / predicted_s);
    observed.seconds = trial->seconds;
    observed.speed = rue_prediction_speed(forecast->prediction, trial);
    rue_posterior_add(forecast->belief, &observed);
}

static double believed_s(const void *context, size_t model, size_t config)
{
    const struct rue_forecast *forecast = context;
    size_t cell = model * forecast->configs + config;
    return forecast->out[config] ? NAN : forecast->job_s[cell] * exp(forecast->mean[cell]);
}

static double drawn_s(const void *context, size_t model, size_t config)
{
    const struct rue_forecast *forecast = context;
    size_t cell = model * forecast->configs + config;
    return forecast->out[config]
               ? NAN
               : forecast->job_s[cell] * exp(forecast->mean[cell] + forecast->log_off[cell]);
}

static void join_regrets(struct rue_forecast *forecast,
                         double (*time_s)(const void *context, size_t model, size_t config),
                         struct rue_regret_summary *out)
{
    rue_objective_summarise(&(struct rue_objective_times){.models = forecast->models,
                                                          .configs = forecast->configs,
                                                          .weights = forecast->setup->aim.weights,
                                                          .time = time_s,
                                                          .context = forecast,
                                                          .scratch = forecast->times},
                            out);
}

/* Those that are out last, equal ones in grid order. */
static int compare_places(const void *a, const void *b, void *context)
{
    const struct rue_forecast *forecast = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct rue_regret_summary *joined = forecast->joined;
    enum rue_objective objective = forecast->setup->aim.objective;
    if (rue_regret_summary_is_better(&joined[x], &joined[y], objective)) return -1;
    return rue_regret_summary_is_better(&joined[y], &joined[x], objective) ? 1 : (x > y) - (x < y);
}

static void rank_configs_by_belief(struct rue_forecast *forecast)
{
    size_t configs = forecast->configs;
    for (size_t c = 0; c < configs; c++) forecast->ranked[c] = c;
    qsort_r(forecast->ranked, configs, sizeof *forecast->ranked, compare_places, forecast);
}

/* What is expected follows the belief. */
static void expect_all(struct rue_forecast *forecast)
{
    rue_posterior_mean(forecast->belief, forecast->state);
    for (size_t i = 0; i < forecast->cells; i++)
        forecast->mean[i] = rue_posterior_evaluate(forecast->belief, forecast->state, &forecast->points[i]);
    join_regrets(forecast, believed_s, forecast->joined);
    rank_configs_by_belief(forecast);
}

rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_question *ask,
                            const struct rue_trial_result *result, double seconds, rue_error *error)
{
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    size_t before = joints->count;
    rue_status status = rue_prediction_add(forecast->prediction, ask, result, seconds, error);
    if (joints->count == before) return status;
    const struct rue_logged_trial *trial = &joints->at[before];
    struct rue_estimate *cell = &forecast->tried[trial->model * forecast->configs + trial->config];
    cell->trials++;
    cell->full |=
        trial->images >= rue_setup_images(forecast->setup, trial->config, forecast->setup->job.images);
    cell->first_batch_s = fmin(cell->first_batch_s, trial->times.first_batch_s);
    if (status != RUE_OK || !forecast->belief) return status;
    observe_trial(forecast, trial);
    expect_all(forecast);
    return RUE_OK;
}

bool rue_forecast_predict_trial(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                                double *time_s, double *sd)
{
    double predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, images), mean, variance;
    if (!forecast->belief || !(predicted_s > 0)) return false;
    struct rue_posterior_trial trial = trial_of(forecast, model, config, images, predicted_s);
    rue_posterior_predict(forecast->belief, &trial.point, &mean, &variance);
    *time_s = predicted_s * exp(mean);
    *sd = sqrt(variance + trial.noise + rue_posterior_drift_covariance(&trial, &trial));
    return true;
}

/* ---- what is out ---- */

/* What is excluded, and what has its first batch later than the limit on some model. As predictions err,
 * where they leave nothing, the one that comes nearest to the limit, and was not measured to be late, stays:
 * until one was measured to be late, and those that are predicted to be a little late in any case. Answers
 * whether anything is left. */
static bool find_out(struct rue_forecast *forecast)
{
    double limit_s = forecast->setup->job.first_batch_limit_s, least = INFINITY;
    size_t nearest = SIZE_MAX, left = 0;
    bool any_measured_late = false;
    for (size_t c = 0; c < forecast->configs; c++) {
        double latest = 0;
        bool measured_late = false;
        for (size_t m = 0; limit_s > 0 && m < forecast->models; m++) {
            double measured_s = forecast->tried[m * forecast->configs + c].first_batch_s;
            measured_late |= measured_s > limit_s;
            latest = fmax(latest, isnan(measured_s) ? rue_prediction_first_batch_s(forecast->prediction, m, c)
                                                    : measured_s);
        }
        any_measured_late |= measured_late;
        forecast->out[c] = forecast->excluded[c] || latest > limit_s;
        left += !forecast->out[c];
        if (measured_late || forecast->excluded[c] || latest >= least) continue;
        least = latest;
        nearest = c;
    }
    if (left > 0 || nearest == SIZE_MAX) return left > 0;
    forecast->out[nearest] = any_measured_late && least > limit_s * (1 + first_batch_error);
    return !forecast->out[nearest];
}

/* ---- beliefs ---- */

/* Replaces them all, or none. */
static rue_status predict_jobs(struct rue_forecast *forecast, rue_error *error)
{
    rue_status status = RUE_OK;
    double *job_s = calloc(forecast->cells, sizeof *job_s);
    if (!job_s) return rue_fail_memory(error, "predictions", forecast->cells * sizeof *job_s);
    for (size_t i = 0; status == RUE_OK && i < forecast->cells; i++) {
        job_s[i] = rue_prediction_time_s(forecast->prediction, i / forecast->configs, i % forecast->configs,
                                         forecast->setup->job.images, at_beginning);
        status = rue_setup_check_stop(forecast->setup, error);
        if (status == RUE_OK && !(job_s[i] > 0))
            status = rue_fail(error, RUE_INTERNAL, "the job of model %zu cannot be predicted",
                              i / forecast->configs);
    }
    free(status == RUE_OK ? forecast->job_s : job_s);
    if (status == RUE_OK) forecast->job_s = job_s;
    return status;
}

/* A new belief about a prediction that has changed; it observes all joint trials again. */
static rue_status restart_beliefs(struct rue_forecast *forecast, rue_error *error)
{
    const struct rue_prediction *prediction = forecast->prediction;
    const struct rue_trial_log *joints = &prediction->logs[RUE_JOINT];
    struct rue_posterior_setup setup = {.model_count = forecast->models,
                                        .config_count = forecast->configs,
                                        .configs = forecast->setup->grid.configs,
                                        .parameter_count = prediction->fit->count,
                                        .covariance = prediction->logs[RUE_LOAD].count
                                                          ? prediction->fit->covariance
                                                          : prediction->fit->prior_covariance,
                                        .stop = forecast->setup->stop};
    rue_posterior_close(forecast->belief);
    forecast->belief = NULL;
    rue_status status = rue_posterior_open(&setup, &forecast->belief, error);
    for (size_t i = 0; status == RUE_OK && i < forecast->cells; i++) {
        forecast->points[i] = rue_prediction_point(prediction, i / forecast->configs, i % forecast->configs,
                                                   forecast->setup->job.images);
        status = rue_setup_check_stop(forecast->setup, error);
    }
    size_t size = status == RUE_OK ? rue_posterior_latent_size(forecast->belief) : 0;
    double *state = calloc(2 * size + 1, sizeof *state);
    if (!state) return rue_fail_memory(error, "a forecast", 2 * size * sizeof *state);
    free(forecast->state);
    forecast->state = state;
    forecast->direction = state + size;
    for (size_t i = 0; status == RUE_OK && i < joints->count; i++) observe_trial(forecast, &joints->at[i]);
    return status;
}

/* What depends on the parameters is a line near those that predictions are made with: these follow what is
 * believed. */
static rue_status follow_parameters(struct rue_forecast *forecast, rue_error *error)
{
    double most = 0;
    rue_posterior_mean(forecast->belief, forecast->state);
    for (size_t i = 0; i < forecast->cells; i++)
        most = fmax(most,
                    fabs(cblas_ddot(RUE_LOADER_SLOPES, forecast->state, 1, forecast->points[i].slopes, 1)));
    if (most < least_change || !rue_prediction_move_parameters(forecast->prediction, forecast->state))
        return RUE_OK;
    rue_status status = predict_jobs(forecast, error);
    if (status == RUE_OK) status = restart_beliefs(forecast, error);
    return status == RUE_OK ? rue_posterior_update(forecast->belief, error) : status;
}

rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error)
{
    bool changed;
    rue_status status = rue_prediction_update(forecast->prediction, &changed, error);
    changed |= !forecast->belief;
    if (status == RUE_OK && changed) status = predict_jobs(forecast, error);
    if (status != RUE_OK) return status;
    if (!find_out(forecast)) return rue_fail(error, RUE_INFEASIBLE, "no configuration runs on every model");
    if (changed) status = restart_beliefs(forecast, error);
    if (status == RUE_OK) status = rue_posterior_update(forecast->belief, error);
    if (status == RUE_OK) status = follow_parameters(forecast, error);
    if (status == RUE_OK) expect_all(forecast);
    return status;
}

struct rue_estimate rue_forecast_estimate(const struct rue_forecast *forecast, size_t model, size_t config)
{
    size_t cell = model * forecast->configs + config;
    struct rue_estimate out = forecast->tried[cell];
    out.time_s = forecast->job_s[cell] * exp(forecast->mean[cell]);
    return out;
}

double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images)
{
    return exp(forecast->mean[model * forecast->configs + config]) *
           rue_prediction_time_s(forecast->prediction, model, config, images, at_beginning);
}

double rue_forecast_trial_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images)
{
    return exp(forecast->mean[model * forecast->configs + config]) *
           rue_prediction_trial_s(forecast->prediction, model, config, images);
}

void rue_forecast_sample(struct rue_forecast *forecast, uint64_t *seed)
{
    rue_posterior_sample(forecast->belief, seed, forecast->state);
    for (size_t i = 0; i < forecast->cells; i++)
        forecast->log_off[i] =
            rue_posterior_evaluate(forecast->belief, forecast->state, &forecast->points[i]) -
            forecast->mean[i];
    join_regrets(forecast, drawn_s, forecast->drawn);
}

/* ---- what to try ---- */

/* A regret grows as its time does, relative to the best one of the model. */
static double relative_time(const struct rue_forecast *forecast, size_t model, size_t config)
{
    double best = INFINITY;
    for (size_t c = 0; c < forecast->configs; c++)
        if (!forecast->out[c]) best = fmin(best, rue_forecast_estimate(forecast, model, c).time_s);
    return rue_forecast_estimate(forecast, model, config).time_s / best;
}

/* How much the model's regret counts in what the configuration is judged by. */
static double weight_in(const struct rue_forecast *forecast, size_t model, size_t config)
{
    const struct rue_regret_summary *joined = &forecast->joined[config];
    if (forecast->setup->aim.objective == RUE_OBJECTIVE_WORST) return joined->worst_model == model;
    return rue_objective_weight(forecast->setup->aim.weights, model) / joined->weights;
}

void rue_forecast_set_contrast(struct rue_forecast *forecast, size_t one, size_t other)
{
    const size_t pair[2] = {one, other};
    memset(forecast->direction, 0, rue_posterior_latent_size(forecast->belief) * sizeof *forecast->direction);
    for (size_t i = 0; i < 2; i++)
        for (size_t m = 0; m < forecast->models; m++) {
            double weight = weight_in(forecast, m, pair[i]) * relative_time(forecast, m, pair[i]);
            rue_posterior_accumulate(forecast->belief, &forecast->points[m * forecast->configs + pair[i]],
                                     i == 0 ? weight : -weight, forecast->direction);
        }
    rue_posterior_set_contrast(forecast->belief, forecast->direction);
}

double rue_forecast_covariance(const struct rue_forecast *forecast, size_t model, size_t config)
{
    return rue_posterior_evaluate(forecast->belief, forecast->direction,
                                  &forecast->points[model * forecast->configs + config]);
}

double rue_forecast_variance_reduction(const struct rue_forecast *forecast, size_t model, size_t config,
                                       uint64_t images)
{
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    double predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, images);
    if (!(predicted_s > 0) || tells_nothing(forecast, model, config, images, NULL)) return 0;
    struct rue_posterior_trial trial = trial_of(forecast, model, config, images, predicted_s);
    if (joints->count > 0) { /* soon after the last one */
        trial.seconds = joints->at[joints->count - 1].seconds;
        trial.speed = rue_prediction_speed(forecast->prediction, &joints->at[joints->count - 1]);
    }
    return rue_posterior_variance_reduction(forecast->belief, forecast->direction, &trial);
}

/* ---- life ---- */

void rue_forecast_close(struct rue_forecast *forecast)
{
    if (!forecast) return;
    rue_posterior_close(forecast->belief);
    rue_prediction_close(forecast->prediction);
    free(forecast->excluded);
    free(forecast->out);
    free(forecast->tried);
    free(forecast->points);
    free(forecast->state);
    free(forecast->job_s);
    free(forecast->mean);
    free(forecast->log_off);
    free(forecast->times);
    free(forecast->joined);
    free(forecast->drawn);
    free(forecast->ranked);
    free(forecast->draws.regrets);
    free(forecast);
}

static rue_status make_draw_room(struct rue_forecast *forecast, rue_error *error)
{
    struct rue_forecast_draws *draws = &forecast->draws;
    size_t configs = forecast->configs, cells = forecast->cells, room = CLAIM_CELLS / cells;
    if (room > RUE_FORECAST_CLAIM_DRAWS) room = RUE_FORECAST_CLAIM_DRAWS;
    if (room < LEAST_DRAWS) room = LEAST_DRAWS;
    size_t doubles = room * (configs + 3) + configs + cells;
    draws->room = room;
    draws->regrets = calloc(doubles, sizeof *draws->regrets);
    if (!draws->regrets) return rue_fail_memory(error, "draws", doubles * sizeof(double));
    draws->excess = draws->regrets + room * configs;
    draws->own[0] = draws->excess + room;
    draws->own[1] = draws->own[0] + room;
    draws->means = draws->own[1] + room;
    draws->squares = draws->means + configs;
    return RUE_OK;
}

rue_status rue_forecast_open(const struct rue_strategy_setup *setup, struct rue_forecast **out,
                             rue_error *error)
{
    struct rue_forecast *forecast = calloc(1, sizeof *forecast);
    if (!forecast) return rue_fail_memory(error, "a forecast", sizeof *forecast);
    size_t models = setup->grid.scenario_count, configs = setup->grid.config_count, cells = models * configs;
    *forecast = (struct rue_forecast){.setup = setup,
                                      .models = models,
                                      .configs = configs,
                                      .cells = cells,
                                      .excluded = calloc(configs, sizeof *forecast->excluded),
                                      .out = calloc(configs, sizeof *forecast->out),
                                      .tried = calloc(cells, sizeof *forecast->tried),
                                      .points = calloc(cells, sizeof *forecast->points),
                                      .job_s = calloc(cells, sizeof *forecast->job_s),
                                      .mean = calloc(cells, sizeof *forecast->mean),
                                      .log_off = calloc(cells, sizeof *forecast->log_off),
                                      .times = calloc(configs, sizeof *forecast->times),
                                      .joined = calloc(configs, sizeof *forecast->joined),
                                      .ranked = calloc(configs, sizeof *forecast->ranked),
                                      .draws.seed = rue_mix64(setup->seed ^ UINT64_C(0x5354414E44494E47)),
                                      .drawn = calloc(configs, sizeof *forecast->drawn)};
    rue_status status = rue_prediction_open(setup, &forecast->prediction, error);
    if (status == RUE_OK && (!forecast->excluded || !forecast->out || !forecast->tried || !forecast->points ||
                             !forecast->job_s || !forecast->mean || !forecast->log_off || !forecast->times ||
                             !forecast->joined || !forecast->drawn || !forecast->ranked))
        status = rue_fail_memory(error, "a forecast", cells * sizeof *forecast->points);
    if (status == RUE_OK) status = make_draw_room(forecast, error);
    if (status != RUE_OK) return rue_forecast_close(forecast), status;
    for (size_t i = 0; i < cells; i++) forecast->tried[i].first_batch_s = NAN;
    *out = forecast;
    return RUE_OK;
}
