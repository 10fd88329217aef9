#include "prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "contention.h"
#include "disturbance.h"
#include "job_time.h"
#include "knowledge.h"
#include "pipeline_fit.h"
#include "random.h"

/* CACHE_SLOTS: per cell. PSEUDO_TRIALS: jobs in a sample, at least PSEUDO_TRIALS_MIN per model.
 * WARM_START_TRIALS: joint trials per model from which on a fit starts at the last estimate. */
enum { CACHE_SLOTS = 4, PSEUDO_TRIALS = 40, PSEUDO_TRIALS_MIN = 4, WARM_START_TRIALS = 3 };

static const double step = 0.1;              /* of a logarithm; large, to average over kinks */
static const double not_measured_factor = 3; /* of the computing error, at a batch size not measured */

/* A memoised prediction of a trial. */
struct rue_cached_prediction {
    uint64_t images; /* 0: empty */
    size_t model, config;
    struct rue_speed speed;
    bool has_point;
    struct rue_pipeline_times times;
    struct rue_posterior_point point;
};

/* Without load trials, the loader is fitted to joint ones. */
static bool fits_joint_trials(const struct rue_prediction *prediction)
{
    return prediction->logs[RUE_LOAD].count == 0;
}

static size_t consumer_index(const struct rue_prediction *prediction, size_t model, size_t config)
{
    return rue_consumer_index(model, &prediction->setup->grid.configs[config]);
}

static int batch_size(const struct rue_prediction *prediction, size_t config)
{
    return (int)rue_trial_batch(&prediction->setup->grid.configs[config]);
}

static struct rue_pipeline_times scale_times(struct rue_pipeline_times times, double factor)
{
    return (struct rue_pipeline_times){factor * times.first_batch_s, factor * times.end_to_end_s,
                                       factor * times.shutdown_s};
}

struct rue_speed rue_prediction_speed(const struct rue_prediction *prediction,
                                      const struct rue_logged_trial *trial)
{
    return rue_speed_history_at(&prediction->speeds, trial->trial);
}

struct rue_speed rue_prediction_usual_speed(const struct rue_prediction *prediction)
{
    const struct rue_trial_log *joints = &prediction->logs[RUE_JOINT];
    double trials[RUE_SPEED_CHANGES_MAX + 1] = {0};
    for (size_t i = 0; prediction->speeds.count > 0 && i < joints->count; i++)
        trials[rue_speed_history_phase(&prediction->speeds, joints->at[i].trial)]++;
    return rue_speed_history_usual(&prediction->speeds, trials);
}

/* Converts the times of a trial to the initial speed. */
static struct rue_logged_trial at_initial_speed(const struct rue_prediction *prediction,
                                                const struct rue_logged_trial *trial)
{
    struct rue_speed speed = rue_prediction_speed(prediction, trial);
    struct rue_logged_trial scaled = *trial;
    scaled.times = scale_times(scaled.times, exp(-speed.load));
    scaled.consumer_s /= exp(speed.compute);
    return scaled;
}

static double to_seconds(int64_t ns)
{
    return ns == RUE_ABSENT ? NAN : (double)ns / 1e9;
}

static struct rue_logged_trial logged_trial(const struct rue_prediction *prediction,
                                            const struct rue_question *question,
                                            const struct rue_trial_result *result, double seconds)
{
    struct rue_contention contention = rue_contention_find(result, prediction->setup->runner.cpus);
    double shutdown_s = to_seconds(result->shutdown_ns) / contention.load_ratio;
    return (struct rue_logged_trial){
        .model = question->scenario,
        .config = question->config,
        .images = result->images > 0 ? (uint64_t)result->images : 0,
        .batches = result->batches > 0 ? (uint64_t)result->batches : 0,
        .times = {.first_batch_s = to_seconds(result->first_batch_ns) / contention.load_ratio,
                  .end_to_end_s = to_seconds(result->end_to_end_ns) / contention.whole_ratio,
                  .shutdown_s = isnan(shutdown_s) ? 0 : shutdown_s},
        .consumer_s = to_seconds(result->compute_ns),
        .cpu_ratio = result->cpu_ratio,
        .contention_sd = contention.sd,
        .seconds = seconds,
        .trial = question->trial,
        .node = question->node};
}

