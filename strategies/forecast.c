#include "forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evidence.h"
#include "first_batches.h"

enum { JOINTS_FOR_SCALES = 12 };

static const double trial_sd = 0.02; /* of the logarithm of a trial's time */
/* What disturbs a trial, however short it is, where workers are threads, and where they are processes. */
static const double thread_hiccup_s = 0.005, process_hiccup_s = 0.02;
static const double truncated_sd = 0.02; /* more, for what the rest of the job may bring */

/* How far predictions are off, and how noisy trials are, relative to what is usual. */
enum { ALPHAS = 8, NOISES = 4 };
static const double alphas[ALPHAS] = {0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8}, noises[NOISES] = {0.7, 1, 2, 4};
static const double noise_spread = 0.5; /* of the logarithm of the latter, before any trial */
static const struct rue_error_scales usual = {1, 1};

struct rue_forecast {
    const struct rue_strategy_setup *setup;
    size_t models, configs, cells;
    struct rue_prediction *prediction;
    bool *excluded;       /* [configs] */
    bool *late;           /* [configs] their first batch comes later than the limit */
    bool *out;            /* [configs] one or the other */
    size_t *joint_trials; /* [cells] of them */
    bool *full;           /* [cells] one of them ran the whole job */
    struct rue_candidates candidates;
    uint64_t version;               /* of the prediction that the prior is of */
    struct rue_error_prior *prior;  /* of the candidates' cells */
    struct rue_evidence *evidence;  /* of joint trials, as the posterior */
    struct rue_error_scales scales; /* of the posterior */
    struct rue_posterior *posterior;
    double told_s;                     /* when the last trial was that both were told */
    struct rue_speed told_speed;       /* by how much the machine was slower, which is known roughly */
    double *job_s;                     /* [models][candidates] predicted */
    double *times;                     /* [configs] of a draw */
    struct rue_joined_regrets *joined; /* [configs] likewise */
    double *jacobian[2];               /* [parameters] of trials */
    double *weights;                   /* [cells] of what is to be decided */
    double *direction;                 /* [cells + parameters + 1] */
};

/* ---- trials ---- */

/* That the job consumes. */
static uint64_t job_images(const struct rue_forecast *forecast, size_t config)
{
    return rue_setup_images(forecast->setup, config, forecast->setup->job_images);
}

static bool is_whole(const struct rue_forecast *forecast, size_t config, uint64_t images)
{
    return images >= job_images(forecast, config);
}

static rue_status observe(struct rue_forecast *forecast, const struct rue_logged_trial *trial, bool weigh,
                          rue_error *error);

rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_ask *ask,
                            const struct rue_trial_result *result, double seconds, rue_error *error)
{
    const struct rue_trial_log *joints = rue_prediction_joints(forecast->prediction);
    size_t before = joints->count;
    rue_status status = rue_prediction_add(forecast->prediction, ask, result, seconds, error);
    if (joints->count == before) return status;
    const struct rue_logged_trial *trial = &joints->at[before];
    size_t cell = trial->model * forecast->configs + trial->config;
    forecast->joint_trials[cell]++;
    forecast->full[cell] |= is_whole(forecast, trial->config, trial->images);
    return forecast->posterior ? observe(forecast, trial, true, error) : RUE_OK;
}

void rue_forecast_exclude(struct rue_forecast *forecast, size_t config)
{
    forecast->excluded[config] = true;
}

bool rue_forecast_is_excluded(const struct rue_forecast *forecast, size_t config)
{
    return forecast->excluded[config];
}

static double job_s(const struct rue_forecast *forecast, size_t model, size_t config)
{
    return rue_prediction_job_s(forecast->prediction, model, config);
}

static double weight_of(const struct rue_forecast *forecast, size_t model)
{
    return forecast->setup->weights ? forecast->setup->weights[model] : 1;
}

/* ---- beliefs ---- */

/* Of the errors; false where the configuration is no candidate, or nothing is believed yet. */
static bool find_cell(const struct rue_forecast *forecast, size_t model, size_t config, size_t *out)
{
    size_t position = forecast->posterior ? forecast->candidates.positions[config] : RUE_NO_CANDIDATE;
    *out = model * forecast->candidates.count + position;
    return position != RUE_NO_CANDIDATE;
}

