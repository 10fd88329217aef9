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
static const double distrusted_sd = 1; /* of the logarithms of a loader's parameters that trials contradict */

/* What was predicted of a trial; the search asks the same again and again. */
struct answer {
    uint64_t images; /* 0: nothing was asked */
    size_t model, config;
    struct rue_speed speed;
    bool has_times, has_point;
    struct rue_pipeline_times times;
    struct rue_belief_point point;
};

struct rue_prediction {
    const struct rue_strategy_setup *setup;
    size_t models, configs, consumers;
    struct rue_trial_log logs[RUE_MEASURE_COUNT];
    struct rue_speed_history speeds;  /* of the machine */
    struct rue_compute_curve *curves; /* [consumers] measured, and what is believed of the other sizes */
    bool *joined;                     /* [consumers] a joint trial tells of it */
    bool trusts_prior;
    struct rue_pipeline_fit *fit;
    struct rue_pipeline_consumer hand; /* what the consumer's thread takes without a model */
    bool stale;                        /* trials tell anything new of loader and models */
    struct answer *answers; /* [answer_count], [models + 1][configs][ANSWERS]; where two fall into one place
                               the later one stays */
    size_t answer_count;
};

/* Without load trials, the joint ones tell of the loader. */
static bool is_by_joints(const struct rue_prediction *prediction)
{
    return prediction->logs[RUE_LOAD].count == 0;
}

static size_t consumer_of(const struct rue_prediction *prediction, size_t model, size_t config)
{
    return rue_consumer_of(model, &prediction->setup->grid.configs[config]);
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

/* Probes are kept as they would have been at the beginning, joint trials as they were. */
static void undo_speed(struct rue_logged_trial *trial, struct rue_speed speed)
{
    trial->times = scale_times(trial->times, exp(-speed.load));
    trial->consumer_s /= exp(speed.compute);
}

rue_status rue_prediction_add(struct rue_prediction *prediction, const struct rue_ask *ask,
                              const struct rue_trial_result *result, double seconds, rue_error *error)
{
    struct rue_logged_trial trial = rue_logged_trial_of(ask, result, seconds);
    bool compute = ask->measure == RUE_COMPUTE, joint = ask->measure == RUE_JOINT;
    if (compute ? !trial.batches || !(trial.consumer_s > 0)
                : !trial.images || !(trial.times.end_to_end_s > 0))
        return RUE_OK;
    trial.speed = rue_speed_history_at(&prediction->speeds, ask->trial);
    if (!joint) undo_speed(&trial, trial.speed);
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
    return prediction->curves[consumer].count > 0;
}

static bool has_times(const struct rue_prediction *prediction, size_t consumer)
{
    bool fitted = prediction->fit && consumer < prediction->fit->consumer_count;
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
    if (model == RUE_PREDICTION_NO_MODEL) return prediction->hand;
    size_t index = stand_in(prediction, model, config);
    bool fitted = prediction->fit && index < prediction->fit->consumer_count;
    if (!knows_consumer(prediction, index))
        return fitted ? prediction->fit->consumers[index] : prediction->hand;
    struct rue_pipeline_consumer consumer =
        rue_compute_curve_at(&prediction->curves[index], batch_of(prediction, config));
    consumer.batch_s += prediction->hand.batch_s;
    consumer.image_s += prediction->hand.image_s;
    consumer.is_model &= !is_by_joints(prediction); /* else no trial is of the loader alone */
    return consumer;
}

/* By how much an earlier study found the cell to differ from what the pipeline says. */
static double offset_at(const struct rue_prediction *prediction, size_t model, size_t config)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    if (model == RUE_PREDICTION_NO_MODEL || !prior || !prior->offsets) return 0;
    return prior->offsets[model * prediction->configs + config];
}