rue_status rue_prediction_add(struct rue_prediction *prediction, const struct rue_question *question,
                              const struct rue_trial_result *result, double seconds, rue_error *error)
{
    struct rue_logged_trial trial = logged_trial(prediction, question, result, seconds);
    bool compute = question->measure == RUE_COMPUTE, joint = question->measure == RUE_JOINT;
    if (compute ? !trial.batches || !(trial.consumer_s > 0)
                : !trial.images || !(trial.times.end_to_end_s > 0))
        return RUE_OK;
    prediction->stale |= !joint || fits_joint_trials(prediction);
    if (joint) prediction->has_joint[consumer_index(prediction, trial.model, trial.config)] = true;
    struct rue_trial_log *log = &prediction->logs[question->measure];
    rue_status status =
        rue_array_grow(&log->at, &log->capacity, log->count + 1, sizeof *log->at, "trials", error);
    if (status == RUE_OK) log->at[log->count++] = trial;
    return status;
}

static bool has_compute_curve(const struct rue_prediction *prediction, size_t consumer)
{
    return prediction->knowledge->consumers[consumer].curve.count > 0;
}

static bool has_consumer(const struct rue_prediction *prediction, size_t consumer)
{
    bool fitted = !isnan(prediction->knowledge->consumers[consumer].consumer.batch_s);
    return has_compute_curve(prediction, consumer) || (fitted && prediction->has_joint[consumer]);
}

/* The consumer for the configuration's pinning; while it has no trial, the model's other consumer if that has
 * one. */
static size_t available_consumer(const struct rue_prediction *prediction, size_t model, size_t config)
{
    size_t index = consumer_index(prediction, model, config), other = index ^ 1;
    return has_consumer(prediction, index) || !has_consumer(prediction, other) ? index : other;
}

static struct rue_pipeline_consumer consumer_at(const struct rue_prediction *prediction, size_t model,
                                                size_t config)
{
    const struct rue_knowledge *known = prediction->knowledge;
    if (model == RUE_PREDICTION_NO_MODEL) return known->hand_over;
    size_t index = available_consumer(prediction, model, config);
    struct rue_pipeline_consumer consumer =
        rue_knowledge_consumer(known, index, batch_size(prediction, config));
    consumer.is_model &= !fits_joint_trials(prediction); /* else beside_ratio cannot be estimated */
    return isnan(consumer.batch_s) ? known->hand_over : consumer;
}

/* The logarithm of the cell's measured over predicted time in an earlier study. */
static double offset_at(const struct rue_prediction *prediction, size_t model, size_t config)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    if (model == RUE_PREDICTION_NO_MODEL || !prior || !prior->offsets) return 0;
    return prior->offsets[model * prediction->configs + config];
}

/* Joint trials alone cannot separate loading from computing, so both are scaled by the loader's change of
 * speed. */
static struct rue_pipeline_sample fit_sample(const struct rue_prediction *prediction,
                                             const struct rue_logged_trial *trial, bool joint)
{
    size_t index = joint ? consumer_index(prediction, trial->model, trial->config) : 0,
           model = joint ? trial->model : RUE_PREDICTION_NO_MODEL;
    struct rue_pipeline_times times = at_initial_speed(prediction, trial).times;
    return (struct rue_pipeline_sample){
        .config = prediction->setup->grid.configs[trial->config],
        .images = trial->images,
        .consumer = consumer_at(prediction, model, trial->config),
        .unknown_consumer = joint && !has_compute_curve(prediction, index) ? index : RUE_PIPELINE_KNOWN,
        .times = scale_times(times, exp(-offset_at(prediction, model, trial->config))),
        .added_sd = trial->contention_sd};
}

/* Time of the consumer's thread without a model: weighted least squares of consumer_s = batches * batch_s +
 * images * image_s over load trials, not negative. */