/* Trials of the cell that ran as many images, those before `end` (NULL: all). */
static size_t count_alike(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                          const struct rue_logged_trial *end)
{
    size_t count = 0, all = forecast->joint_trials[model * forecast->configs + config];
    const struct rue_trial_log *joints = rue_prediction_joints(forecast->prediction);
    for (size_t i = 0; all > 0 && i < joints->count && &joints->at[i] != end; i++) {
        const struct rue_logged_trial *trial = &joints->at[i];
        count += trial->model == model && trial->config == config && trial->images == images;
    }
    return count;
}

static const double nothing_new = 1e6; /* variance of a trial that answers as one before it did */

/* Of a trial of so many seconds after `before` others alike. All n of them together tell with the variance
 * bias + noise / n: what a part of the job does not say of the rest stays unsaid, however often it is tried.
 */
static double noise_variance(const struct rue_forecast *forecast, size_t config, uint64_t images,
                             double predicted_s, size_t before)
{
    if (forecast->setup->answers && before >= forecast->setup->answers) return nothing_new;
    const int *value = forecast->setup->configs[config].value;
    double round = (double)(value[RUE_NUM_WORKERS] > 0 ? value[RUE_NUM_WORKERS] : 1) * value[RUE_BATCH_SIZE];
    double left = 1 - fmin(1, (double)images / (double)job_images(forecast, config));
    double sd = truncated_sd * left * (1 + round / (double)images);
    double hiccup = (forecast->setup->in_turn ? process_hiccup_s : thread_hiccup_s) / predicted_s;
    double bias = sd * sd, noise = trial_sd * trial_sd + hiccup * hiccup;
    double precision = 1 / (bias + noise / (double)(before + 1)),
           precision_before = before ? 1 / (bias + noise / (double)before) : 0;
    return 1 / (precision - precision_before);
}

/* The seconds since the last trial that was told; the drift is another one where the speed has changed. */
static double wait_for(struct rue_forecast *forecast, const struct rue_logged_trial *trial)
{
    bool changed = rue_speed_differs(trial->speed, forecast->told_speed);
    double seconds = changed ? INFINITY : fmax(0, trial->seconds - forecast->told_s);
    forecast->told_speed = trial->speed;
    forecast->told_s = fmax(forecast->told_s, trial->seconds);
    return seconds;
}

/* Tells the posterior, or the evidence (`weigh`), or both where there are both, how far off the prediction of
 * just this trial was. */
static rue_status observe(struct rue_forecast *forecast, const struct rue_logged_trial *trial, bool weigh,
                          rue_error *error)
{
    size_t alike = count_alike(forecast, trial->model, trial->config, trial->images, trial);
    size_t position = forecast->candidates.positions[trial->config];
    double predicted_s = rue_prediction_then_s(forecast->prediction, trial);
    if (position == RUE_NO_CANDIDATE || !(predicted_s > 0)) return RUE_OK;
    double seconds = wait_for(forecast, trial), log_ratio = log(trial->times.end_to_end_s / predicted_s);
    struct rue_posterior_trial told = {
        .cell = trial->model * forecast->candidates.count + position,
        .sd = sqrt(noise_variance(forecast, trial->config, trial->images, predicted_s, alike))};
    if (!is_whole(forecast, trial->config, trial->images)) {
        rue_prediction_differentiate(forecast->prediction, trial->model, trial->config, trial->images,
                                     forecast->jacobian[0]);
        told.jacobian = forecast->jacobian[0];
    }
    rue_status status = RUE_OK;
    if (weigh) {
        rue_evidence_wait(forecast->evidence, seconds);
        status = rue_evidence_add(forecast->evidence, told.cell, told.jacobian, log_ratio, told.sd, error);
    }
    if (!forecast->posterior || status != RUE_OK) return status;
    told.sd *= forecast->scales.noise;
    rue_posterior_wait(forecast->posterior, seconds);
    rue_posterior_observe(forecast->posterior, &told, log_ratio);
    return RUE_OK;
}

/* Tells of all joint trials from the first one on. */
static rue_status observe_all(struct rue_forecast *forecast, bool weigh, rue_error *error)
{
    const struct rue_trial_log *joints = rue_prediction_joints(forecast->prediction);
    rue_status status = RUE_OK;
    forecast->told_s = 0;
    forecast->told_speed = (struct rue_speed){0, 0};
    for (size_t i = 0; status == RUE_OK && i < joints->count; i++) {
        status = rue_setup_check_stop(forecast->setup, error);
        if (status == RUE_OK) status = observe(forecast, &joints->at[i], weigh, error);
    }
    return status;
}

