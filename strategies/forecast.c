#include "forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute_curve.h"
#include "pipeline_fit.h"
#include "trial_log.h"

/* LENGTHS: of trials of a cell whose derivatives are kept. */
enum { LENGTHS = 4, CELLS_MAX = 1500, TOP_OF_MODEL = 3, JOINTS_FOR_ALPHA = 12 };

static const double step = 1e-3;             /* of a logarithm, for derivatives */
static const double candidate_regret = 0.20; /* more than the best prediction: no candidate */
static const double trial_sd = 0.02;         /* of the logarithm of a trial's time */
static const double truncated_sd = 0.02;     /* more, for what the rest of the job may bring */
static const double alphas[] = {1, 2, 4, 8};

struct rue_forecast {
    const struct rue_strategy_setup *setup;
    size_t models, configs, cells;
    struct rue_trial_log loads, joints;
    struct rue_compute_curve *curves; /* [models] */
    bool *excluded;                   /* [configs] */

    struct rue_pipeline_fit *fit;
    struct rue_pipeline_consumer hand; /* what the consumer's thread takes without a model */
    double *job_s;                     /* [cells] predicted */
    double *share;                     /* [cells] of it, the consumer's */
    size_t *candidates;                /* [candidate_count] */
    size_t candidate_count;
    struct rue_posterior *posterior; /* of the candidates' cells */
    double posterior_s;              /* the time it is at */
    double *times;                   /* [configs] of a draw */
    double *jacobian;                /* [parameters] of a trial */
    double *weights;                 /* [cells] of what is to be decided */
    double *direction;               /* [cells + parameters + 1] */
    uint64_t *known;        /* [cells][LENGTHS] images of trials whose derivatives are known; 0: none */
    double *known_jacobian; /* [cells][LENGTHS][parameters] */
};

/* ---- trials ---- */

static void observe(struct rue_forecast *forecast, const struct rue_logged_trial *trial);

rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_ask *ask,
                            const struct rue_trial_result *result, double seconds, rue_error *error)
{
    struct rue_logged_trial trial = rue_logged_trial_of(ask, result, seconds);
    if (ask->measure == RUE_COMPUTE) {
        if (trial.batches && trial.consumer_s > 0)
            rue_compute_curve_add(&forecast->curves[ask->scenario],
                                  forecast->setup->configs[ask->config].value[RUE_BATCH_SIZE],
                                  trial.consumer_s / (double)trial.batches);
        return RUE_OK;
    }
    if (!trial.images || !(trial.times.end_to_end_s > 0)) return RUE_OK;
    if (ask->measure == RUE_LOAD) return rue_trial_log_add_faster(&forecast->loads, &trial, error);
    rue_status status = rue_trial_log_add(&forecast->joints, &trial, error);
    if (status == RUE_OK && forecast->posterior)
        observe(forecast, &forecast->joints.at[forecast->joints.count - 1]);
    return status;
}

void rue_forecast_exclude(struct rue_forecast *forecast, size_t config)
{
    forecast->excluded[config] = true;
}

/* ---- the pipeline ---- */

/* Least squares of consumer_s = batches * batch_s + images * image_s over the load trials; neither below 0.
 */
static struct rue_pipeline_consumer fit_hand(const struct rue_trial_log *loads)
{
    double bb = 0, bi = 0, ii = 0, by = 0, iy = 0;
    for (size_t i = 0; i < loads->count; i++) {
        const struct rue_logged_trial *trial = &loads->at[i];
        double batches = (double)trial->batches, images = (double)trial->images;
        if (isnan(trial->consumer_s)) continue;
        double weight = 1 / (images * images);
        bb += weight * batches * batches;
        bi += weight * batches * images;
        ii += weight * images * images;
        by += weight * batches * trial->consumer_s;
        iy += weight * images * trial->consumer_s;
    }
    double determinant = bb * ii - bi * bi;
    if (determinant > 1e-9 * bb * ii) {
        double batch_s = (by * ii - iy * bi) / determinant, image_s = (iy * bb - by * bi) / determinant;
        if (batch_s >= 0 && image_s >= 0) return (struct rue_pipeline_consumer){batch_s, image_s};
    }
    return (struct rue_pipeline_consumer){bb > 0 ? fmax(0, by / bb) : 0, 0};
}

static bool knows_consumer(const struct rue_forecast *forecast, size_t model)
{
    return forecast->curves[model].count > 0;
}