static struct rue_pipeline_consumer fit_hand_over(const struct rue_prediction *prediction)
{
    const struct rue_trial_log *loads = &prediction->logs[RUE_LOAD];
    double bb = 0, bi = 0, ii = 0, by = 0, iy = 0;
    for (size_t i = 0; i < loads->count; i++) {
        const struct rue_logged_trial trial = at_initial_speed(prediction, &loads->at[i]);
        double batches = (double)trial.batches, images = (double)trial.images;
        if (isnan(trial.consumer_s)) continue;
        double weight = 1 / (images * images);
        bb += weight * batches * batches;
        bi += weight * batches * images;
        ii += weight * images * images;
        by += weight * batches * trial.consumer_s;
        iy += weight * images * trial.consumer_s;
    }
    double determinant = bb * ii - bi * bi;
    if (determinant > 1e-9 * bb * ii) {
        double batch_s = (by * ii - iy * bi) / determinant, image_s = (iy * bb - by * bi) / determinant;
        if (batch_s >= 0 && image_s >= 0) return (struct rue_pipeline_consumer){batch_s, image_s, 0, false};
        if (batch_s < 0) return (struct rue_pipeline_consumer){0, fmax(0, iy / ii), 0, false};
    }
    return (struct rue_pipeline_consumer){bb > 0 ? fmax(0, by / bb) : 0, 0, 0, false};
}

/* Compute curves from trials; sizes that were not measured come from the prior. */
static void update_curves(struct rue_prediction *prediction)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    const struct rue_trial_log *computes = &prediction->logs[RUE_COMPUTE];
    struct rue_knowledge *known = prediction->knowledge;
    for (size_t c = 0; c < prediction->consumers; c++)
        known->consumers[c].curve = (struct rue_compute_curve){.count = 0};
    for (size_t i = 0; i < computes->count; i++) {
        const struct rue_logged_trial trial = at_initial_speed(prediction, &computes->at[i]);
        rue_compute_curve_add(&known->consumers[consumer_index(prediction, trial.model, trial.config)].curve,
                              batch_size(prediction, trial.config), trial.consumer_s / (double)trial.batches,
                              trial.cpu_ratio);
    }
    for (size_t c = 0; prior && c < prediction->consumers; c++)
        rue_compute_curve_add_prior(&known->consumers[c].curve, &prior->knowledge->consumers[c].curve);
    known->hand_over =
        prediction->logs[RUE_LOAD].count || !prior ? fit_hand_over(prediction) : prior->knowledge->hand_over;
}

void rue_prediction_forget(struct rue_prediction *prediction, size_t node, size_t since)
{
    for (int i = 0; i < RUE_MEASURE_COUNT; i++) {
        struct rue_trial_log *log = &prediction->logs[i];
        size_t kept = 0;
        for (size_t t = 0; t < log->count; t++)
            if (log->at[t].node != node || log->at[t].trial < since) log->at[kept++] = log->at[t];
        prediction->stale |= kept < log->count;
        log->count = kept;
    }
}

void rue_prediction_add_speed_change(struct rue_prediction *prediction, size_t since, struct rue_speed change)
{
    rue_speed_history_add(&prediction->speeds, since, change);
    prediction->stale = true;
}

/* The prior of the fit, with its consumers in `out_consumers` [consumers]. */
static struct rue_pipeline_prior fit_prior(const struct rue_prediction *prediction,
                                           struct rue_pipeline_consumer *out_consumers)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    const struct rue_knowledge *knowledge = prior->knowledge;
    struct rue_pipeline_prior out = {.consumers = out_consumers};
    memcpy(out.value, knowledge->loader.value, sizeof out.value);
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        out.sd[p] = hypot(sqrt(knowledge->covariance[p][p]), prior->widen_sd);
    for (size_t c = 0; c < prediction->consumers; c++) out_consumers[c] = knowledge->consumers[c].consumer;
    return out;
}

