#include "knowledge.h"

#include <math.h>
#include <stdlib.h>

#include "trial_shape.h"

static const struct rue_pipeline_consumer unknown = {NAN, NAN, 0, false};

rue_status rue_knowledge_open(size_t model_count, struct rue_knowledge **out, rue_error *error)
{
    struct rue_knowledge *knowledge = calloc(1, sizeof *knowledge);
    if (knowledge) knowledge->consumers = calloc(2 * model_count + 1, sizeof *knowledge->consumers);
    if (!knowledge || !knowledge->consumers) {
        rue_knowledge_close(knowledge);
        return rue_fail_memory(error, "knowledge", 2 * model_count * sizeof *knowledge->consumers);
    }
    knowledge->model_count = model_count;
    for (size_t i = 0; i < 2 * model_count; i++) knowledge->consumers[i].consumer = unknown;
    *out = knowledge;
    return RUE_OK;
}

void rue_knowledge_close(struct rue_knowledge *knowledge)
{
    if (!knowledge) return;
    free(knowledge->consumers);
    free(knowledge);
}

double rue_knowledge_job_s(const struct rue_knowledge *knowledge, size_t model,
                           const struct rue_config *config, uint64_t images)
{
    const struct rue_knowledge_model *known = &knowledge->consumers[rue_consumer_of(model, config)];
    struct rue_pipeline_consumer consumer = known->consumer;
    if (known->curve.count) {
        consumer = rue_compute_curve_at(&known->curve, (int)rue_trial_batch(config));
        consumer.batch_s += knowledge->hand.batch_s;
        consumer.image_s += knowledge->hand.image_s;
    }
    if (isnan(consumer.batch_s)) return NAN;
    return rue_pipeline_predict(&knowledge->loader, &consumer, config, images).end_to_end_s;
}

double rue_prior_job_s(const struct rue_prior *prior, size_t cell, size_t model,
                       const struct rue_config *config, uint64_t images)
{
    return exp(prior->offsets ? prior->offsets[cell] : 0) *
           rue_knowledge_job_s(prior->knowledge, model, config, images);
}
