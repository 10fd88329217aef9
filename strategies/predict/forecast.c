#include "forecast.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"
#include "random.h"

static const struct rue_speed initial_speed = {0, 0};
static const double trial_sd = 0.012; /* of the logarithm of a trial's time */
static const double batch_sd = 0.1;   /* of the logarithm of a batch's loading time */
/* A random delay of any trial, with worker threads and with processes. */
static const double thread_delay_s = 0.005, process_delay_s = 0.02;
static const double first_batch_error = 0.2; /* relative error of a predicted first batch */
static const double min_change = 0.05;       /* of a log time; below it the posterior stays linear */
static const double max_step = 0.5;          /* of a parameter's logarithm in one linearisation */
static const double truncated_sd = 0.005;    /* of a log time that is extended from a part of the job */
static const double correction_share = 0.1;  /* of the logarithm of a correction by speed: its sd */

enum { DRAWS_MIN = 12, DRAW_CELLS_MAX = 5000000 }; /* limits the draws on large grids */
enum { LINEARISATIONS = 3 };                       /* maximum in one update */

/* Whether the runner would only repeat recorded results for such a trial. Counts trials before `end` (NULL:
 * all). */
static bool is_uninformative(const struct rue_forecast *forecast, size_t model, size_t config,
                             uint64_t images, const struct rue_logged_trial *end)
{
    size_t equal = 0, answers = forecast->setup->runner.distinct_results;
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    for (size_t i = 0; answers > 0 && i < joints->count && &joints->at[i] != end; i++) {
        const struct rue_logged_trial *trial = &joints->at[i];
        equal += trial->model == model && trial->config == config && trial->images == images;
    }
    return answers > 0 && equal >= answers;
}

/* The posterior's description of a trial, without its result. */
static struct rue_posterior_trial posterior_trial(const struct rue_forecast *forecast, size_t model,
                                                  size_t config, uint64_t images, double predicted_s)
{
    const struct rue_strategy_setup *setup = forecast->setup;
    struct rue_posterior_trial trial = {
        .point = rue_prediction_point(forecast->prediction, model, config, images)};
    double batches = ceil((double)images / (double)rue_trial_batch(&setup->grid.configs[config]));
    double loading = batch_sd * trial.point.site.amplitude[RUE_AMPLITUDE_LOAD];
    double delay = (setup->runner.round_robin ? process_delay_s : thread_delay_s) / predicted_s;
    double job = (double)rue_setup_images(setup, config, setup->job.images);
    double truncated = truncated_sd * (1 - fmin(1, (double)images / job));
    trial.noise_variance =
        trial_sd * trial_sd + loading * loading / batches + delay * delay + truncated * truncated;
    return trial;
}

/* Not all trials change with the machine's speed as predicted. */
static double correction_sd(const struct rue_prediction *prediction, const struct rue_logged_trial *trial,
                            double predicted_s, struct rue_speed usual)
{
    if (!rue_speed_differs(rue_prediction_speed(prediction, trial), usual)) return 0;
    double usual_s = rue_prediction_time_s(prediction, trial->model, trial->config, trial->images, usual);
    return correction_share * fabs(log(predicted_s / usual_s));
}

/* `usual`: the machine's usual speed. */
static void observe_trial(struct rue_forecast *forecast, const struct rue_logged_trial *trial,
                          struct rue_speed usual)
{
    const struct rue_prediction *prediction = forecast->prediction;
    struct rue_speed speed = rue_prediction_speed(prediction, trial);
    double predicted_s = rue_prediction_time_s(prediction, trial->model, trial->config, trial->images, speed);
    if (!(predicted_s > 0) || is_uninformative(forecast, trial->model, trial->config, trial->images, trial))
        return;
    struct rue_posterior_trial observed =
        posterior_trial(forecast, trial->model, trial->config, trial->images, predicted_s);
    observed.log_ratio = log(trial->times.end_to_end_s / predicted_s);
    if (rue_speed_differs(speed, initial_speed)) { /* a trial takes at least its compute time at any speed */
        double initial_s =
            rue_prediction_time_s(prediction, trial->model, trial->config, trial->images, initial_speed);
        observed.log_ratio = fmax(observed.log_ratio, log(trial->consumer_s / initial_s) - speed.compute);
    }
    observed.added_variance =
        pow(trial->contention_sd, 2) + pow(correction_sd(prediction, trial, predicted_s, usual), 2);
    observed.seconds = trial->seconds;
    observed.speed = speed;
    observed.node = trial->node;
    rue_posterior_add(forecast->posterior, &observed);
}