static struct rue_pipeline_sample sample_of(const struct rue_prediction *prediction,
                                            const struct rue_logged_trial *trial, bool joint)
{
    struct rue_pipeline_sample sample = {.config = prediction->setup->grid.configs[trial->config],
                                         .images = trial->images,
                                         .unknown = RUE_PIPELINE_KNOWN,
                                         .times = trial->times};
    if (joint) { /* without probes nothing tells loading and computing apart: both are slower alike */
        struct rue_logged_trial then = *trial;
        undo_speed(&then, trial->speed);
        sample.times = then.times;
    }
    size_t own = joint ? consumer_of(prediction, trial->model, trial->config) : 0;
    if (joint && !knows_consumer(prediction, own))
        sample.unknown = own;
    else
        sample.consumer =
            consumer_at(prediction, joint ? trial->model : RUE_PREDICTION_NO_MODEL, trial->config);
    if (joint)
        sample.times = scale_times(sample.times, exp(-offset_at(prediction, trial->model, trial->config)));
    return sample;
}

/* Of the logarithm of a time about what a prior says that holds. */
static const double prior_sd[RUE_MEASURE_COUNT] = {
    [RUE_JOINT] = 0.06, [RUE_LOAD] = 0.06, [RUE_COMPUTE] = 0.03};

static double curve_s(const struct rue_compute_curve *curve, int batch_size)
{
    struct rue_pipeline_consumer consumer = rue_compute_curve_at(curve, batch_size);
    return curve->count ? consumer.batch_s + batch_size * consumer.image_s : NAN;
}

/* The logarithm of measured over believed time; NaN where nothing is believed. */
static double off_prior_by(const struct rue_strategy_setup *setup, enum rue_measure measure,
                           const struct rue_logged_trial *trial)
{
    const struct rue_prior *prior = setup->known.prior;
    const struct rue_knowledge *knowledge = prior->knowledge;
    const struct rue_config *config = &setup->grid.configs[trial->config];
    size_t consumer = rue_consumer_of(trial->model, config),
           cell = trial->model * setup->grid.config_count + trial->config;
    if (measure == RUE_COMPUTE)
        return log(trial->consumer_s / (double)trial->batches /
                   curve_s(&knowledge->consumers[consumer].curve, (int)rue_trial_batch(config)));
    double took = log(trial->times.end_to_end_s);
    if (measure == RUE_JOINT)
        return took - log(rue_prior_job_s(prior, cell, trial->model, config, trial->images));
    return took - log(rue_pipeline_predict(&knowledge->loader, &knowledge->hand, config, trial->images)
                          .end_to_end_s);
}

/* Something may have disturbed a third of the trials; more, and the prior is of something else. */
static bool is_borne_out(const struct rue_strategy_setup *setup, enum rue_measure measure,
                         const struct rue_trial_log *log)
{
    size_t known = 0, wrong = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct rue_logged_trial *trial = &log->at[i];
        if (rue_speed_differs(trial->speed, (struct rue_speed){0, 0})) continue; /* the machine has changed */
        double off = off_prior_by(setup, measure, trial);
        known += !isnan(off);
        wrong += rue_disturbance_is_likely(off, prior_sd[measure]);
    }
    return wrong == 0 || 3 * wrong < known;
}

/* Whether trials bear out what an earlier study knew. */
static bool is_prior_trusted(const struct rue_strategy_setup *setup, const struct rue_trial_log *logs)
{
    /* Of the loader of another machine, or of other data, nothing is promised. */
    for (enum rue_measure m = setup->known.prior->same ? 0 : RUE_COMPUTE; m < RUE_MEASURE_COUNT; m++)
        if (!is_borne_out(setup, m, &logs[m])) return false;
    return true;
}

/* Whether the prior is believed depends on what was measured, and so do the curves. */
static void believe_trials(struct rue_prediction *prediction)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    const struct rue_trial_log *computes = &prediction->logs[RUE_COMPUTE];
    prediction->trusts_prior = prior && is_prior_trusted(prediction->setup, prediction->logs);
    memset(prediction->curves, 0, prediction->consumers * sizeof *prediction->curves);
    for (size_t i = 0; i < computes->count; i++) {
        const struct rue_logged_trial *trial = &computes->at[i];
        rue_compute_curve_add(&prediction->curves[consumer_of(prediction, trial->model, trial->config)],
                              batch_of(prediction, trial->config), trial->consumer_s / (double)trial->batches,
                              trial->cpu_ratio);
    }
    for (size_t c = 0; prediction->trusts_prior && c < prediction->consumers; c++)
        rue_compute_curve_believe(&prediction->curves[c], &prior->knowledge->consumers[c].curve);
    prediction->hand = prediction->logs[RUE_LOAD].count || !prior
                           ? rue_trial_log_hand(&prediction->logs[RUE_LOAD])
                           : prior->knowledge->hand;
}

