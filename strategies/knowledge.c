#include "knowledge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline_fit.h"

enum { SAMPLES = 40, SAMPLES_OF_MODEL = 4 };

static const struct rue_pipeline_consumer unknown = {NAN, NAN, 0, false};

rue_status rue_knowledge_open(size_t model_count, struct rue_knowledge **out, rue_error *error)
{
    struct rue_knowledge *knowledge = calloc(1, sizeof *knowledge);
    if (knowledge) knowledge->models = calloc(model_count + 1, sizeof *knowledge->models);
    if (knowledge) knowledge->pageable = calloc(model_count + 1, sizeof *knowledge->pageable);
    if (!knowledge || !knowledge->models || !knowledge->pageable) {
        rue_knowledge_close(knowledge);
        return rue_fail_memory(error, "knowledge", model_count * sizeof *knowledge->models);
    }
    knowledge->model_count = model_count;
    for (size_t m = 0; m < model_count; m++)
        knowledge->models[m].consumer = knowledge->pageable[m].consumer = unknown;
    *out = knowledge;
    return RUE_OK;
}

void rue_knowledge_close(struct rue_knowledge *knowledge)
{
    if (!knowledge) return;
    free(knowledge->models);
    free(knowledge->pageable);
    free(knowledge);
}

struct rue_knowledge_model *rue_knowledge_of(const struct rue_knowledge *knowledge,
                                             const struct rue_consumers *consumers, size_t consumer)
{
    size_t model = consumer / consumers->of_model;
    bool pinned = consumers->pinned && consumer % consumers->of_model == 0;
    return pinned ? &knowledge->models[model] : &knowledge->pageable[model];
}

double rue_knowledge_job_s(const struct rue_knowledge *knowledge, size_t model,
                           const struct rue_config *config, uint64_t images)
{
    const struct rue_knowledge_model *known =
        rue_consumers_pins(config) ? &knowledge->models[model] : &knowledge->pageable[model];
    struct rue_pipeline_consumer consumer = known->consumer;
    if (known->curve.count) {
        consumer = rue_compute_curve_at(&known->curve, config->value[RUE_BATCH_SIZE]);
        consumer.batch_s += knowledge->hand.batch_s;
        consumer.image_s += knowledge->hand.image_s;
    }
    if (isnan(consumer.batch_s)) return NAN;
    return rue_pipeline_predict(&knowledge->loader, &consumer, config, images).end_to_end_s;
}

/* Cells all over the space, alike many of each model. */
static size_t choose_samples(const struct rue_knowledge_times *times, const struct rue_consumers *consumers,
                             struct rue_pipeline_sample *out)
{
    static const double golden = 0.6180339887498949;
    size_t count = 0, each = SAMPLES / times->model_count;
    if (each < SAMPLES_OF_MODEL) each = SAMPLES_OF_MODEL;
    for (size_t i = 0; i < each * times->model_count; i++) {
        size_t model = i / each, config = (size_t)(fmod((double)i * golden, 1) * (double)times->config_count);
        double time_s = times->time_s[model * times->config_count + config];
        if (!(time_s > 0)) continue;
        out[count++] = (struct rue_pipeline_sample){
            .config = times->configs[config],
            .images = times->job_images,
            .unknown = rue_consumers_find(consumers, model, &times->configs[config]),
            .times = {.first_batch_s = NAN, .end_to_end_s = time_s, .shutdown_s = NAN}};
    }
    return count;
}

static void fill(const struct rue_pipeline_fit *fit, const struct rue_pipeline_sample *samples, size_t count,
                 const struct rue_consumers *consumers, struct rue_knowledge *out)
{
    out->loader = fit->loader;
    for (size_t s = 0; s < count; s++) {
        size_t consumer = samples[s].unknown;
        rue_knowledge_of(out, consumers, consumer)->consumer = fit->consumers[consumer];
    }
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        memcpy(out->covariance[p], fit->covariance + p * fit->count, sizeof out->covariance[p]);
}

rue_status rue_knowledge_fit(const struct rue_knowledge_times *times, struct rue_knowledge **out,
                             rue_error *error)
{
    size_t most = SAMPLES + SAMPLES_OF_MODEL * times->model_count, count = 0;
    struct rue_pipeline_sample *samples = calloc(most, sizeof *samples);
    struct rue_consumers consumers =
        rue_consumers_of(times->model_count, times->configs, times->config_count);
    struct rue_pipeline_fit *fit = NULL;
    struct rue_knowledge *knowledge = NULL;
    rue_status status = samples ? rue_knowledge_open(times->model_count, &knowledge, error)
                                : rue_fail_memory(error, "samples", most * sizeof *samples);
    if (status == RUE_OK) {
        count = choose_samples(times, &consumers, samples);
        const struct rue_pipeline_fit_setup setup = {.samples = samples,
                                                     .sample_count = count,
                                                     .consumer_count = consumers.count,
                                                     .cpus = times->cpus,
                                                     .in_turn = times->in_turn,
                                                     .stop = times->stop};
        status = rue_pipeline_fit_open(&setup, &fit, error);
    }
    if (status == RUE_OK) {
        fill(fit, samples, count, &consumers, knowledge);
        *out = knowledge;
    } else {
        rue_knowledge_close(knowledge);
    }
    rue_pipeline_fit_close(fit);
    free(samples);
    return status;
}