static rue_status fit_pipeline(struct rue_prediction *prediction, rue_error *error)
{
    bool joint = fits_joint_trials(prediction);
    const struct rue_trial_log *log = joint ? &prediction->logs[RUE_JOINT] : &prediction->logs[RUE_LOAD];
    struct rue_pipeline_sample *samples = calloc(log->count + 1, sizeof *samples);
    size_t consumer_count = prediction->consumers;
    struct rue_pipeline_consumer *consumers = calloc(consumer_count, sizeof *consumers);
    struct rue_pipeline_fit *fit = NULL;
    rue_status status =
        samples && consumers ? RUE_OK : rue_fail_memory(error, "samples", log->count * sizeof *samples);
    if (status == RUE_OK) {
        bool has_prior = prediction->setup->known.prior;
        struct rue_pipeline_prior prior = {0};
        if (has_prior) prior = fit_prior(prediction, consumers);
        for (size_t i = 0; i < log->count; i++) samples[i] = fit_sample(prediction, &log->at[i], joint);
        bool warm_start = joint && prediction->fit && log->count > WARM_START_TRIALS * prediction->models;
        const struct rue_pipeline_fit_setup setup = {.samples = samples,
                                                     .sample_count = log->count,
                                                     .consumer_count = joint ? consumer_count : 0,
                                                     .cpus = prediction->setup->runner.cpus,
                                                     .round_robin = prediction->setup->runner.round_robin,
                                                     .prior = has_prior ? &prior : NULL,
                                                     .start = warm_start ? prediction->fit->estimate : NULL,
                                                     .stop = prediction->setup->stop};
        status = rue_pipeline_fit_open(&setup, &fit, error);
    }
    free(consumers);
    free(samples);
    if (status != RUE_OK) return status;
    rue_pipeline_fit_close(prediction->fit);
    prediction->fit = fit;
    prediction->knowledge->loader = fit->loader;
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        memcpy(prediction->knowledge->covariance[p], fit->covariance + p * fit->count,
               sizeof prediction->knowledge->covariance[p]);
    for (size_t c = 0; c < fit->consumer_count; c++)
        prediction->knowledge->consumers[c].consumer = fit->consumers[c];
    return RUE_OK;
}

/* All times but the consumer's scale with the loader's speed. */
static struct rue_pipeline_times predict_times(const struct rue_prediction *prediction, size_t model,
                                               size_t config, uint64_t images, struct rue_speed speed)
{
    struct rue_pipeline_consumer consumer = consumer_at(prediction, model, config);
    double factor = exp(offset_at(prediction, model, config) + speed.load);
    consumer.batch_s *= exp(speed.compute - speed.load);
    consumer.image_s *= exp(speed.compute - speed.load);
    return scale_times(rue_pipeline_predict(&prediction->knowledge->loader, &consumer,
                                            &prediction->setup->grid.configs[config],
                                            rue_setup_images(prediction->setup, config, images)),
                       factor);
}

static struct rue_cached_prediction *cache_entry(const struct rue_prediction *prediction, size_t model,
                                                 size_t config, uint64_t images, struct rue_speed speed)
{
    size_t row = model == RUE_PREDICTION_NO_MODEL ? prediction->models : model;
    size_t cell = row * prediction->configs + config, slot = rue_mix64(images) % CACHE_SLOTS;
    struct rue_cached_prediction *entry = &prediction->cache[cell * CACHE_SLOTS + slot];
    if (entry->model != model || entry->config != config || entry->images != images ||
        rue_speed_differs(entry->speed, speed))
        *entry =
            (struct rue_cached_prediction){.images = images,
                                           .model = model,
                                           .config = config,
                                           .speed = speed,
                                           .times = predict_times(prediction, model, config, images, speed)};
    return entry;
}

double rue_prediction_time_s(const struct rue_prediction *prediction, size_t model, size_t config,
                             uint64_t images, struct rue_speed speed)
{
    return prediction->fit ? cache_entry(prediction, model, config, images, speed)->times.end_to_end_s : NAN;
}

double rue_prediction_first_batch_s(const struct rue_prediction *prediction, size_t model, size_t config)
{
    return cache_entry(prediction, model, config, prediction->setup->job.images, (struct rue_speed){0, 0})
        ->times.first_batch_s;
}

double rue_prediction_trial_s(const struct rue_prediction *prediction, size_t model, size_t config,
                              uint64_t images)
{
    struct rue_speed now = rue_speed_history_at(&prediction->speeds, SIZE_MAX);
    return rue_prediction_time_s(prediction, model, config, images, now);
}

rue_status rue_prediction_update(struct rue_prediction *prediction, bool *changed, rue_error *error)
{
    *changed = prediction->stale || !prediction->fit;
    if (!*changed) return RUE_OK;
    update_curves(prediction);
    memset(prediction->cache, 0, prediction->cache_count * sizeof *prediction->cache);
    rue_status status = fit_pipeline(prediction, error);
    prediction->stale = status != RUE_OK;
    return status;
}

/* The gradient of a log time by the logarithms of the parameters: the loader's, and if `unknown` the
 * consumer's batch_s and image_s, which divide the derivative in proportion to their times. */