static struct rue_pipeline_consumer consumer_at(const struct rue_forecast *forecast, size_t model,
                                                size_t config)
{
    if (model == RUE_FORECAST_NO_MODEL) return forecast->hand;
    bool fitted = forecast->fit && model < forecast->fit->consumer_count;
    if (!knows_consumer(forecast, model)) return fitted ? forecast->fit->consumers[model] : forecast->hand;
    struct rue_pipeline_consumer consumer = rue_compute_curve_at(
        &forecast->curves[model], forecast->setup->configs[config].value[RUE_BATCH_SIZE]);
    consumer.batch_s += forecast->hand.batch_s;
    consumer.image_s += forecast->hand.image_s;
    return consumer;
}

static struct rue_pipeline_sample sample_of(const struct rue_forecast *forecast,
                                            const struct rue_logged_trial *trial, bool joint)
{
    struct rue_pipeline_sample sample = {.config = forecast->setup->configs[trial->config],
                                         .images = trial->images,
                                         .unknown = RUE_PIPELINE_KNOWN,
                                         .times = trial->times};
    if (joint && !knows_consumer(forecast, trial->model))
        sample.unknown = trial->model;
    else
        sample.consumer = consumer_at(forecast, joint ? trial->model : RUE_FORECAST_NO_MODEL, trial->config);
    return sample;
}

static rue_status fit(struct rue_forecast *forecast, rue_error *error)
{
    bool by_joints = forecast->loads.count == 0;
    const struct rue_trial_log *from = by_joints ? &forecast->joints : &forecast->loads;
    struct rue_pipeline_sample *samples = calloc(from->count + 1, sizeof *samples);
    if (!samples) return rue_fail_memory(error, "samples", from->count * sizeof *samples);
    forecast->hand = fit_hand(&forecast->loads);
    for (size_t i = 0; i < from->count; i++) samples[i] = sample_of(forecast, &from->at[i], by_joints);
    struct rue_pipeline_fit *found;
    rue_status status = rue_pipeline_fit_open(samples, from->count, by_joints ? forecast->models : 0,
                                              forecast->setup->cpus, forecast->setup->in_turn, &found, error);
    free(samples);
    if (status != RUE_OK) return status;
    rue_pipeline_fit_close(forecast->fit);
    forecast->fit = found;
    return RUE_OK;
}

double rue_forecast_slow_ratio(const struct rue_forecast *forecast, size_t config)
{
    for (size_t i = 0; forecast->fit && i < forecast->loads.count; i++)
        if (forecast->loads.at[i].config == config) return forecast->fit->slow_ratio[i];
    return NAN;
}

/* NaN without memory. */
static double predict_s(const struct rue_forecast *forecast, const struct rue_pipeline_loader *loader,
                        struct rue_pipeline_consumer consumer, size_t config, uint64_t images)
{
    struct rue_pipeline_times times;
    rue_status status =
        rue_pipeline_predict(loader, &consumer, &forecast->setup->configs[config], images, &times, NULL);
    return status == RUE_OK ? times.end_to_end_s : NAN;
}

double rue_forecast_trial_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images)
{
    if (!forecast->fit) return NAN;
    return predict_s(forecast, &forecast->fit->loader, consumer_at(forecast, model, config), config, images);
}

static rue_status predict_all(struct rue_forecast *forecast, rue_error *error)
{
    double images = (double)forecast->setup->job_images;
    for (size_t i = 0; i < forecast->cells; i++) {
        size_t model = i / forecast->configs, config = i % forecast->configs;
        struct rue_pipeline_consumer consumer = consumer_at(forecast, model, config);
        double batches = ceil(images / forecast->setup->configs[config].value[RUE_BATCH_SIZE]);
        forecast->job_s[i] = rue_forecast_trial_s(forecast, model, config, forecast->setup->job_images);
        if (!(forecast->job_s[i] > 0)) return rue_fail_memory(error, "predictions", forecast->cells);
        forecast->share[i] =
            fmin(1, (batches * consumer.batch_s + images * consumer.image_s) / forecast->job_s[i]);
    }
    return RUE_OK;
}

/* ---- candidates ---- */

static double best_of_model(const struct rue_forecast *forecast, size_t model)
{
    double best = INFINITY;
    for (size_t c = 0; c < forecast->configs; c++)
        if (!forecast->excluded[c]) best = fmin(best, forecast->job_s[model * forecast->configs + c]);
    return best;
}