static double mean_job_s(const void *context, size_t model, size_t config)
{
    const struct rue_forecast *forecast = context;
    size_t cell = model * forecast->configs + config;
    return forecast->ineligible[config] ? NAN : forecast->predicted_s[cell] * exp(forecast->log_ratio[cell]);
}

static double sampled_job_s(const void *context, size_t model, size_t config)
{
    const struct rue_forecast *forecast = context;
    size_t cell = model * forecast->configs + config;
    return forecast->ineligible[config]
               ? NAN
               : forecast->predicted_s[cell] * exp(forecast->log_ratio[cell] + forecast->deviation[cell]);
}

static void summarise_regrets(struct rue_forecast *forecast,
                              double (*time_s)(const void *context, size_t model, size_t config),
                              struct rue_regret_summary *out)
{
    const struct rue_objective_times times = {
        forecast->models, forecast->configs, forecast->setup->aim.weights, time_s, forecast, forecast->times};
    rue_objective_summarise(&times, out);
}

/* Ineligible configurations last; ties in grid order. */
static int compare_configs(const void *a, const void *b, void *context)
{
    const struct rue_forecast *forecast = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct rue_regret_summary *summaries = forecast->summaries;
    enum rue_objective objective = forecast->setup->aim.objective;
    if (rue_regret_summary_is_better(&summaries[x], &summaries[y], objective)) return -1;
    return rue_regret_summary_is_better(&summaries[y], &summaries[x], objective) ? 1 : (x > y) - (x < y);
}

static void rank_configs_by_regret(struct rue_forecast *forecast)
{
    size_t configs = forecast->configs;
    for (size_t c = 0; c < configs; c++) forecast->ranked[c] = c;
    qsort_r(forecast->ranked, configs, sizeof *forecast->ranked, compare_configs, forecast);
}

static void update_means(struct rue_forecast *forecast)
{
    rue_posterior_mean(forecast->posterior, forecast->latent);
    for (size_t i = 0; i < forecast->cells; i++)
        forecast->log_ratio[i] =
            rue_posterior_evaluate(forecast->posterior, forecast->latent, &forecast->points[i]);
    summarise_regrets(forecast, mean_job_s, forecast->summaries);
    rank_configs_by_regret(forecast);
}

static void count_observed(struct rue_forecast *forecast, const struct rue_logged_trial *trial)
{
    struct rue_estimate *cell = &forecast->observed[trial->model * forecast->configs + trial->config];
    cell->trials++;
    cell->full |=
        trial->images >= rue_setup_images(forecast->setup, trial->config, forecast->setup->job.images);
    cell->first_batch_s = fmin(cell->first_batch_s, trial->times.first_batch_s);
}

rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_question *question,
                            const struct rue_trial_result *result, double seconds, rue_error *error)
{
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    size_t before = joints->count;
    rue_status status = rue_prediction_add(forecast->prediction, question, result, seconds, error);
    if (joints->count == before) return status;
    const struct rue_logged_trial *trial = &joints->at[before];
    count_observed(forecast, trial);
    if (status != RUE_OK || !forecast->posterior) return status;
    observe_trial(forecast, trial, rue_prediction_usual_speed(forecast->prediction));
    update_means(forecast);
    return RUE_OK;
}