static void fill_slopes(const struct rue_prediction *prediction, const struct rue_pipeline_times *base,
                        const struct rue_pipeline_consumer *consumer, bool unknown, size_t config,
                        uint64_t images, double slopes[RUE_POSTERIOR_SLOPES])
{
    const struct rue_pipeline_loader *loader = &prediction->knowledge->loader;
    const struct rue_config *knobs = &prediction->setup->grid.configs[config];
    for (size_t p = 0; p < RUE_LOADER_SLOPES; p++) {
        struct rue_pipeline_loader shifted = *loader;
        shifted.value[p] *= exp(step);
        slopes[p] =
            log(rue_pipeline_predict(&shifted, consumer, knobs, images).end_to_end_s / base->end_to_end_s) /
            step;
    }
    if (!unknown) return;
    struct rue_pipeline_consumer slower = *consumer;
    slower.batch_s *= exp(step);
    slower.image_s *= exp(step);
    double slope =
        log(rue_pipeline_predict(loader, &slower, knobs, images).end_to_end_s / base->end_to_end_s) / step;
    double images_share = 1 / (1 + consumer->batch_s / (consumer->image_s * batch_size(prediction, config)));
    slopes[RUE_LOADER_SLOPES] = slope * (1 - images_share);
    slopes[RUE_LOADER_SLOPES + 1] = slope * images_share;
}

static double clip_share(double share)
{
    return fmax(0, fmin(1, share));
}

/* Slopes are NaN if out of memory. */
static struct rue_posterior_point linearise(const struct rue_prediction *prediction, size_t model,
                                            size_t config, uint64_t images)
{
    size_t index = available_consumer(prediction, model, config);
    struct rue_pipeline_consumer consumer = consumer_at(prediction, model, config);
    struct rue_pipeline_times base =
        scale_times(cache_entry(prediction, model, config, images, (struct rue_speed){0, 0})->times,
                    exp(-offset_at(prediction, model, config)));
    struct rue_posterior_point point = {.site = {.model = model, .config = config}, .consumer = index};
    bool unknown = index < prediction->fit->consumer_count && !has_compute_curve(prediction, index);
    images = rue_setup_images(prediction->setup, config, images);
    fill_slopes(prediction, &base, &consumer, unknown, config, images, point.slopes);
    double batches = ceil((double)images / batch_size(prediction, config)),
           compute_s = batches * consumer.batch_s + (double)images * consumer.image_s;
    size_t exact = consumer_index(prediction, model, config);
    const struct rue_compute_point *known = rue_compute_curve_find(
        &prediction->knowledge->consumers[exact].curve, batch_size(prediction, config));
    double *amplitude = point.site.amplitude;
    amplitude[RUE_AMPLITUDE_ONE] = 1;
    amplitude[RUE_AMPLITUDE_LOAD] =
        clip_share(point.slopes[RUE_PIPELINE_batch_s] + point.slopes[RUE_PIPELINE_item_s]);
    amplitude[RUE_AMPLITUDE_FIRST] = clip_share(base.first_batch_s / base.end_to_end_s);
    amplitude[RUE_AMPLITUDE_COMPUTE] =
        clip_share(compute_s / base.end_to_end_s) * (known && known->trials > 0 ? 1 : not_measured_factor);
    return point;
}

struct rue_posterior_point rue_prediction_point(const struct rue_prediction *prediction, size_t model,
                                                size_t config, uint64_t images)
{
    struct rue_cached_prediction *entry =
        cache_entry(prediction, model, config, images, (struct rue_speed){0, 0});
    if (!entry->has_point) entry->point = linearise(prediction, model, config, images);
    entry->has_point = true;
    return entry->point;
}

void rue_prediction_prior_mean(const struct rue_prediction *prediction, double *out)
{
    const struct rue_pipeline_fit *fit = prediction->fit;
    memset(out, 0, fit->count * sizeof *out);
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        out[p] = log(fit->loader.value[p] / prediction->knowledge->loader.value[p]);
}

bool rue_prediction_move_parameters(struct rue_prediction *prediction, const double *log_step)
{
    if (fits_joint_trials(prediction)) return false;
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        prediction->knowledge->loader.value[p] *= exp(log_step[p]);
    memset(prediction->cache, 0, prediction->cache_count * sizeof *prediction->cache);
    return true;
}

