#include "forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "first_batches.h"

/* LENGTHS: of trials of a cell whose derivatives are kept. */
enum { LENGTHS = 4, CELLS_MAX = 1500, TOP_OF_MODEL = 3, JOINTS_FOR_ALPHA = 12 };

static const double candidate_regret = 0.20; /* more than the best prediction: no candidate */
static const double trial_sd = 0.02;         /* of the logarithm of a trial's time */
static const double truncated_sd = 0.02;     /* more, for what the rest of the job may bring */
static const double alphas[] = {1, 2, 4, 8};

struct rue_forecast {
    const struct rue_strategy_setup *setup;
    size_t models, configs, cells;
    struct rue_prediction *prediction;
    bool *excluded;     /* [configs] */
    bool *late;         /* [configs] their first batch comes later than the limit */
    size_t *candidates; /* [candidate_count] */
    size_t candidate_count;
    struct rue_posterior *posterior;   /* of the candidates' cells */
    double posterior_s;                /* the time it is at */
    struct rue_speed posterior_speed;  /* by how much the machine was slower, which is known roughly */
    double *times;                     /* [configs] of a draw */
    struct rue_joined_regrets *joined; /* [configs] likewise */
    double *jacobian;                  /* [parameters] of a trial */
    double *weights;                   /* [cells] of what is to be decided */
    double *direction;                 /* [cells + parameters + 1] */
    uint64_t *known;        /* [cells][LENGTHS] images of trials whose derivatives are known; 0: none */
    double *known_jacobian; /* [cells][LENGTHS][parameters] */
};

/* ---- trials ---- */

static void observe(struct rue_forecast *forecast, const struct rue_logged_trial *trial);

rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_ask *ask,
                            const struct rue_trial_result *result, double seconds, rue_error *error)
{
    const struct rue_trial_log *joints = rue_prediction_joints(forecast->prediction);
    size_t before = joints->count;
    rue_status status = rue_prediction_add(forecast->prediction, ask, result, seconds, error);
    if (joints->count > before && forecast->posterior) observe(forecast, &joints->at[before]);
    return status;
}

void rue_forecast_exclude(struct rue_forecast *forecast, size_t config)
{
    forecast->excluded[config] = true;
}

static double job_s(const struct rue_forecast *forecast, size_t model, size_t config)
{
    return rue_prediction_job_s(forecast->prediction, model, config);
}

static double weight_of(const struct rue_forecast *forecast, size_t model)
{
    return forecast->setup->weights ? forecast->setup->weights[model] : 1;
}

/* ---- candidates ---- */

static bool is_out(const struct rue_forecast *forecast, size_t config)
{
    return forecast->excluded[config] || forecast->late[config];
}

static double best_of_model(const struct rue_forecast *forecast, size_t model)
{
    double best = INFINITY;
    for (size_t c = 0; c < forecast->configs; c++)
        if (!is_out(forecast, c)) best = fmin(best, job_s(forecast, model, c));
    return best;
}

/* Whether fewer than TOP_OF_MODEL configurations are faster for one of the models. */
static bool is_top_of_any(const struct rue_forecast *forecast, size_t config)
{
    for (size_t m = 0; m < forecast->models; m++) {
        size_t faster = 0;
        for (size_t c = 0; c < forecast->configs; c++)
            faster += !is_out(forecast, c) && job_s(forecast, m, c) < job_s(forecast, m, config);
        if (faster < TOP_OF_MODEL) return true;
    }
    return false;
}

struct choice {
    size_t config;
    double regret;
};

static int compare_choices(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;
    return a->regret != b->regret ? (a->regret > b->regret) - (a->regret < b->regret)
                                  : (a->config > b->config) - (a->config < b->config);
}

static rue_status choose_candidates(struct rue_forecast *forecast, rue_error *error)
{
    struct choice *choices = calloc(forecast->configs, sizeof *choices);
    if (!choices) return rue_fail_memory(error, "candidates", forecast->configs * sizeof *choices);
    size_t count = 0, most = CELLS_MAX / forecast->models ? CELLS_MAX / forecast->models : 1;
    for (size_t c = 0; c < forecast->configs; c++)
        if (!is_out(forecast, c)) choices[count++] = (struct choice){c, 0};
    memset(forecast->joined, 0, count * sizeof *forecast->joined);
    for (size_t m = 0; m < forecast->models; m++) {
        double best = best_of_model(forecast, m);
        for (size_t i = 0; i < count; i++)
            rue_joined_regrets_add(&forecast->joined[i], m, weight_of(forecast, m),
                                   job_s(forecast, m, choices[i].config) / best - 1);
    }
    for (size_t i = 0; i < count; i++)
        choices[i].regret = rue_joined_regrets_value(&forecast->joined[i], forecast->setup->objective);
    qsort(choices, count, sizeof *choices, compare_choices);
    forecast->candidate_count = 0;
    for (size_t i = 0; i < count && forecast->candidate_count < most; i++)
        if (choices[i].regret <= choices[0].regret + candidate_regret ||
            is_top_of_any(forecast, choices[i].config))
            forecast->candidates[forecast->candidate_count++] = choices[i].config;
    free(choices);
    if (forecast->candidate_count > 0) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE, "no configuration runs on every model");
}