/* A trial that may be made, as the posterior has it; its jacobian into `room`. */
static struct rue_posterior_trial trial_of(const struct rue_forecast *forecast, size_t cell, size_t config,
                                           uint64_t images, double *room)
{
    size_t model = cell / forecast->candidates.count;
    size_t alike = count_alike(forecast, model, config, images, NULL);
    bool part = !is_whole(forecast, config, images);
    double predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, images);
    if (part) rue_prediction_differentiate(forecast->prediction, model, config, images, room);
    return (struct rue_posterior_trial){
        .cell = cell,
        .jacobian = part ? room : NULL,
        .sd = forecast->scales.noise * sqrt(noise_variance(forecast, config, images, predicted_s, alike))};
}

bool rue_forecast_expect(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                         double *time_s, double *sd)
{
    double predicted_s = rue_prediction_trial_s(forecast->prediction, model, config, images), mean;
    size_t cell;
    if (!find_cell(forecast, model, config, &cell) || !(predicted_s > 0)) return false;
    struct rue_posterior_trial trial = trial_of(forecast, cell, config, images, forecast->jacobian[0]);
    rue_posterior_expect(forecast->posterior, &trial, &mean, sd);
    *time_s = predicted_s * exp(mean);
    return true;
}

void rue_forecast_shift(struct rue_forecast *forecast, size_t since, struct rue_speed change)
{
    rue_prediction_shift(forecast->prediction, since, change);
}

/* What the prior is told of the candidates' cells. */
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
    size_t count = forecast->candidates.count, cells = forecast->models * count;
    size_t n = rue_prediction_parameter_count(forecast->prediction);
    *out = (struct prior_arrays){.configs = calloc(count, sizeof *out->configs),
                                 .jacobian = calloc(cells * n, sizeof *out->jacobian),
                                 .share = calloc(cells, sizeof *out->share),
                                 .measured = calloc(cells, sizeof *out->measured)};
    if (!out->configs || !out->jacobian || !out->share || !out->measured) {
        prior_arrays_close(out);
        return rue_fail_memory(error, "a prior", cells * n * sizeof(double));
    }
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < cells; i++) {
        size_t model = i / count, config = forecast->candidates.configs[i % count];
        out->configs[i % count] = forecast->setup->configs[config];
        out->share[i] = rue_prediction_consumer_share(forecast->prediction, model, config);
        out->measured[i] = rue_prediction_is_computed(forecast->prediction, model, config);
        rue_prediction_differentiate(forecast->prediction, model, config, forecast->setup->job_images,
                                     out->jacobian + i * n);
        status = rue_setup_check_stop(forecast->setup, error);
    }
    if (status != RUE_OK) prior_arrays_close(out);
    return status;
}

static void forget(struct rue_forecast *forecast)
{
    rue_posterior_close(forecast->posterior);
    rue_evidence_close(forecast->evidence);
    rue_error_prior_close(forecast->prior);
    forecast->posterior = NULL;
    forecast->evidence = NULL;
    forecast->prior = NULL;
}

static rue_status open_evidence(struct rue_forecast *forecast, rue_error *error)
{
    struct rue_error_hypothesis hypotheses[ALPHAS * NOISES];
    for (size_t h = 0; h < ALPHAS * NOISES; h++) {
        double alpha = alphas[h / NOISES], noise = noises[h % NOISES], off = log(noise) / noise_spread;
        hypotheses[h] = (struct rue_error_hypothesis){{alpha, noise}, -0.5 * off * off};
    }
    return rue_evidence_open(forecast->prior, hypotheses, ALPHAS * NOISES, &forecast->evidence, error);
}

/* Beliefs about the candidates' cells begin anew: the prior, and what joint trials are evidence of. */
static rue_status begin_anew(struct rue_forecast *forecast, rue_error *error)
{
    struct prior_arrays arrays;
    rue_status status = prior_arrays_open(forecast, &arrays, error);
    if (status != RUE_OK) return status;
    forget(forecast);
    const struct rue_error_prior_setup setup = {.model_count = forecast->models,
                                                .config_count = forecast->candidates.count,
                                                .configs = arrays.configs,
                                                .parameter_count =
                                                    rue_prediction_parameter_count(forecast->prediction),
                                                .jacobian = arrays.jacobian,
                                                .covariance = rue_prediction_covariance(forecast->prediction),
                                                .consumer_share = arrays.share,
                                                .compute_measured = arrays.measured};
    status = rue_error_prior_open(&setup, &forecast->prior, error);
    prior_arrays_close(&arrays);
    if (status == RUE_OK) status = open_evidence(forecast, error);
    if (status == RUE_OK) status = observe_all(forecast, true, error);
    if (status != RUE_OK) forget(forecast);
    for (size_t i = 0; i < forecast->models * forecast->candidates.count; i++)
        forecast->job_s[i] = job_s(forecast, i / forecast->candidates.count,
                                   forecast->candidates.configs[i % forecast->candidates.count]);
    return status;
}

