#include "knowledge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"

/* The point of that size, inserted if there is none; NULL if the curve is full. */
static struct rue_compute_point *find_or_insert_point(struct rue_compute_curve *curve, int batch_size)
{
    size_t at = 0;
    while (at < curve->count && curve->points[at].batch_size < batch_size) at++;
    struct rue_compute_point *point = &curve->points[at];
    if (at < curve->count && point->batch_size == batch_size) return point;
    if (curve->count == RUE_COMPUTE_CURVE_MAX) return NULL;
    memmove(point + 1, point, (curve->count++ - at) * sizeof *point);
    *point = (struct rue_compute_point){.batch_size = batch_size};
    return point;
}

void rue_compute_curve_add(struct rue_compute_curve *curve, int batch_size, double batch_s, double cpu_ratio)
{
    if (cpu_ratio >= 0) curve->cpu_ratio += (cpu_ratio - curve->cpu_ratio) / ++curve->trials;
    struct rue_compute_point *point = find_or_insert_point(curve, batch_size);
    if (point) point->batch_s += (batch_s - point->batch_s) / ++point->trials;
}

void rue_compute_curve_add_prior(struct rue_compute_curve *curve, const struct rue_compute_curve *prior)
{
    double measured_s = 0, prior_s = 0;
    if (curve->trials == 0) curve->cpu_ratio = prior->cpu_ratio;
    for (size_t i = 0; i < curve->count; i++) {
        if (curve->points[i].trials == 0) continue;
        struct rue_pipeline_consumer consumer = rue_compute_curve_at(prior, curve->points[i].batch_size);
        measured_s += curve->points[i].batch_s;
        prior_s += consumer.batch_s + curve->points[i].batch_size * consumer.image_s;
    }
    double factor = prior_s > 0 && measured_s > 0 ? measured_s / prior_s : 1;
    for (size_t i = 0; i < prior->count; i++) {
        struct rue_compute_point *point = find_or_insert_point(curve, prior->points[i].batch_size);
        if (point && point->trials == 0) point->batch_s = factor * prior->points[i].batch_s;
    }
}

const struct rue_compute_point *rue_compute_curve_find(const struct rue_compute_curve *curve, int batch_size)
{
    for (size_t i = 0; i < curve->count; i++)
        if (curve->points[i].batch_size == batch_size) return &curve->points[i];
    return NULL;
}

struct rue_pipeline_consumer rue_compute_curve_at(const struct rue_compute_curve *curve, int batch_size)
{
    const struct rue_compute_point *points = curve->points;
    if (curve->count == 0) return (struct rue_pipeline_consumer){0};
    if (curve->count == 1)
        return (struct rue_pipeline_consumer){0, points[0].batch_s / points[0].batch_size, curve->cpu_ratio,
                                              true};
    size_t upper = 1;
    while (upper + 1 < curve->count && points[upper].batch_size < batch_size) upper++;
    const struct rue_compute_point *left = &points[upper - 1], *right = &points[upper];
    double image_s = fmax(0, (right->batch_s - left->batch_s) / (right->batch_size - left->batch_size));
    double batch_s = fmax(0, left->batch_s + image_s * (batch_size - left->batch_size));
    /* A line with a negative intercept is replaced by one through the origin. */
    if (batch_s < image_s * batch_size) image_s = batch_s / batch_size;
    return (struct rue_pipeline_consumer){fmax(0, batch_s - image_s * batch_size), image_s, curve->cpu_ratio,
                                          true};
}

static const struct rue_pipeline_consumer unknown_consumer = {NAN, NAN, 0, false};

rue_status rue_knowledge_open(size_t model_count, struct rue_knowledge **out, rue_error *error)
{
    struct rue_knowledge *knowledge = calloc(1, sizeof *knowledge);
    if (knowledge) knowledge->consumers = calloc(2 * model_count + 1, sizeof *knowledge->consumers);
    if (!knowledge || !knowledge->consumers) {
        rue_knowledge_close(knowledge);
        return rue_fail_memory(error, "knowledge", 2 * model_count * sizeof *knowledge->consumers);
    }
    knowledge->model_count = model_count;
    for (size_t i = 0; i < 2 * model_count; i++) knowledge->consumers[i].consumer = unknown_consumer;
    *out = knowledge;
    return RUE_OK;
}

void rue_knowledge_close(struct rue_knowledge *knowledge)
{
    if (!knowledge) return;
    free(knowledge->consumers);
    free(knowledge);
}

struct rue_pipeline_consumer rue_knowledge_consumer(const struct rue_knowledge *knowledge, size_t consumer,
                                                    int batch_size)
{
    const struct rue_knowledge_model *prior = &knowledge->consumers[consumer];
    if (!prior->curve.count) return prior->consumer;
    struct rue_pipeline_consumer out = rue_compute_curve_at(&prior->curve, batch_size);
    out.batch_s += knowledge->hand_over.batch_s;
    out.image_s += knowledge->hand_over.image_s;
    return out;
}

double rue_knowledge_job_s(const struct rue_knowledge *knowledge, size_t model,
                           const struct rue_config *config, uint64_t images)
{
    struct rue_pipeline_consumer consumer =
        rue_knowledge_consumer(knowledge, rue_consumer_index(model, config), (int)rue_trial_batch(config));
    if (isnan(consumer.batch_s)) return NAN;
    return rue_pipeline_predict(&knowledge->loader, &consumer, config, images).end_to_end_s;
}