/* ---- beliefs ---- */

static size_t position_of(const struct rue_forecast *forecast, size_t config)
{
    for (size_t i = 0; i < forecast->candidate_count; i++)
        if (forecast->candidates[i] == config) return i;
    return SIZE_MAX;
}

/* Trials of the cell that ran as many images, those before `end` (NULL: all). */
static size_t count_alike(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                          const struct rue_logged_trial *end)
{
    size_t count = 0;
    const struct rue_trial_log *joints = rue_prediction_joints(forecast->prediction);
    for (size_t i = 0; i < joints->count && &joints->at[i] != end; i++) {
        const struct rue_logged_trial *trial = &joints->at[i];
        count += trial->model == model && trial->config == config && trial->images == images;
    }
    return count;
}

static const double nothing_new = 1e6; /* variance of a trial that answers as one before it did */

/* Of a trial after `before` others alike. All n of them together tell with the variance bias + noise / n:
 * what a part of the job does not say of the rest stays unsaid, however often it is tried. */
static double noise_variance(const struct rue_forecast *forecast, size_t config, uint64_t images,
                             size_t before)
{
    if (forecast->setup->answers && before >= forecast->setup->answers) return nothing_new;
    const int *value = forecast->setup->configs[config].value;
    double round = (double)(value[RUE_NUM_WORKERS] > 0 ? value[RUE_NUM_WORKERS] : 1) * value[RUE_BATCH_SIZE];
    double left = 1 - fmin(1, (double)images / (double)forecast->setup->job_images);
    double sd = truncated_sd * left * (1 + round / (double)images);
    double bias = sd * sd, noise = trial_sd * trial_sd;
    double precision = 1 / (bias + noise / (double)(before + 1)),
           precision_before = before ? 1 / (bias + noise / (double)before) : 0;
    return 1 / (precision - precision_before);
}

/* Tells the posterior how far off the prediction of just this trial was. */
static void observe(struct rue_forecast *forecast, const struct rue_logged_trial *trial)
{
    size_t alike = count_alike(forecast, trial->model, trial->config, trial->images, trial);
    size_t position = position_of(forecast, trial->config);
    double predicted_s = rue_prediction_then_s(forecast->prediction, trial);
    if (position == SIZE_MAX || !(predicted_s > 0)) return;
    bool changed = rue_speed_differs(trial->speed, forecast->posterior_speed);
    rue_posterior_wait(forecast->posterior,
                       changed ? INFINITY : fmax(0, trial->seconds - forecast->posterior_s));
    forecast->posterior_speed = trial->speed;
    forecast->posterior_s = fmax(forecast->posterior_s, trial->seconds);
    bool part = trial->images < forecast->setup->job_images;
    if (part)
        rue_prediction_differentiate(forecast->prediction, trial->model, trial->config, trial->images,
                                     forecast->jacobian);
    rue_posterior_observe(forecast->posterior, trial->model * forecast->candidate_count + position,
                          part ? forecast->jacobian : NULL, log(trial->times.end_to_end_s / predicted_s),
                          sqrt(noise_variance(forecast, trial->config, trial->images, alike)));
}

bool rue_forecast_expect(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                         double *time_s, double *sd)
{
    size_t position = forecast->posterior ? position_of(forecast, config) : SIZE_MAX;
    double predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, images), mean;
    if (position == SIZE_MAX || !(predicted_s > 0)) return false;
    bool part = images < forecast->setup->job_images;
    size_t alike = count_alike(forecast, model, config, images, NULL);
    struct rue_posterior_trial trial = {.cell = model * forecast->candidate_count + position,
                                        .jacobian = part ? forecast->jacobian : NULL,
                                        .sd = sqrt(noise_variance(forecast, config, images, alike))};
    if (part) rue_prediction_differentiate(forecast->prediction, model, config, images, forecast->jacobian);
    rue_posterior_expect(forecast->posterior, &trial, &mean, sd);
    *time_s = predicted_s * exp(mean);
    return true;
}