/* One of few, so that beliefs seldom begin anew. */
static double nearest(const double *of, size_t count, double wanted)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (fabs(log(of[i] / wanted)) < fabs(log(of[best] / wanted))) best = i;
    return of[best];
}

/* How far predictions are off, and how noisy trials are, is itself told by the joint trials, once there are
 * some. */
static rue_status believe(struct rue_forecast *forecast, rue_error *error)
{
    struct rue_error_scales scales = usual;
    if (rue_prediction_joints(forecast->prediction)->count >= JOINTS_FOR_SCALES) {
        scales = rue_evidence_scales(forecast->evidence);
        scales.alpha = nearest(alphas, ALPHAS, scales.alpha);
        scales.noise = nearest(noises, NOISES, scales.noise);
    }
    if (forecast->posterior && scales.alpha == forecast->scales.alpha &&
        scales.noise == forecast->scales.noise)
        return RUE_OK;
    rue_posterior_close(forecast->posterior);
    forecast->posterior = NULL;
    forecast->scales = scales;
    rue_status status = rue_posterior_open(forecast->prior, scales.alpha, RUE_FORECAST_DRAWS,
                                           forecast->setup->seed, &forecast->posterior, error);
    return status == RUE_OK ? observe_all(forecast, false, error) : status;
}

rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error)
{
    bool changed = false;
    rue_status status = rue_prediction_update(forecast->prediction, error);
    if (status != RUE_OK) return status;
    rue_first_batches_mark(forecast->prediction, forecast->setup, forecast->excluded, forecast->late);
    for (size_t c = 0; c < forecast->configs; c++)
        forecast->out[c] = forecast->excluded[c] || forecast->late[c];
    status = rue_candidates_choose(&forecast->candidates, forecast->setup, forecast->prediction,
                                   forecast->out, &changed, error);
    uint64_t version = rue_prediction_version(forecast->prediction);
    if (status == RUE_OK && (changed || !forecast->prior || version != forecast->version)) {
        forecast->version = version;
        status = begin_anew(forecast, error);
    }
    return status == RUE_OK ? believe(forecast, error) : status;
}

struct rue_forecast_cell rue_forecast_cell(const struct rue_forecast *forecast, size_t model, size_t config)
{
    size_t cell, at = model * forecast->configs + config;
    struct rue_forecast_cell out = {.time_s = job_s(forecast, model, config),
                                    .sd = NAN,
                                    .joint_trials = forecast->joint_trials[at],
                                    .full = forecast->full[at]};
    if (!find_cell(forecast, model, config, &cell)) return out;
    out.time_s *= exp(rue_posterior_mean(forecast->posterior)[cell]);
    out.sd = sqrt(fmax(0, rue_posterior_covariance(forecast->posterior, cell, cell)));
    return out;
}

double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images)
{
    double off = rue_forecast_cell(forecast, model, config).time_s / job_s(forecast, model, config);
    return off * rue_prediction_at_beginning_s(forecast->prediction, model, config, images);
}

size_t rue_forecast_candidates(const struct rue_forecast *forecast, const size_t **out)
{
    *out = forecast->candidates.configs;
    return forecast->candidates.count;
}

const struct rue_candidates *rue_forecast_choice(const struct rue_forecast *forecast)
{
    return &forecast->candidates;
}

size_t rue_forecast_position(const struct rue_forecast *forecast, size_t config)
{
    return forecast->candidates.positions[config];
}

/* The regrets of every candidate, where predictions are off by the logarithms `errors` [cells]. */
static void join_regrets(struct rue_forecast *forecast, const double *errors)
{
    size_t count = forecast->candidates.count;
    memset(forecast->joined, 0, count * sizeof *forecast->joined);
    for (size_t m = 0; m < forecast->models; m++) {
        const double *predicted_s = forecast->job_s + m * count, *off = errors + m * count;
        double best = INFINITY, weight = weight_of(forecast, m), *times = forecast->times;
        for (size_t c = 0; c < count; c++) {
            times[c] = predicted_s[c] * exp(off[c]);
            best = times[c] < best ? times[c] : best;
        }
        for (size_t c = 0; c < count; c++)
            rue_joined_regrets_add(&forecast->joined[c], m, weight, times[c] / best - 1);
    }
}