void rue_forecast_forget(struct rue_forecast *forecast, size_t node, size_t since)
{
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    rue_prediction_forget(forecast->prediction, node, since);
    for (size_t i = 0; i < forecast->cells; i++)
        forecast->observed[i] = (struct rue_estimate){.first_batch_s = NAN};
    for (size_t i = 0; i < joints->count; i++) count_observed(forecast, &joints->at[i]);
}

void rue_forecast_assume(struct rue_forecast *forecast, const struct rue_question *question, double seconds)
{
    size_t model = question->scenario, config = question->config;
    double variance,
        predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, question->images);
    if (!(predicted_s > 0)) return;
    struct rue_posterior_trial trial =
        posterior_trial(forecast, model, config, question->images, predicted_s);
    trial.node = question->node;
    trial.seconds = seconds;
    trial.speed = rue_speed_history_at(&forecast->prediction->speeds, SIZE_MAX);
    rue_posterior_predict(forecast->posterior, &trial.point, &trial.log_ratio, &variance);
    rue_posterior_add(forecast->posterior, &trial);
}

bool rue_forecast_predict_trial(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                                double *time_s, double *sd)
{
    double predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, images), mean, variance;
    if (!forecast->posterior || !(predicted_s > 0)) return false;
    struct rue_posterior_trial trial = posterior_trial(forecast, model, config, images, predicted_s);
    rue_posterior_predict(forecast->posterior, &trial.point, &mean, &variance);
    *time_s = predicted_s * exp(mean);
    *sd = sqrt(variance + trial.noise_variance + rue_posterior_drift_covariance(&trial, &trial));
    return true;
}

/* Marks configurations that are excluded, or whose first batch is later than the limit on some model.
 * Predictions may be wrong. If none is eligible, the one nearest to the limit that was not measured as late
 * is used. It is ineligible only if another was measured as late and its predicted excess is large. Returns
 * whether any is eligible. */
static bool find_ineligible(struct rue_forecast *forecast)
{
    double limit_s = forecast->setup->job.first_batch_limit_s, earliest_s = INFINITY;
    size_t fallback = SIZE_MAX, eligible = 0;
    bool any_measured_late = false;
    for (size_t c = 0; c < forecast->configs; c++) {
        double latest = 0;
        bool measured_late = false;
        for (size_t m = 0; limit_s > 0 && m < forecast->models; m++) {
            double measured_s = forecast->observed[m * forecast->configs + c].first_batch_s;
            measured_late |= measured_s > limit_s;
            latest = fmax(latest, isnan(measured_s) ? rue_prediction_first_batch_s(forecast->prediction, m, c)
                                                    : measured_s);
        }
        any_measured_late |= measured_late;
        forecast->ineligible[c] = forecast->excluded[c] || latest > limit_s;
        eligible += !forecast->ineligible[c];
        if (measured_late || forecast->excluded[c] || latest >= earliest_s) continue;
        earliest_s = latest;
        fallback = c;
    }
    if (eligible > 0 || fallback == SIZE_MAX) return eligible > 0;
    forecast->ineligible[fallback] = any_measured_late && earliest_s > limit_s * (1 + first_batch_error);
    return !forecast->ineligible[fallback];
}

/* Replaces all predictions, or none on failure. */
static rue_status predict_jobs(struct rue_forecast *forecast, rue_error *error)
{
    rue_status status = RUE_OK;
    double *job_s = calloc(forecast->cells, sizeof *job_s);
    if (!job_s) return rue_fail_memory(error, "predictions", forecast->cells * sizeof *job_s);
    for (size_t i = 0; status == RUE_OK && i < forecast->cells; i++) {
        job_s[i] = rue_prediction_time_s(forecast->prediction, i / forecast->configs, i % forecast->configs,
                                         forecast->setup->job.images, initial_speed);
        status = rue_setup_check_stop(forecast->setup, error);
        if (status == RUE_OK && !(job_s[i] > 0))
            status = rue_fail(error, RUE_INTERNAL, "the job of model %zu cannot be predicted",
                              i / forecast->configs);
    }
    free(status == RUE_OK ? forecast->predicted_s : job_s);
    if (status == RUE_OK) forecast->predicted_s = job_s;
    return status;
}