void rue_forecast_shift(struct rue_forecast *forecast, size_t since, struct rue_speed change)
{
    rue_prediction_shift(forecast->prediction, since, change);
}

/* What the posterior is told of the candidates' cells. */
struct prior_arrays {
    struct rue_config *configs;
    double *jacobian, *share;
    bool *measured;
};

static void prior_arrays_close(struct prior_arrays *arrays)
{
    free(arrays->configs);
    free(arrays->jacobian);
    free(arrays->share);
    free(arrays->measured);
}

static rue_status prior_arrays_open(const struct rue_forecast *forecast, struct prior_arrays *out,
                                    rue_error *error)
{
    size_t count = forecast->candidate_count, cells = forecast->models * count;
    size_t n = rue_prediction_parameter_count(forecast->prediction);
    *out = (struct prior_arrays){.configs = calloc(count, sizeof *out->configs),
                                 .jacobian = calloc(cells * n, sizeof *out->jacobian),
                                 .share = calloc(cells, sizeof *out->share),
                                 .measured = calloc(cells, sizeof *out->measured)};
    if (!out->configs || !out->jacobian || !out->share || !out->measured) {
        prior_arrays_close(out);
        return rue_fail_memory(error, "a prior", cells * n * sizeof(double));
    }
    for (size_t i = 0; i < cells; i++) {
        size_t model = i / count, config = forecast->candidates[i % count];
        out->configs[i % count] = forecast->setup->configs[config];
        out->share[i] = rue_prediction_consumer_share(forecast->prediction, model, config);
        out->measured[i] = rue_prediction_is_computed(forecast->prediction, model, config);
        rue_prediction_differentiate(forecast->prediction, model, config, forecast->setup->job_images,
                                     out->jacobian + i * n);
    }
    return RUE_OK;
}

/* Replaces the posterior by one of that prior, which knows all joint trials. */
static rue_status believe(struct rue_forecast *forecast, struct rue_posterior_prior *prior, rue_error *error)
{
    struct rue_posterior *posterior;
    rue_status status = rue_posterior_open(prior, &posterior, error);
    if (status != RUE_OK) return status;
    rue_posterior_close(forecast->posterior);
    forecast->posterior = posterior;
    forecast->posterior_s = 0;
    forecast->posterior_speed = (struct rue_speed){0, 0};
    const struct rue_trial_log *joints = rue_prediction_joints(forecast->prediction);
    for (size_t i = 0; i < joints->count; i++) observe(forecast, &joints->at[i]);
    return RUE_OK;
}

/* How far predictions are off is itself told by the joint trials, once there are some. */
static rue_status choose_alpha(struct rue_forecast *forecast, struct rue_posterior_prior *prior,
                               rue_error *error)
{
    double best = -INFINITY, alpha = alphas[0];
    rue_status status = RUE_OK;
    bool few = rue_prediction_joints(forecast->prediction)->count < JOINTS_FOR_ALPHA;
    size_t count = few ? 0 : sizeof alphas / sizeof *alphas;
    prior->draws = 0;
    for (size_t a = 0; status == RUE_OK && a < count; a++) {
        prior->alpha = alphas[a];
        status = believe(forecast, prior, error);
        double evidence = status == RUE_OK ? rue_posterior_evidence(forecast->posterior) : best;
        if (evidence <= best) continue;
        best = evidence;
        alpha = alphas[a];
    }
    prior->alpha = alpha;
    prior->draws = RUE_FORECAST_DRAWS;
    return status;
}

rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error)
{
    struct prior_arrays arrays;
    rue_status status = rue_prediction_update(forecast->prediction, error);
    memset(forecast->known, 0, forecast->cells * LENGTHS * sizeof *forecast->known);
    if (status == RUE_OK)
        rue_first_batches_mark(forecast->prediction, forecast->setup, forecast->excluded, forecast->late);
    if (status == RUE_OK) status = choose_candidates(forecast, error);
    if (status == RUE_OK) status = prior_arrays_open(forecast, &arrays, error);
    if (status != RUE_OK) return status;
    struct rue_posterior_prior prior = {.model_count = forecast->models,
                                        .config_count = forecast->candidate_count,
                                        .configs = arrays.configs,
                                        .parameter_count =
                                            rue_prediction_parameter_count(forecast->prediction),
                                        .jacobian = arrays.jacobian,
                                        .covariance = rue_prediction_covariance(forecast->prediction),
                                        .consumer_share = arrays.share,
                                        .compute_measured = arrays.measured,
                                        .seed = forecast->setup->seed};
    status = choose_alpha(forecast, &prior, error);
    if (status == RUE_OK) status = believe(forecast, &prior, error);
    prior_arrays_close(&arrays);
    return status;
}

