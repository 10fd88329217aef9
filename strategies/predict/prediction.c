#include "prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "disturbance.h"
#include "job_time.h"
#include "knowledge.h"
#include "pipeline_fit.h"
#include "random.h"

/* ANSWERS: of a cell that are kept. JOBS: that are looked at, of each model at least so many.
 * MANY_OF_MODEL: joint trials, on average, where a fit to them is a good start of the next one. */
enum { ANSWERS = 4, JOBS = 40, JOBS_OF_MODEL = 4, MANY_OF_MODEL = 3 };

static const double step = 0.1; /* of a logarithm, for derivatives: what is a little further counts, too */
static const double not_measured_factor = 3; /* for what is not known of computing batches of other sizes */

/* What was predicted of a trial; the search asks the same again and again. */
struct rue_cached_prediction {
    uint64_t images; /* 0: nothing was asked */
    size_t model, config;
    struct rue_speed speed;
    bool has_point;
    struct rue_pipeline_times times;
    struct rue_posterior_point point;
};

/* Without load trials, the joint ones tell of the loader. */
static bool is_by_joints(const struct rue_prediction *prediction)
{
    return prediction->logs[RUE_LOAD].count == 0;
}

static size_t consumer_of(const struct rue_prediction *prediction, size_t model, size_t config)
{
    return rue_consumer_index(model, &prediction->setup->grid.configs[config]);
}

static int batch_of(const struct rue_prediction *prediction, size_t config)
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

/* The trial as it would have been at the beginning. */
static struct rue_logged_trial trial_then(const struct rue_prediction *prediction,
                                          const struct rue_logged_trial *trial)
{
    struct rue_speed speed = rue_prediction_speed(prediction, trial);
    struct rue_logged_trial then = *trial;
    then.times = scale_times(then.times, exp(-speed.load));
    then.consumer_s /= exp(speed.compute);
    return then;
}

static double seconds_of(int64_t ns)
{
    return ns == RUE_ABSENT ? NAN : (double)ns / 1e9;
}

static struct rue_logged_trial logged_trial(const struct rue_question *ask,
                                            const struct rue_trial_result *result, double seconds)
{
    double shutdown_s = seconds_of(result->shutdown_ns);
    return (struct rue_logged_trial){.model = ask->scenario,
                                     .config = ask->config,
                                     .images = result->images > 0 ? (uint64_t)result->images : 0,
                                     .batches = result->batches > 0 ? (uint64_t)result->batches : 0,
                                     .times = {.first_batch_s = seconds_of(result->first_batch_ns),
                                               .end_to_end_s = seconds_of(result->end_to_end_ns),
                                               .shutdown_s = isnan(shutdown_s) ? 0 : shutdown_s},
                                     .consumer_s = seconds_of(result->compute_ns),
                                     .cpu_ratio = result->cpu_ratio,
                                     .seconds = seconds,
                                     .trial = ask->trial};
}

rue_status rue_prediction_add(struct rue_prediction *prediction, const struct rue_question *ask,
                              const struct rue_trial_result *result, double seconds, rue_error *error)
{
    struct rue_logged_trial trial = logged_trial(ask, result, seconds);
    bool compute = ask->measure == RUE_COMPUTE, joint = ask->measure == RUE_JOINT;
    if (compute ? !trial.batches || !(trial.consumer_s > 0)
                : !trial.images || !(trial.times.end_to_end_s > 0))
        return RUE_OK;
    prediction->stale |= !joint || is_by_joints(prediction);
    if (joint) prediction->joined[consumer_of(prediction, trial.model, trial.config)] = true;
    struct rue_trial_log *log = &prediction->logs[ask->measure];
    rue_status status =
        rue_array_grow(&log->at, &log->capacity, log->count + 1, sizeof *log->at, "trials", error);
    if (status == RUE_OK) log->at[log->count++] = trial;
    return status;
}

static bool knows_consumer(const struct rue_prediction *prediction, size_t consumer)
{
    return prediction->known->consumers[consumer].curve.count > 0;
}

static bool has_times(const struct rue_prediction *prediction, size_t consumer)
{
    bool fitted = !isnan(prediction->known->consumers[consumer].consumer.batch_s);
    return knows_consumer(prediction, consumer) || (fitted && prediction->joined[consumer]);
}

/* The model's own consumer for that configuration; as long as no trial tells of it, the other one stands in.
 */
static size_t stand_in(const struct rue_prediction *prediction, size_t model, size_t config)
{
    size_t own = consumer_of(prediction, model, config), other = own ^ 1;
    return has_times(prediction, own) || !has_times(prediction, other) ? own : other;
}