void rue_forecast_regrets(struct rue_forecast *forecast, size_t index, double *out)
{
    join_regrets(forecast, rue_posterior_draw(forecast->posterior, index));
    for (size_t c = 0; c < forecast->candidates.count; c++)
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
    size_t count = forecast->candidates.count;
    double all = 0;
    for (size_t m = 0; m < forecast->models; m++) all += weight_of(forecast, m);
    for (size_t m = 0; m < forecast->models; m++)
        forecast->weights[m * count + position] = sign * weight_of(forecast, m) / all;
}

/* The same for the worst regrets: as often as its model has it. */
static void weigh_worst(struct rue_forecast *forecast, size_t one, size_t other)
{
    size_t count = forecast->candidates.count;
    for (size_t d = 0; d < RUE_FORECAST_DRAWS; d++) {
        join_regrets(forecast, rue_posterior_draw(forecast->posterior, d));
        forecast->weights[forecast->joined[one].worst_model * count + one] += 1.0 / RUE_FORECAST_DRAWS;
        forecast->weights[forecast->joined[other].worst_model * count + other] -= 1.0 / RUE_FORECAST_DRAWS;
    }
}

void rue_forecast_compare(struct rue_forecast *forecast, size_t one, size_t other)
{
    memset(forecast->weights, 0, forecast->models * forecast->candidates.count * sizeof *forecast->weights);
    if (forecast->setup->objective == RUE_OBJECTIVE_WORST) {
        weigh_worst(forecast, one, other);
    } else {
        weigh(forecast, one, 1);
        weigh(forecast, other, -1);
    }
    rue_posterior_direct(forecast->posterior, forecast->weights, forecast->direction);
}

double rue_forecast_gain(struct rue_forecast *forecast, const struct rue_forecast_trial *trials, size_t count)
{
    struct rue_posterior_trial told[2];
    for (size_t i = 0; i < count; i++) {
        size_t cell = trials[i].model * forecast->candidates.count + trials[i].position;
        size_t config = forecast->candidates.configs[trials[i].position];
        told[i] = trial_of(forecast, cell, config, trials[i].images, forecast->jacobian[i]);
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
    forget(forecast);
    rue_prediction_close(forecast->prediction);
    rue_candidates_close(&forecast->candidates);
    free(forecast->excluded);
    free(forecast->late);
    free(forecast->out);
    free(forecast->joint_trials);
    free(forecast->full);
    free(forecast->job_s);
    free(forecast->times);
    free(forecast->joined);
    free(forecast->jacobian[0]);
    free(forecast->jacobian[1]);
    free(forecast->weights);
    free(forecast->direction);
    free(forecast);
}

static rue_status allocate(struct rue_forecast *forecast, rue_error *error)
{
    size_t parameters = rue_prediction_parameters_max(forecast->prediction);
    forecast->excluded = calloc(forecast->configs, sizeof *forecast->excluded);
    forecast->late = calloc(forecast->configs, sizeof *forecast->late);
    forecast->out = calloc(forecast->configs, sizeof *forecast->out);
    forecast->joint_trials = calloc(forecast->cells, sizeof *forecast->joint_trials);
    forecast->full = calloc(forecast->cells, sizeof *forecast->full);
    forecast->job_s = calloc(forecast->cells, sizeof *forecast->job_s);
    forecast->times = calloc(forecast->configs, sizeof *forecast->times);
    forecast->joined = calloc(forecast->configs, sizeof *forecast->joined);
    forecast->jacobian[0] = calloc(parameters, sizeof **forecast->jacobian);
    forecast->jacobian[1] = calloc(parameters, sizeof **forecast->jacobian);
    forecast->weights = calloc(forecast->cells, sizeof *forecast->weights);
    forecast->direction = calloc(forecast->cells + parameters + 1, sizeof *forecast->direction);
    if (forecast->excluded && forecast->late && forecast->out && forecast->joint_trials && forecast->full &&
        forecast->job_s && forecast->times && forecast->joined && forecast->jacobian[0] &&
        forecast->jacobian[1] && forecast->weights && forecast->direction)
        return RUE_OK;
    return rue_fail_memory(error, "a forecast", forecast->cells * sizeof(double));
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
    rue_status status = rue_prediction_open(setup, &forecast->prediction, error);
    if (status == RUE_OK) status = allocate(forecast, error);
    if (status == RUE_OK) status = rue_candidates_open(&forecast->candidates, setup, error);
    if (status != RUE_OK) return rue_forecast_close(forecast), status;
    *out = forecast;
    return RUE_OK;
}