struct rue_forecast_cell rue_forecast_cell(const struct rue_forecast *forecast, size_t model, size_t config)
{
    struct rue_forecast_cell cell = {.time_s = job_s(forecast, model, config), .sd = NAN};
    size_t position = forecast->posterior ? position_of(forecast, config) : SIZE_MAX;
    if (position != SIZE_MAX) {
        size_t at = model * forecast->candidate_count + position;
        cell.time_s *= exp(rue_posterior_mean(forecast->posterior)[at]);
        cell.sd = sqrt(fmax(0, rue_posterior_covariance(forecast->posterior, at, at)));
    }
    const struct rue_trial_log *joints = rue_prediction_joints(forecast->prediction);
    for (size_t i = 0; i < joints->count; i++) {
        const struct rue_logged_trial *trial = &joints->at[i];
        if (trial->model != model || trial->config != config) continue;
        cell.joint_trials++;
        cell.full |= trial->images >= forecast->setup->job_images;
    }
    return cell;
}

double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images)
{
    double off = rue_forecast_cell(forecast, model, config).time_s / job_s(forecast, model, config);
    return off * rue_prediction_trial_s(forecast->prediction, model, config, images);
}

size_t rue_forecast_candidates(const struct rue_forecast *forecast, const size_t **out)
{
    *out = forecast->candidates;
    return forecast->candidate_count;
}

/* The regrets of every candidate, where predictions are off by the logarithms `errors` [cells]. */
static void join_regrets(struct rue_forecast *forecast, const double *errors)
{
    size_t count = forecast->candidate_count;
    memset(forecast->joined, 0, count * sizeof *forecast->joined);
    for (size_t m = 0; m < forecast->models; m++) {
        double best = INFINITY;
        for (size_t c = 0; c < count; c++) {
            forecast->times[c] = job_s(forecast, m, forecast->candidates[c]) * exp(errors[m * count + c]);
            best = fmin(best, forecast->times[c]);
        }
        for (size_t c = 0; c < count; c++)
            rue_joined_regrets_add(&forecast->joined[c], m, weight_of(forecast, m),
                                   forecast->times[c] / best - 1);
    }
}

void rue_forecast_regrets(struct rue_forecast *forecast, size_t index, double *out)
{
    join_regrets(forecast, rue_posterior_draw(forecast->posterior, index));
    for (size_t c = 0; c < forecast->candidate_count; c++)
        out[c] = rue_joined_regrets_value(&forecast->joined[c], forecast->setup->objective);
}

struct rue_joined_regrets rue_forecast_joined(struct rue_forecast *forecast, size_t index, size_t position)
{
    join_regrets(forecast, rue_posterior_draw(forecast->posterior, index));
    return forecast->joined[position];
}

/* How much each cell of a candidate counts in what it is judged by: as the weights say. */
static void weigh(struct rue_forecast *forecast, size_t position, double sign)
{
    size_t count = forecast->candidate_count;
    double all = 0;
    for (size_t m = 0; m < forecast->models; m++) all += weight_of(forecast, m);
    for (size_t m = 0; m < forecast->models; m++)
        forecast->weights[m * count + position] = sign * weight_of(forecast, m) / all;
}

/* The same for the worst regrets: as often as its model has it. */
static void weigh_worst(struct rue_forecast *forecast, size_t one, size_t other)
{
    size_t count = forecast->candidate_count;
    for (size_t d = 0; d < RUE_FORECAST_DRAWS; d++) {
        join_regrets(forecast, rue_posterior_draw(forecast->posterior, d));
        forecast->weights[forecast->joined[one].worst_model * count + one] += 1.0 / RUE_FORECAST_DRAWS;
        forecast->weights[forecast->joined[other].worst_model * count + other] -= 1.0 / RUE_FORECAST_DRAWS;
    }
}

void rue_forecast_compare(struct rue_forecast *forecast, size_t one, size_t other)
{
    memset(forecast->weights, 0, forecast->models * forecast->candidate_count * sizeof *forecast->weights);
    if (forecast->setup->objective == RUE_OBJECTIVE_WORST) {
        weigh_worst(forecast, one, other);
    } else {
        weigh(forecast, one, 1);
        weigh(forecast, other, -1);
    }
    rue_posterior_direct(forecast->posterior, forecast->weights, forecast->direction);
}