/* As many joint trials as the posterior uses. */
static void observe_all(struct rue_forecast *forecast)
{
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    struct rue_speed usual = rue_prediction_usual_speed(forecast->prediction);
    for (size_t i = 0;
         i < joints->count && rue_posterior_trial_count(forecast->posterior) < RUE_POSTERIOR_TRIALS_MAX; i++)
        observe_trial(forecast, &joints->at[i], usual);
}

/* A new posterior for a changed prediction, with all joint trials. */
static rue_status restart_posterior(struct rue_forecast *forecast, rue_error *error)
{
    const struct rue_prediction *prediction = forecast->prediction;
    double *mean = calloc(prediction->fit->count, sizeof *mean);
    if (!mean) return rue_fail_memory(error, "a forecast", prediction->fit->count * sizeof *mean);
    rue_prediction_prior_mean(prediction, mean);
    struct rue_posterior_setup setup = {.model_count = forecast->models,
                                        .config_count = forecast->configs,
                                        .configs = forecast->setup->grid.configs,
                                        .parameter_count = prediction->fit->count,
                                        .mean = mean,
                                        .covariance = prediction->logs[RUE_LOAD].count
                                                          ? prediction->fit->covariance
                                                          : prediction->fit->prior_covariance,
                                        .stop = forecast->setup->stop};
    rue_posterior_close(forecast->posterior);
    forecast->posterior = NULL;
    rue_status status = rue_posterior_open(&setup, &forecast->posterior, error);
    free(mean);
    for (size_t i = 0; status == RUE_OK && i < forecast->cells; i++) {
        forecast->points[i] = rue_prediction_point(prediction, i / forecast->configs, i % forecast->configs,
                                                   forecast->setup->job.images);
        status = rue_setup_check_stop(forecast->setup, error);
    }
    size_t size = status == RUE_OK ? rue_posterior_latent_size(forecast->posterior) : 0;
    double *state = calloc(2 * size + 1, sizeof *state);
    if (!state) return rue_fail_memory(error, "a forecast", 2 * size * sizeof *state);
    free(forecast->latent);
    forecast->latent = state;
    forecast->contrast = state + size;
    if (status == RUE_OK) observe_all(forecast);
    return status;
}

/* Moves the parameters towards their posterior mean. Returns false if no prediction changes by more than
 * `min_change`. */
static bool move_parameters(struct rue_forecast *forecast)
{
    double change = 0, *step = forecast->latent;
    rue_posterior_mean(forecast->posterior, step);
    for (size_t i = 0; i < forecast->cells; i++)
        change = fmax(change, fabs(cblas_ddot(RUE_LOADER_SLOPES, step, 1, forecast->points[i].slopes, 1)));
    for (int p = 0; p < RUE_LOADER_SLOPES; p++) step[p] = fmax(-max_step, fmin(max_step, step[p]));
    return change >= min_change && rue_prediction_move_parameters(forecast->prediction, step);
}

/* The posterior is linear in the parameters, so it is linearised again at their posterior mean. Their prior
 * stays where it was: each trial counts once. */
static rue_status relinearise(struct rue_forecast *forecast, rue_error *error)
{
    rue_status status = RUE_OK;
    for (int i = 0; status == RUE_OK && i < LINEARISATIONS && move_parameters(forecast); i++) {
        status = predict_jobs(forecast, error);
        if (status == RUE_OK) status = restart_posterior(forecast, error);
        if (status == RUE_OK) status = rue_posterior_update(forecast->posterior, error);
    }
    return status;
}

rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error)
{
    bool changed;
    rue_status status = rue_prediction_update(forecast->prediction, &changed, error);
    changed |= !forecast->posterior;
    if (status == RUE_OK && changed) status = predict_jobs(forecast, error);
    if (status != RUE_OK) return status;
    if (!find_ineligible(forecast))
        return rue_fail(error, RUE_INFEASIBLE, "no configuration runs on every model");
    if (changed) status = restart_posterior(forecast, error);
    if (status == RUE_OK) status = rue_posterior_update(forecast->posterior, error);
    if (status == RUE_OK) status = relinearise(forecast, error);
    if (status == RUE_OK) update_means(forecast);
    return status;
}

struct rue_estimate rue_forecast_estimate(const struct rue_forecast *forecast, size_t model, size_t config)
{
    size_t cell = model * forecast->configs + config;
    struct rue_estimate out = forecast->observed[cell];
    out.time_s = forecast->predicted_s[cell] * exp(forecast->log_ratio[cell]);
    return out;
}

double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images)
{
    return exp(forecast->log_ratio[model * forecast->configs + config]) *
           rue_prediction_time_s(forecast->prediction, model, config, images, initial_speed);
}

double rue_forecast_trial_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images)
{
    return exp(forecast->log_ratio[model * forecast->configs + config]) *
           rue_prediction_trial_s(forecast->prediction, model, config, images);
}

void rue_forecast_sample(struct rue_forecast *forecast, uint64_t *seed)
{
    rue_posterior_sample(forecast->posterior, seed, forecast->latent);
    for (size_t i = 0; i < forecast->cells; i++)
        forecast->deviation[i] =
            rue_posterior_evaluate(forecast->posterior, forecast->latent, &forecast->points[i]) -
            forecast->log_ratio[i];
    summarise_regrets(forecast, sampled_job_s, forecast->sampled);
}

/* The derivative of a regret with respect to the logarithm of its time. */
static double relative_time(const struct rue_forecast *forecast, size_t model, size_t config)
{
    double best = INFINITY;
    for (size_t c = 0; c < forecast->configs; c++)
        if (!forecast->ineligible[c]) best = fmin(best, rue_forecast_estimate(forecast, model, c).time_s);
    return rue_forecast_estimate(forecast, model, config).time_s / best;
}

/* The weight of the model's regret in the objective. */
static double regret_weight(const struct rue_forecast *forecast, size_t model, size_t config)
{
    const struct rue_regret_summary *summaries = &forecast->summaries[config];
    if (forecast->setup->aim.objective == RUE_OBJECTIVE_WORST) return summaries->worst_model == model;
    return rue_objective_weight(forecast->setup->aim.weights, model) / summaries->weights;
}

void rue_forecast_set_contrast(struct rue_forecast *forecast, size_t first, size_t second)
{
    const size_t pair[2] = {first, second};
    memset(forecast->contrast, 0,
           rue_posterior_latent_size(forecast->posterior) * sizeof *forecast->contrast);
    for (size_t i = 0; i < 2; i++)
        for (size_t m = 0; m < forecast->models; m++) {
            double weight = regret_weight(forecast, m, pair[i]) * relative_time(forecast, m, pair[i]);
            rue_posterior_accumulate(forecast->posterior, &forecast->points[m * forecast->configs + pair[i]],
                                     i == 0 ? weight : -weight, forecast->contrast);
        }
    rue_posterior_set_contrast(forecast->posterior, forecast->contrast);
}

double rue_forecast_covariance(const struct rue_forecast *forecast, size_t model, size_t config)
{
    return rue_posterior_evaluate(forecast->posterior, forecast->contrast,
                                  &forecast->points[model * forecast->configs + config]);
}