/* Whether fewer than TOP_OF_MODEL configurations are faster for one of the models. */
static bool is_top_of_any(const struct rue_forecast *forecast, size_t config)
{
    for (size_t m = 0; m < forecast->models; m++) {
        const double *row = forecast->job_s + m * forecast->configs;
        size_t faster = 0;
        for (size_t c = 0; c < forecast->configs; c++)
            faster += !forecast->excluded[c] && row[c] < row[config];
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
        if (!forecast->excluded[c]) choices[count++] = (struct choice){c, 0};
    for (size_t m = 0; m < forecast->models; m++) {
        double best = best_of_model(forecast, m);
        for (size_t i = 0; i < count; i++)
            choices[i].regret += (forecast->job_s[m * forecast->configs + choices[i].config] / best - 1) /
                                 (double)forecast->models;
    }
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

/* The derivatives of the logarithm of a trial's predicted time by the parameters of the fit, into `out`. */
static void differentiate(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                          double predicted_s, double *out)
{
    for (size_t p = 0; p < forecast->fit->count; p++) {
        struct rue_pipeline_loader loader = forecast->fit->loader;
        struct rue_pipeline_consumer consumer = consumer_at(forecast, model, config);
        bool own = (p - RUE_PIPELINE_PARAMETER_COUNT) / 2 == model && !knows_consumer(forecast, model);
        out[p] = 0;
        if (p < RUE_PIPELINE_PARAMETER_COUNT)
            loader.value[p] *= exp(step);
        else if (own)
            *((p - RUE_PIPELINE_PARAMETER_COUNT) % 2 ? &consumer.image_s : &consumer.batch_s) *= exp(step);
        else
            continue;
        out[p] = log(predict_s(forecast, &loader, consumer, config, images) / predicted_s) / step;
    }
}

/* Trials of the cell that ran as many images, those before `end` (NULL: all). */
static size_t count_alike(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                          const struct rue_logged_trial *end)
{
    size_t count = 0;
    for (size_t i = 0; i < forecast->joints.count && &forecast->joints.at[i] != end; i++) {
        const struct rue_logged_trial *trial = &forecast->joints.at[i];
        count += trial->model == model && trial->config == config && trial->images == images;
    }
    return count;
}

/* Of a trial after `before` others alike. All n of them together tell with the variance bias + noise / n:
 * what a part of the job does not say of the rest stays unsaid, however often it is tried. */
static double noise_variance(const struct rue_forecast *forecast, size_t config, uint64_t images,
                             size_t before)
{
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
    double predicted_s = rue_forecast_trial_s(forecast, trial->model, trial->config, trial->images);
    if (position == SIZE_MAX || !(predicted_s > 0)) return;
    rue_posterior_wait(forecast->posterior, fmax(0, trial->seconds - forecast->posterior_s));
    forecast->posterior_s = fmax(forecast->posterior_s, trial->seconds);
    bool part = trial->images < forecast->setup->job_images;
    if (part)
        differentiate(forecast, trial->model, trial->config, trial->images, predicted_s, forecast->jacobian);
    rue_posterior_observe(forecast->posterior, trial->model * forecast->candidate_count + position,
                          part ? forecast->jacobian : NULL, log(trial->times.end_to_end_s / predicted_s),
                          sqrt(noise_variance(forecast, trial->config, trial->images, alike)));
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
    size_t count = forecast->candidate_count, cells = forecast->models * count, n = forecast->fit->count;
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
        out->share[i] = forecast->share[model * forecast->configs + config];
        out->measured[i] = rue_compute_curve_has(&forecast->curves[model],
                                                 forecast->setup->configs[config].value[RUE_BATCH_SIZE]);
        differentiate(forecast, model, config, forecast->setup->job_images,
                      forecast->job_s[model * forecast->configs + config], out->jacobian + i * n);
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
    for (size_t i = 0; i < forecast->joints.count; i++) observe(forecast, &forecast->joints.at[i]);
    return RUE_OK;
}

/* How far predictions are off is itself told by the joint trials, once there are some. */
static rue_status choose_alpha(struct rue_forecast *forecast, struct rue_posterior_prior *prior,
                               rue_error *error)
{
    double best = -INFINITY, alpha = alphas[0];
    rue_status status = RUE_OK;
    size_t count = forecast->joints.count < JOINTS_FOR_ALPHA ? 0 : sizeof alphas / sizeof *alphas;
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
    rue_status status = fit(forecast, error);
    memset(forecast->known, 0, forecast->cells * LENGTHS * sizeof *forecast->known);
    if (status == RUE_OK) status = predict_all(forecast, error);
    if (status == RUE_OK) status = choose_candidates(forecast, error);
    if (status == RUE_OK) status = prior_arrays_open(forecast, &arrays, error);
    if (status != RUE_OK) return status;
    struct rue_posterior_prior prior = {.model_count = forecast->models,
                                        .config_count = forecast->candidate_count,
                                        .configs = arrays.configs,
                                        .parameter_count = forecast->fit->count,
                                        .jacobian = arrays.jacobian,
                                        .covariance = forecast->fit->covariance,
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
    struct rue_forecast_cell cell = {.time_s = forecast->job_s[model * forecast->configs + config],
                                     .sd = NAN};
    size_t position = forecast->posterior ? position_of(forecast, config) : SIZE_MAX;
    if (position != SIZE_MAX) {
        size_t at = model * forecast->candidate_count + position;
        cell.time_s *= exp(rue_posterior_mean(forecast->posterior)[at]);
        cell.sd = sqrt(fmax(0, rue_posterior_covariance(forecast->posterior, at, at)));
    }
    for (size_t i = 0; i < forecast->joints.count; i++) {
        const struct rue_logged_trial *trial = &forecast->joints.at[i];
        if (trial->model != model || trial->config != config) continue;
        cell.joint_trials++;
        cell.full |= trial->images >= forecast->setup->job_images;
    }
    return cell;
}

size_t rue_forecast_candidates(const struct rue_forecast *forecast, const size_t **out)
{
    *out = forecast->candidates;
    return forecast->candidate_count;
}

void rue_forecast_regrets(const struct rue_forecast *forecast, size_t index, double *out)
{
    const double *draw = rue_posterior_draw(forecast->posterior, index);
    size_t count = forecast->candidate_count;
    memset(out, 0, count * sizeof *out);
    for (size_t m = 0; m < forecast->models; m++) {
        double best = INFINITY;
        for (size_t c = 0; c < count; c++) {
            double time_s =
                forecast->job_s[m * forecast->configs + forecast->candidates[c]] * exp(draw[m * count + c]);
            forecast->times[c] = time_s;
            best = fmin(best, time_s);
        }
        for (size_t c = 0; c < count; c++)
            out[c] += (forecast->times[c] / best - 1) / (double)forecast->models;
    }
}

void rue_forecast_compare(struct rue_forecast *forecast, size_t one, size_t other)
{
    size_t count = forecast->candidate_count, cells = forecast->models * count;
    memset(forecast->weights, 0, cells * sizeof *forecast->weights);
    for (size_t m = 0; m < forecast->models; m++) {
        forecast->weights[m * count + one] += 1 / (double)forecast->models;
        forecast->weights[m * count + other] -= 1 / (double)forecast->models;
    }
    rue_posterior_direct(forecast->posterior, forecast->weights, forecast->direction);
}

/* The derivatives of a trial, which are the same until the next update. */
static const double *derivatives_of(struct rue_forecast *forecast, const struct rue_forecast_trial *trial)
{
    size_t cell = trial->model * forecast->candidate_count + trial->position, n = forecast->fit->count;
    uint64_t *known = &forecast->known[cell * LENGTHS];
    size_t at = 0;
    while (at < LENGTHS - 1 && known[at] && known[at] != trial->images) at++;
    double *own = forecast->known_jacobian + (cell * LENGTHS + at) * n;
    if (known[at] == trial->images) return own;
    size_t config = forecast->candidates[trial->position];
    known[at] = trial->images;
    differentiate(forecast, trial->model, config, trial->images,
                  rue_forecast_trial_s(forecast, trial->model, config, trial->images), own);
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

/* ---- life ---- */

void rue_forecast_close(struct rue_forecast *forecast)
{
    if (!forecast) return;
    rue_posterior_close(forecast->posterior);
    rue_pipeline_fit_close(forecast->fit);
    rue_trial_log_close(&forecast->loads);
    rue_trial_log_close(&forecast->joints);
    free(forecast->curves);
    free(forecast->excluded);
    free(forecast->job_s);
    free(forecast->share);
    free(forecast->candidates);
    free(forecast->times);
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
    forecast->curves = calloc(forecast->models, sizeof *forecast->curves);
    forecast->excluded = calloc(forecast->configs, sizeof *forecast->excluded);
    forecast->job_s = calloc(forecast->cells, sizeof *forecast->job_s);
    forecast->share = calloc(forecast->cells, sizeof *forecast->share);
    forecast->candidates = calloc(forecast->configs, sizeof *forecast->candidates);
    forecast->times = calloc(forecast->configs, sizeof *forecast->times);
    size_t parameters = RUE_PIPELINE_PARAMETER_COUNT + 2 * forecast->models;
    forecast->jacobian = calloc(parameters, sizeof *forecast->jacobian);
    forecast->weights = calloc(forecast->cells, sizeof *forecast->weights);
    forecast->direction = calloc(forecast->cells + parameters + 1, sizeof *forecast->direction);
    forecast->known = calloc(forecast->cells * LENGTHS, sizeof *forecast->known);
    forecast->known_jacobian =
        calloc(forecast->cells * LENGTHS * parameters, sizeof *forecast->known_jacobian);
    if (!forecast->curves || !forecast->excluded || !forecast->job_s || !forecast->share ||
        !forecast->candidates || !forecast->times || !forecast->jacobian || !forecast->weights ||
        !forecast->direction || !forecast->known || !forecast->known_jacobian) {
        rue_forecast_close(forecast);
        return rue_fail_memory(error, "a forecast", forecast->cells * sizeof(double));
    }
    *out = forecast;
    return RUE_OK;
}