/* The derivatives of a trial, which are the same until the next update. */
static const double *derivatives_of(struct rue_forecast *forecast, const struct rue_forecast_trial *trial)
{
    size_t cell = trial->model * forecast->candidate_count + trial->position;
    size_t n = rue_prediction_parameter_count(forecast->prediction);
    uint64_t *known = &forecast->known[cell * LENGTHS];
    size_t at = 0;
    while (at < LENGTHS - 1 && known[at] && known[at] != trial->images) at++;
    double *own = forecast->known_jacobian + (cell * LENGTHS + at) * n;
    if (known[at] == trial->images) return own;
    size_t config = forecast->candidates[trial->position];
    known[at] = trial->images;
    rue_prediction_differentiate(forecast->prediction, trial->model, config, trial->images, own);
    return own;
}

double rue_forecast_gain(struct rue_forecast *forecast, const struct rue_forecast_trial *trials, size_t count)
{
    struct rue_posterior_trial told[2];
    for (size_t i = 0; i < count; i++) {
        const struct rue_forecast_trial *trial = &trials[i];
        size_t config = forecast->candidates[trial->position];
        size_t alike = count_alike(forecast, trial->model, config, trial->images, NULL);
        bool part = trial->images < forecast->setup->job_images;
        told[i] = (struct rue_posterior_trial){
            .cell = trial->model * forecast->candidate_count + trial->position,
            .jacobian = part ? derivatives_of(forecast, trial) : NULL,
            .sd = sqrt(noise_variance(forecast, config, trial->images, alike)),
        };
    }
    return rue_posterior_gain(forecast->posterior, forecast->direction, told, count);
}

const struct rue_prediction *rue_forecast_prediction(const struct rue_forecast *forecast)
{
    return forecast->prediction;
}

/* ---- life ---- */

void rue_forecast_close(struct rue_forecast *forecast)
{
    if (!forecast) return;
    rue_posterior_close(forecast->posterior);
    rue_prediction_close(forecast->prediction);
    free(forecast->excluded);
    free(forecast->late);
    free(forecast->candidates);
    free(forecast->times);
    free(forecast->joined);
    free(forecast->jacobian);
    free(forecast->weights);
    free(forecast->direction);
    free(forecast->known);
    free(forecast->known_jacobian);
    free(forecast);
}

rue_status rue_forecast_open(const struct rue_strategy_setup *setup, struct rue_forecast **out,
                             rue_error *error)
{
    struct rue_forecast *forecast = calloc(1, sizeof *forecast);
    if (!forecast) return rue_fail_memory(error, "a forecast", sizeof *forecast);
    forecast->setup = setup;
    forecast->models = setup->scenario_count;
    forecast->configs = setup->config_count;
    forecast->cells = forecast->models * forecast->configs;
    forecast->excluded = calloc(forecast->configs, sizeof *forecast->excluded);
    forecast->late = calloc(forecast->configs, sizeof *forecast->late);
    forecast->candidates = calloc(forecast->configs, sizeof *forecast->candidates);
    forecast->times = calloc(forecast->configs, sizeof *forecast->times);
    forecast->joined = calloc(forecast->configs, sizeof *forecast->joined);
    size_t parameters = rue_prediction_parameters_max(forecast->models);
    forecast->jacobian = calloc(parameters, sizeof *forecast->jacobian);
    forecast->weights = calloc(forecast->cells, sizeof *forecast->weights);
    forecast->direction = calloc(forecast->cells + parameters + 1, sizeof *forecast->direction);
    forecast->known = calloc(forecast->cells * LENGTHS, sizeof *forecast->known);
    forecast->known_jacobian =
        calloc(forecast->cells * LENGTHS * parameters, sizeof *forecast->known_jacobian);
    if (!forecast->excluded || !forecast->late || !forecast->candidates || !forecast->times ||
        !forecast->joined || !forecast->jacobian || !forecast->weights || !forecast->direction ||
        !forecast->known || !forecast->known_jacobian) {
        rue_forecast_close(forecast);
        return rue_fail_memory(error, "a forecast", forecast->cells * sizeof(double));
    }
    rue_status status = rue_prediction_open(setup, &forecast->prediction, error);
    if (status != RUE_OK) return rue_forecast_close(forecast), status;
    *out = forecast;
    return RUE_OK;
}