void rue_prediction_shift(struct rue_prediction *prediction, size_t since, struct rue_speed change)
{
    rue_speed_history_add(&prediction->speeds, since, change);
    prediction->stale = true;
    for (int m = 0; m < RUE_MEASURE_COUNT; m++)
        for (size_t i = 0; i < prediction->logs[m].count; i++) {
            struct rue_logged_trial *trial = &prediction->logs[m].at[i];
            if (trial->trial < since) continue;
            trial->speed = rue_speed_sum(trial->speed, change);
            if (m != RUE_JOINT) undo_speed(trial, change);
        }
}

/* The prior of the fit; its consumers into `out_consumers` [consumers]. */
static struct rue_pipeline_prior prior_of(const struct rue_prediction *prediction,
                                          struct rue_pipeline_consumer *out_consumers)
{
    const struct rue_prior *prior = prediction->setup->known.prior;
    const struct rue_knowledge *knowledge = prior->knowledge;
    struct rue_pipeline_prior out = {.consumers = out_consumers};
    double sd = prediction->trusts_prior ? prior->widen_sd : distrusted_sd;
    memcpy(out.value, knowledge->loader.value, sizeof out.value);
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        out.sd[p] = sqrt(knowledge->covariance[p][p] + sd * sd);
    for (size_t c = 0; c < prediction->consumers; c++)
        out_consumers[c] = prediction->trusts_prior ? knowledge->consumers[c].consumer
                                                    : (struct rue_pipeline_consumer){NAN, NAN, 0, false};
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
                                                     .in_turn = prediction->setup->runner.in_turn,
                                                     .prior = has_prior ? &prior : NULL,
                                                     .start = many ? prediction->fit->found : NULL,
                                                     .stop = prediction->setup->stop};
        status = rue_pipeline_fit_open(&setup, &found, error);
    }
    free(consumers);
    free(samples);
    if (status != RUE_OK) return status;
    rue_pipeline_fit_close(prediction->fit);
    prediction->fit = found;
    return RUE_OK;
}

static struct rue_pipeline_times follow_pipeline(const struct rue_prediction *prediction,
                                                 const struct rue_pipeline_loader *loader,
                                                 struct rue_pipeline_consumer consumer, size_t config,
                                                 uint64_t images)
{
    return rue_pipeline_predict(loader, &consumer, &prediction->setup->grid.configs[config],
                                rue_setup_images(prediction->setup, config, images));
}

/* Where loading takes longer by a factor, all does but for the consumer. */
static struct rue_pipeline_times predict_times(const struct rue_prediction *prediction, size_t model,
                                               size_t config, uint64_t images, struct rue_speed speed)
{
    struct rue_pipeline_consumer consumer = consumer_at(prediction, model, config);
    double factor = exp(offset_at(prediction, model, config) + speed.load);
    consumer.batch_s *= exp(speed.compute - speed.load);
    consumer.image_s *= exp(speed.compute - speed.load);
    return scale_times(follow_pipeline(prediction, &prediction->fit->loader, consumer, config, images),
                       factor);
}

static struct answer *answer_of(const struct rue_prediction *prediction, size_t model, size_t config,
                                uint64_t images, struct rue_speed speed)
{
    size_t row = model == RUE_PREDICTION_NO_MODEL ? prediction->models : model;
    struct answer *answer =
        &prediction->answers[(row * prediction->configs + config) * ANSWERS + rue_mix64(images) % ANSWERS];
    if (answer->model != model || answer->config != config || answer->images != images ||
        rue_speed_differs(answer->speed, speed))
        *answer = (struct answer){images, model, config, speed, .has_times = false};
    return answer;
}

static struct rue_pipeline_times times_of(const struct rue_prediction *prediction, size_t model,
                                          size_t config, uint64_t images, struct rue_speed speed)
{
    struct answer *answer = answer_of(prediction, model, config, images, speed);
    if (!answer->has_times) answer->times = predict_times(prediction, model, config, images, speed);
    answer->has_times = true;
    return answer->times;
}