double rue_forecast_variance_reduction(const struct rue_forecast *forecast, size_t node, size_t model,
                                       size_t config, uint64_t images)
{
    const struct rue_trial_log *joints = &forecast->prediction->logs[RUE_JOINT];
    double predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, images);
    if (!(predicted_s > 0) || is_uninformative(forecast, model, config, images, NULL)) return 0;
    struct rue_posterior_trial trial = posterior_trial(forecast, model, config, images, predicted_s);
    trial.node = node;
    size_t last = joints->count;
    while (last > 0 && joints->at[last - 1].node != node) last--;
    if (last > 0) { /* it will be made soon after the node's last trial, so both share the drift */
        trial.seconds = joints->at[last - 1].seconds;
        trial.speed = rue_prediction_speed(forecast->prediction, &joints->at[last - 1]);
    }
    return rue_posterior_variance_reduction(forecast->posterior, forecast->contrast, &trial);
}

void rue_forecast_close(struct rue_forecast *forecast)
{
    if (!forecast) return;
    rue_posterior_close(forecast->posterior);
    rue_prediction_close(forecast->prediction);
    free(forecast->excluded);
    free(forecast->ineligible);
    free(forecast->observed);
    free(forecast->points);
    free(forecast->latent);
    free(forecast->predicted_s);
    free(forecast->log_ratio);
    free(forecast->deviation);
    free(forecast->times);
    free(forecast->summaries);
    free(forecast->sampled);
    free(forecast->ranked);
    free(forecast->draws.regrets);
    free(forecast);
}

static rue_status allocate_draws(struct rue_forecast *forecast, rue_error *error)
{
    struct rue_forecast_draws *draws = &forecast->draws;
    size_t configs = forecast->configs, cells = forecast->cells, capacity = DRAW_CELLS_MAX / cells;
    if (capacity > RUE_FORECAST_CLAIM_DRAWS) capacity = RUE_FORECAST_CLAIM_DRAWS;
    if (capacity < DRAWS_MIN) capacity = DRAWS_MIN;
    size_t doubles = capacity * (configs + 3) + configs + cells;
    draws->capacity = capacity;
    draws->regrets = calloc(doubles, sizeof *draws->regrets);
    if (!draws->regrets) return rue_fail_memory(error, "draws", doubles * sizeof(double));
    draws->excess = draws->regrets + capacity * configs;
    draws->claimed[0] = draws->excess + capacity;
    draws->claimed[1] = draws->claimed[0] + capacity;
    draws->means = draws->claimed[1] + capacity;
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
                                      .ineligible = calloc(configs, sizeof *forecast->ineligible),
                                      .observed = calloc(cells, sizeof *forecast->observed),
                                      .points = calloc(cells, sizeof *forecast->points),
                                      .predicted_s = calloc(cells, sizeof *forecast->predicted_s),
                                      .log_ratio = calloc(cells, sizeof *forecast->log_ratio),
                                      .deviation = calloc(cells, sizeof *forecast->deviation),
                                      .times = calloc(configs, sizeof *forecast->times),
                                      .summaries = calloc(configs, sizeof *forecast->summaries),
                                      .ranked = calloc(configs, sizeof *forecast->ranked),
                                      .draws.seed = rue_mix64(setup->seed ^ UINT64_C(0x5354414E44494E47)),
                                      .sampled = calloc(configs, sizeof *forecast->sampled)};
    rue_status status = rue_prediction_open(setup, &forecast->prediction, error);
    if (status == RUE_OK &&
        (!forecast->excluded || !forecast->ineligible || !forecast->observed || !forecast->points ||
         !forecast->predicted_s || !forecast->log_ratio || !forecast->deviation || !forecast->times ||
         !forecast->summaries || !forecast->sampled || !forecast->ranked))
        status = rue_fail_memory(error, "a forecast", cells * sizeof *forecast->points);
    if (status == RUE_OK) status = allocate_draws(forecast, error);
    if (status != RUE_OK) return rue_forecast_close(forecast), status;
    for (size_t i = 0; i < cells; i++) forecast->observed[i].first_batch_s = NAN;
    *out = forecast;
    return RUE_OK;
}