static struct rue_pipeline_consumer consumer_at(const struct rue_prediction *prediction, size_t model,
                                                size_t config)
{
    const struct rue_knowledge *known = prediction->known;
    if (model == RUE_PREDICTION_NO_MODEL) return known->hand_over;
    size_t index = stand_in(prediction, model, config);
    struct rue_pipeline_consumer consumer =
        rue_knowledge_consumer(known, index, batch_of(prediction, config));
    consumer.is_model &= !is_by_joints(prediction); /* else no trial is of the loader alone */
    return isnan(consumer.batch_s) ? known->hand_over : consumer;
}

/* By how much an earlier study found the cell to differ from what the pipeline says. */
static double offset_at(const struct rue_prediction *prediction, size_t model, size_t config)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    if (model == RUE_PREDICTION_NO_MODEL || !prior || !prior->offsets) return 0;
    return prior->offsets[model * prediction->configs + config];
}

/* Without probes nothing tells loading and computing apart: where the machine has changed, both have alike.
 */
static struct rue_pipeline_sample sample_of(const struct rue_prediction *prediction,
                                            const struct rue_logged_trial *trial, bool joint)
{
    size_t own = joint ? consumer_of(prediction, trial->model, trial->config) : 0,
           model = joint ? trial->model : RUE_PREDICTION_NO_MODEL;
    struct rue_pipeline_times times = trial_then(prediction, trial).times;
    return (struct rue_pipeline_sample){
        .config = prediction->setup->grid.configs[trial->config],
        .images = trial->images,
        .consumer = consumer_at(prediction, model, trial->config),
        .unknown_consumer = joint && !knows_consumer(prediction, own) ? own : RUE_PIPELINE_KNOWN,
        .times = scale_times(times, exp(-offset_at(prediction, model, trial->config)))};
}

/* What the consumer's thread takes without a model: least squares of consumer_s = batches * batch_s + images
 * * image_s over load trials; neither below 0. */