double rue_prediction_time_s(const struct rue_prediction *prediction, size_t model, size_t config,
                             uint64_t images, struct rue_speed speed)
{
    return prediction->fit ? times_of(prediction, model, config, images, speed).end_to_end_s : NAN;
}

double rue_prediction_first_batch_s(const struct rue_prediction *prediction, size_t model, size_t config)
{
    return times_of(prediction, model, config, prediction->setup->job.images, (struct rue_speed){0, 0})
        .first_batch_s;
}

double rue_prediction_trial_s(const struct rue_prediction *prediction, size_t model, size_t config,
                              uint64_t images)
{
    struct rue_speed now = rue_speed_history_at(&prediction->speeds, SIZE_MAX);
    return rue_prediction_time_s(prediction, model, config, images, now);
}

rue_status rue_prediction_update(struct rue_prediction *prediction, bool *changed, rue_error *error)
{
    bool trusted = prediction->trusts_prior;
    believe_trials(prediction);
    *changed = prediction->stale || prediction->trusts_prior != trusted || !prediction->fit;
    if (!*changed) return RUE_OK;
    memset(prediction->answers, 0, prediction->answer_count * sizeof *prediction->answers);
    rue_status status = fit_pipeline(prediction, error);
    prediction->stale = status != RUE_OK;
    return status;
}

/* How the logarithm of a time depends on those of the loader's parameters, and of the consumer's if it is
 * `unknown`: its batches take longer as a whole, and of that each part has its share. */