rue_status rue_prediction_knowledge(const struct rue_prediction *prediction, struct rue_knowledge **out,
                                    rue_error *error)
{
    *out = NULL;
    if (!prediction->fit) return RUE_OK;
    struct rue_knowledge *exported;
    rue_status status = rue_knowledge_open(prediction->models, &exported, error);
    if (status != RUE_OK) return status;
    struct rue_knowledge_model *consumers = exported->consumers;
    *exported = *prediction->knowledge;
    exported->consumers = consumers;
    for (size_t c = 0; c < prediction->consumers; c++) {
        bool fitted = !has_compute_curve(prediction, c) && prediction->has_joint[c];
        consumers[c].curve = prediction->knowledge->consumers[c].curve;
        if (fitted) consumers[c].consumer = prediction->knowledge->consumers[c].consumer;
    }
    *out = exported;
    return RUE_OK;
}

void rue_prediction_close(struct rue_prediction *prediction)
{
    if (!prediction) return;
    rue_pipeline_fit_close(prediction->fit);
    for (int m = 0; m < RUE_MEASURE_COUNT; m++) free(prediction->logs[m].at);
    rue_knowledge_close(prediction->knowledge);
    free(prediction->has_joint);
    free(prediction->cache);
    free(prediction);
}

rue_status rue_prediction_open(const struct rue_strategy_setup *setup, struct rue_prediction **out,
                               rue_error *error)
{
    struct rue_prediction *prediction = calloc(1, sizeof *prediction);
    if (!prediction) return rue_fail_memory(error, "a prediction", sizeof *prediction);
    prediction->setup = setup;
    prediction->models = setup->grid.scenario_count;
    prediction->configs = setup->grid.config_count;
    prediction->consumers = 2 * prediction->models;
    prediction->has_joint = calloc(prediction->consumers, sizeof *prediction->has_joint);
    prediction->cache_count = (prediction->models + 1) * prediction->configs * CACHE_SLOTS;
    prediction->cache = calloc(prediction->cache_count, sizeof *prediction->cache);
    rue_status status = rue_knowledge_open(prediction->models, &prediction->knowledge, error);
    if (status == RUE_OK && (!prediction->has_joint || !prediction->cache))
        status = rue_fail_memory(error, "a prediction", prediction->cache_count * sizeof *prediction->cache);
    if (status != RUE_OK) return rue_prediction_close(prediction), status;
    *out = prediction;
    return RUE_OK;
}

/* Adds jobs as if they were joint trials; steps of the golden ratio spread them over the space. */
static rue_status add_pseudo_trials(struct rue_prediction *prediction, const double *time_s, rue_error *error)
{
    static const double golden = 0.6180339887498949;
    size_t per_model = PSEUDO_TRIALS / prediction->models;
    if (per_model < PSEUDO_TRIALS_MIN) per_model = PSEUDO_TRIALS_MIN;
    for (size_t i = 0; i < per_model * prediction->models; i++) {
        struct rue_question question = {.measure = RUE_JOINT, .scenario = i / per_model};
        struct rue_trial_result result = rue_trial_result_empty();
        question.config = (size_t)(fmod((double)i * golden, 1) * (double)prediction->configs);
        result.images = (int64_t)prediction->setup->job.images;
        double job_s = time_s[question.scenario * prediction->configs + question.config];
        if (!(job_s > 0)) continue;
        result.end_to_end_ns = (int64_t)(1e9 * job_s);
        rue_status status = rue_prediction_add(prediction, &question, &result, 0, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

rue_status rue_knowledge_from_jobs(const struct rue_strategy_setup *setup, const double *time_s,
                                   struct rue_knowledge **out, rue_error *error)
{
    struct rue_prediction *prediction;
    bool changed;
    rue_status status = rue_prediction_open(setup, &prediction, error);
    if (status != RUE_OK) return status;
    status = add_pseudo_trials(prediction, time_s, error);
    if (status == RUE_OK) status = rue_prediction_update(prediction, &changed, error);
    if (status == RUE_OK) status = rue_prediction_knowledge(prediction, out, error);
    rue_prediction_close(prediction);
    return status;
}