static struct rue_pipeline_consumer find_hand(const struct rue_prediction *prediction)
{
    const struct rue_trial_log *loads = &prediction->logs[RUE_LOAD];
    double bb = 0, bi = 0, ii = 0, by = 0, iy = 0;
    for (size_t i = 0; i < loads->count; i++) {
        const struct rue_logged_trial trial = trial_then(prediction, &loads->at[i]);
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

/* What an earlier study knew of a model stands in for trials. */
static void believe_trials(struct rue_prediction *prediction)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    const struct rue_trial_log *computes = &prediction->logs[RUE_COMPUTE];
    struct rue_knowledge *known = prediction->known;
    for (size_t c = 0; c < prediction->consumers; c++)
        known->consumers[c].curve = (struct rue_compute_curve){.count = 0};
    for (size_t i = 0; i < computes->count; i++) {
        const struct rue_logged_trial trial = trial_then(prediction, &computes->at[i]);
        rue_compute_curve_add(&known->consumers[consumer_of(prediction, trial.model, trial.config)].curve,
                              batch_of(prediction, trial.config), trial.consumer_s / (double)trial.batches,
                              trial.cpu_ratio);
    }
    for (size_t c = 0; prior && c < prediction->consumers; c++)
        rue_compute_curve_add_prior(&known->consumers[c].curve, &prior->knowledge->consumers[c].curve);
    known->hand_over =
        prediction->logs[RUE_LOAD].count || !prior ? find_hand(prediction) : prior->knowledge->hand_over;
}

void rue_prediction_add_speed_change(struct rue_prediction *prediction, size_t since, struct rue_speed change)
{
    rue_speed_history_add(&prediction->speeds, since, change);
    prediction->stale = true;
}

/* The prior of the fit; its consumers into `out_consumers` [consumers]. */
static struct rue_pipeline_prior prior_of(const struct rue_prediction *prediction,
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
    bool by_joints = is_by_joints(prediction);
    const struct rue_trial_log *from = by_joints ? &prediction->logs[RUE_JOINT] : &prediction->logs[RUE_LOAD];
    struct rue_pipeline_sample *samples = calloc(from->count + 1, sizeof *samples);
    size_t consumer_count = prediction->consumers;
    struct rue_pipeline_consumer *consumers = calloc(consumer_count, sizeof *consumers);
    struct rue_pipeline_fit *found = NULL;
    rue_status status =
        samples && consumers ? RUE_OK : rue_fail_memory(error, "samples", from->count * sizeof *samples);
    if (status == RUE_OK) {
        bool has_prior = prediction->setup->known.prior;
        struct rue_pipeline_prior prior = {0};
        if (has_prior) prior = prior_of(prediction, consumers);
        for (size_t i = 0; i < from->count; i++) samples[i] = sample_of(prediction, &from->at[i], by_joints);
        bool many = by_joints && prediction->fit && from->count > MANY_OF_MODEL * prediction->models;
        const struct rue_pipeline_fit_setup setup = {.samples = samples,
                                                     .sample_count = from->count,
                                                     .consumer_count = by_joints ? consumer_count : 0,
                                                     .cpus = prediction->setup->runner.cpus,
                                                     .round_robin = prediction->setup->runner.round_robin,
                                                     .prior = has_prior ? &prior : NULL,
                                                     .start = many ? prediction->fit->estimate : NULL,
                                                     .stop = prediction->setup->stop};
        status = rue_pipeline_fit_open(&setup, &found, error);
    }
    free(consumers);
    free(samples);
    if (status != RUE_OK) return status;
    rue_pipeline_fit_close(prediction->fit);
    prediction->fit = found;
    prediction->known->loader = found->loader;
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        memcpy(prediction->known->covariance[p], found->covariance + p * found->count,
               sizeof prediction->known->covariance[p]);
    for (size_t c = 0; c < found->consumer_count; c++)
        prediction->known->consumers[c].consumer = found->consumers[c];
    return RUE_OK;
}

/* Where loading takes longer by a factor, all does but for the consumer. */
static struct rue_pipeline_times predict_times(const struct rue_prediction *prediction, size_t model,
                                               size_t config, uint64_t images, struct rue_speed speed)
{
    struct rue_pipeline_consumer consumer = consumer_at(prediction, model, config);
    double factor = exp(offset_at(prediction, model, config) + speed.load);
    consumer.batch_s *= exp(speed.compute - speed.load);
    consumer.image_s *= exp(speed.compute - speed.load);
    return scale_times(rue_pipeline_predict(&prediction->known->loader, &consumer,
                                            &prediction->setup->grid.configs[config],
                                            rue_setup_images(prediction->setup, config, images)),
                       factor);
}

static struct rue_cached_prediction *answer_of(const struct rue_prediction *prediction, size_t model,
                                               size_t config, uint64_t images, struct rue_speed speed)
{
    size_t row = model == RUE_PREDICTION_NO_MODEL ? prediction->models : model;
    struct rue_cached_prediction *answer =
        &prediction->answers[(row * prediction->configs + config) * ANSWERS + rue_mix64(images) % ANSWERS];
    if (answer->model != model || answer->config != config || answer->images != images ||
        rue_speed_differs(answer->speed, speed))
        *answer =
            (struct rue_cached_prediction){.images = images,
                                           .model = model,
                                           .config = config,
                                           .speed = speed,
                                           .times = predict_times(prediction, model, config, images, speed)};
    return answer;
}

double rue_prediction_time_s(const struct rue_prediction *prediction, size_t model, size_t config,
                             uint64_t images, struct rue_speed speed)
{
    return prediction->fit ? answer_of(prediction, model, config, images, speed)->times.end_to_end_s : NAN;
}

double rue_prediction_first_batch_s(const struct rue_prediction *prediction, size_t model, size_t config)
{
    return answer_of(prediction, model, config, prediction->setup->job.images, (struct rue_speed){0, 0})
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
    believe_trials(prediction);
    memset(prediction->answers, 0, prediction->answer_count * sizeof *prediction->answers);
    rue_status status = fit_pipeline(prediction, error);
    prediction->stale = status != RUE_OK;
    return status;
}

/* How the logarithm of a time depends on those of the loader's parameters, and of the consumer's if it is
 * `unknown`: its batches take longer as a whole, and of that each part has its share. */
static void fill_slopes(const struct rue_prediction *prediction, const struct rue_pipeline_times *base,
                        const struct rue_pipeline_consumer *consumer, bool unknown, size_t config,
                        uint64_t images, double slopes[RUE_POSTERIOR_SLOPES])
{
    const struct rue_pipeline_loader *loader = &prediction->known->loader;
    const struct rue_config *own = &prediction->setup->grid.configs[config];
    for (size_t p = 0; p < RUE_LOADER_SLOPES; p++) {
        struct rue_pipeline_loader moved = *loader;
        moved.value[p] *= exp(step);
        slopes[p] =
            log(rue_pipeline_predict(&moved, consumer, own, images).end_to_end_s / base->end_to_end_s) / step;
    }
    if (!unknown) return;
    struct rue_pipeline_consumer slower = *consumer;
    slower.batch_s *= exp(step);
    slower.image_s *= exp(step);
    double slope =
        log(rue_pipeline_predict(loader, &slower, own, images).end_to_end_s / base->end_to_end_s) / step;
    double images_share = 1 / (1 + consumer->batch_s / (consumer->image_s * batch_of(prediction, config)));
    slopes[RUE_LOADER_SLOPES] = slope * (1 - images_share);
    slopes[RUE_LOADER_SLOPES + 1] = slope * images_share;
}

static double clip_share(double share)
{
    return fmax(0, fmin(1, share));
}

/* Slopes are NaN without memory. */
static struct rue_posterior_point make_point(const struct rue_prediction *prediction, size_t model,
                                             size_t config, uint64_t images)
{
    size_t index = stand_in(prediction, model, config);
    struct rue_pipeline_consumer consumer = consumer_at(prediction, model, config);
    struct rue_pipeline_times base =
        scale_times(answer_of(prediction, model, config, images, (struct rue_speed){0, 0})->times,
                    exp(-offset_at(prediction, model, config)));
    struct rue_posterior_point point = {.site = {.model = model, .config = config}, .consumer = index};
    bool unknown = index < prediction->fit->consumer_count && !knows_consumer(prediction, index);
    images = rue_setup_images(prediction->setup, config, images);
    fill_slopes(prediction, &base, &consumer, unknown, config, images, point.slopes);
    double batches = ceil((double)images / batch_of(prediction, config)),
           compute_s = batches * consumer.batch_s + (double)images * consumer.image_s;
    size_t own = consumer_of(prediction, model, config);
    const struct rue_compute_point *known =
        rue_compute_curve_find(&prediction->known->consumers[own].curve, batch_of(prediction, config));
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
    struct rue_cached_prediction *answer =
        answer_of(prediction, model, config, images, (struct rue_speed){0, 0});
    if (!answer->has_point) answer->point = make_point(prediction, model, config, images);
    answer->has_point = true;
    return answer->point;
}

/* ---- what is known ---- */

bool rue_prediction_move_parameters(struct rue_prediction *prediction, const double *log_step)
{
    if (is_by_joints(prediction)) return false;
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        prediction->known->loader.value[p] *= exp(log_step[p]);
    memset(prediction->answers, 0, prediction->answer_count * sizeof *prediction->answers);
    return true;
}

rue_status rue_prediction_knowledge(const struct rue_prediction *prediction, struct rue_knowledge **out,
                                    rue_error *error)
{
    *out = NULL;
    if (!prediction->fit) return RUE_OK;
    struct rue_knowledge *learned;
    rue_status status = rue_knowledge_open(prediction->models, &learned, error);
    if (status != RUE_OK) return status;
    struct rue_knowledge_model *consumers = learned->consumers;
    *learned = *prediction->known;
    learned->consumers = consumers;
    for (size_t c = 0; c < prediction->consumers; c++) {
        bool told = !knows_consumer(prediction, c) && prediction->joined[c];
        consumers[c].curve = prediction->known->consumers[c].curve;
        if (told) consumers[c].consumer = prediction->known->consumers[c].consumer;
    }
    *out = learned;
    return RUE_OK;
}

/* ---- life ---- */

void rue_prediction_close(struct rue_prediction *prediction)
{
    if (!prediction) return;
    rue_pipeline_fit_close(prediction->fit);
    for (int m = 0; m < RUE_MEASURE_COUNT; m++) free(prediction->logs[m].at);
    rue_knowledge_close(prediction->known);
    free(prediction->joined);
    free(prediction->answers);
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
    prediction->joined = calloc(prediction->consumers, sizeof *prediction->joined);
    prediction->answer_count = (prediction->models + 1) * prediction->configs * ANSWERS;
    prediction->answers = calloc(prediction->answer_count, sizeof *prediction->answers);
    rue_status status = rue_knowledge_open(prediction->models, &prediction->known, error);
    if (status == RUE_OK && (!prediction->joined || !prediction->answers))
        status =
            rue_fail_memory(error, "a prediction", prediction->answer_count * sizeof *prediction->answers);
    if (status != RUE_OK) return rue_prediction_close(prediction), status;
    *out = prediction;
    return RUE_OK;
}

/* As joint trials would tell them. */
static rue_status add_jobs(struct rue_prediction *prediction, const double *time_s, rue_error *error)
{
    static const double golden = 0.6180339887498949;
    size_t each = JOBS / prediction->models;
    if (each < JOBS_OF_MODEL) each = JOBS_OF_MODEL;
    for (size_t i = 0; i < each * prediction->models; i++) {
        struct rue_question ask = {.measure = RUE_JOINT, .scenario = i / each};
        struct rue_trial_result result = rue_trial_result_empty();
        ask.config = (size_t)(fmod((double)i * golden, 1) * (double)prediction->configs);
        result.images = (int64_t)prediction->setup->job.images;
        double job_s = time_s[ask.scenario * prediction->configs + ask.config];
        if (!(job_s > 0)) continue;
        result.end_to_end_ns = (int64_t)(1e9 * job_s);
        rue_status status = rue_prediction_add(prediction, &ask, &result, 0, error);
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
    status = add_jobs(prediction, time_s, error);
    if (status == RUE_OK) status = rue_prediction_update(prediction, &changed, error);
    if (status == RUE_OK) status = rue_prediction_knowledge(prediction, out, error);
    rue_prediction_close(prediction);
    return status;
}