static void fill_slopes(const struct rue_prediction *prediction, const struct rue_pipeline_times *base,
                        const struct rue_pipeline_consumer *consumer, bool unknown, size_t config,
                        uint64_t images, double slopes[RUE_BELIEF_SLOPES])
{
    const struct rue_pipeline_loader *loader = &prediction->fit->loader;
    const struct rue_config *own = &prediction->setup->grid.configs[config];
    for (size_t p = 0; p < RUE_BELIEF_OF_LOADER; p++) {
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
    slopes[RUE_BELIEF_OF_LOADER] = slope * (1 - images_share);
    slopes[RUE_BELIEF_OF_LOADER + 1] = slope * images_share;
}

static double clip_share(double share)
{
    return fmax(0, fmin(1, share));
}

/* Of its own consumer at that batch size; NULL where it is not known. */
static const struct rue_compute_point *compute_point(const struct rue_prediction *prediction, size_t model,
                                                     size_t config)
{
    return rue_compute_curve_find(&prediction->curves[consumer_of(prediction, model, config)],
                                  batch_of(prediction, config));
}

/* Slopes are NaN without memory. */
static struct rue_belief_point make_point(const struct rue_prediction *prediction, size_t model,
                                          size_t config, uint64_t images)
{
    size_t index = stand_in(prediction, model, config);
    struct rue_pipeline_consumer consumer = consumer_at(prediction, model, config);
    struct rue_pipeline_times base =
        scale_times(times_of(prediction, model, config, images, (struct rue_speed){0, 0}),
                    exp(-offset_at(prediction, model, config)));
    struct rue_belief_point point = {.place = {.model = model, .config = config}, .consumer = index};
    bool unknown = index < prediction->fit->consumer_count && !knows_consumer(prediction, index);
    images = rue_setup_images(prediction->setup, config, images);
    fill_slopes(prediction, &base, &consumer, unknown, config, images, point.slopes);
    double batches = ceil((double)images / batch_of(prediction, config)),
           compute_s = batches * consumer.batch_s + (double)images * consumer.image_s;
    const struct rue_compute_point *known = compute_point(prediction, model, config);
    double *amplitude = point.place.amplitude;
    amplitude[RUE_AMPLITUDE_ONE] = 1;
    amplitude[RUE_AMPLITUDE_LOAD] =
        clip_share(point.slopes[RUE_PIPELINE_batch_s] + point.slopes[RUE_PIPELINE_item_s]);
    amplitude[RUE_AMPLITUDE_FIRST] = clip_share(base.first_batch_s / base.end_to_end_s);
    amplitude[RUE_AMPLITUDE_COMPUTE] =
        clip_share(compute_s / base.end_to_end_s) * (known && known->trials > 0 ? 1 : not_measured_factor);
    return point;
}

struct rue_belief_point rue_prediction_point(const struct rue_prediction *prediction, size_t model,
                                             size_t config, uint64_t images)
{
    struct answer *answer = answer_of(prediction, model, config, images, (struct rue_speed){0, 0});
    if (!answer->has_point) answer->point = make_point(prediction, model, config, images);
    answer->has_point = true;
    return answer->point;
}

/* ---- what is known ---- */

const struct rue_trial_log *rue_prediction_joints(const struct rue_prediction *prediction)
{
    return &prediction->logs[RUE_JOINT];
}

bool rue_prediction_knows_compute(const struct rue_prediction *prediction, size_t model, size_t config)
{
    return compute_point(prediction, model, config);
}

void rue_prediction_parameters(const struct rue_prediction *prediction, struct rue_belief_setup *out)
{
    const struct rue_pipeline_fit *fit = prediction->fit;
    out->parameter_count = fit->count;
    out->covariance = is_by_joints(prediction) ? fit->prior_covariance : fit->covariance;
}

bool rue_prediction_move(struct rue_prediction *prediction, const double *log_step)
{
    if (is_by_joints(prediction)) return false;
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        prediction->fit->loader.value[p] *= exp(log_step[p]);
    memset(prediction->answers, 0, prediction->answer_count * sizeof *prediction->answers);
    return true;
}

bool rue_prediction_trusts_prior(const struct rue_prediction *prediction)
{
    return prediction->trusts_prior;
}

rue_status rue_prediction_learned(const struct rue_prediction *prediction, struct rue_knowledge **out,
                                  rue_error *error)
{
    *out = NULL;
    const struct rue_pipeline_fit *fit = prediction->fit;
    if (!fit) return RUE_OK;
    struct rue_knowledge *knowledge;
    rue_status status = rue_knowledge_open(prediction->models, &knowledge, error);
    if (status != RUE_OK) return status;
    knowledge->loader = fit->loader;
    knowledge->hand = prediction->hand;
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        memcpy(knowledge->covariance[p], fit->covariance + p * fit->count, sizeof knowledge->covariance[p]);
    for (size_t c = 0; c < prediction->consumers; c++) {
        struct rue_knowledge_model *known = &knowledge->consumers[c];
        known->curve = prediction->curves[c];
        if (!knows_consumer(prediction, c) && c < fit->consumer_count && prediction->joined[c])
            known->consumer = fit->consumers[c];
    }
    *out = knowledge;
    return RUE_OK;
}

/* ---- life ---- */

void rue_prediction_close(struct rue_prediction *prediction)
{
    if (!prediction) return;
    rue_pipeline_fit_close(prediction->fit);
    for (int m = 0; m < RUE_MEASURE_COUNT; m++) free(prediction->logs[m].at);
    free(prediction->curves);
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
    prediction->curves = calloc(prediction->consumers, sizeof *prediction->curves);
    prediction->joined = calloc(prediction->consumers, sizeof *prediction->joined);
    prediction->answer_count = (prediction->models + 1) * prediction->configs * ANSWERS;
    prediction->answers = calloc(prediction->answer_count, sizeof *prediction->answers);
    if (!prediction->curves || !prediction->joined || !prediction->answers) {
        rue_status status =
            rue_fail_memory(error, "a prediction", prediction->answer_count * sizeof(struct answer));
        return rue_prediction_close(prediction), status;
    }
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
        struct rue_ask ask = {.measure = RUE_JOINT, .scenario = i / each};
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

rue_status rue_prediction_learn_jobs(const struct rue_strategy_setup *setup, const double *time_s,
                                     struct rue_knowledge **out, rue_error *error)
{
    struct rue_prediction *prediction;
    bool changed;
    rue_status status = rue_prediction_open(setup, &prediction, error);
    if (status != RUE_OK) return status;
    status = add_jobs(prediction, time_s, error);
    if (status == RUE_OK) status = rue_prediction_update(prediction, &changed, error);
    if (status == RUE_OK) status = rue_prediction_learned(prediction, out, error);
    rue_prediction_close(prediction);
    return status;
}
