#include "job_parts.h"

#include <math.h>

/* Computing and copying grow with the images. Most of the time has to be reported as a part. */
static struct rue_job_parts measured_parts(const struct rue_parts *parts, uint64_t job_images)
{
    double trials = (double)parts->count,
           longer = job_images ? (double)job_images / (double)parts->images : 1;
    struct rue_job_parts job = {.basis = RUE_PARTS_MEASURED};
    if (!parts->images || rue_parts_sum(parts->ns) < parts->total_ns / 2) return (struct rue_job_parts){0};
    for (size_t i = 0; i < RUE_PART_COUNT; i++) {
        bool grows = i == RUE_PART_COPY || i == RUE_PART_COMPUTE;
        job.ns[i] = parts->ns[i] / trials * (grows ? longer : 1);
    }
    return job;
}

static struct rue_job_parts predicted_parts(const struct rue_variant_findings *variant, size_t model,
                                            size_t column)
{
    const struct rue_config *config = &variant->matrix->configs[column];
    int batch_size = config->value[RUE_BATCH_SIZE];
    uint64_t images = rue_config_images(config, variant->job.workload.drop_last, variant->job.images);
    const struct rue_pipeline_consumer consumer =
        rue_knowledge_consumer(variant->knowledge, rue_consumer_index(model, config), batch_size);
    const struct rue_pipeline_times times =
        rue_pipeline_predict(&variant->knowledge->loader, &consumer, config, images);
    double batches = ceil((double)images / batch_size),
           compute_s = batches * consumer.batch_s + (double)images * consumer.image_s;
    if (!isfinite(times.end_to_end_s) || !isfinite(compute_s)) return (struct rue_job_parts){0};
    return (struct rue_job_parts){.basis = RUE_PARTS_PREDICTED,
                                  .ns = {[RUE_PART_FIRST] = 1e9 * times.first_batch_s,
                                         [RUE_PART_COMPUTE] = 1e9 * compute_s,
                                         [RUE_PART_SHUTDOWN] = 1e9 * times.shutdown_s}};
}

static struct rue_job_parts unknown_parts(double total_ns)
{
    return (struct rue_job_parts){RUE_PARTS_UNKNOWN, total_ns, {NAN, NAN, NAN, NAN, NAN}};
}

/* Corrections of a time are about loading, so computing and copying stay as they are; waiting is the rest. */
static void fit_total(struct rue_job_parts *job, double total_ns)
{
    static const int order[] = {RUE_PART_COMPUTE, RUE_PART_COPY, RUE_PART_SHUTDOWN, RUE_PART_FIRST};
    double left_ns = total_ns;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        double *ns = &job->ns[order[i]];
        *ns = fmin(*ns, left_ns);
        left_ns -= *ns;
    }
    job->ns[RUE_PART_WAIT] = left_ns;
    job->total_ns = total_ns;
}

struct rue_job_parts rue_job_parts_find(const struct rue_findings *findings,
                                        const struct rue_breakdown *breakdown,
                                        const struct rue_variant_findings *variant, size_t model,
                                        size_t config)
{
    if (config == RUE_NONE) return unknown_parts(NAN);
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, config);
    const struct rue_parts *parts =
        rue_breakdown_cell(breakdown, findings, (size_t)(variant - findings->variants), model, config);
    struct rue_job_parts job = {0};
    bool ok = cell->state == RUE_CELL_OK, timed = ok && variant->goal == RUE_GOAL_TIME;
    if (timed && parts)
        job = measured_parts(parts, variant->job.images);
    else if (timed && !variant->label && variant->knowledge && variant->job.images)
        job = predicted_parts(variant, model, config);
    if (job.basis == RUE_PARTS_UNKNOWN) return unknown_parts(ok ? cell->median_ns : NAN);
    fit_total(&job, cell->median_ns);
    return job;
}

double rue_job_parts_waiting(const struct rue_job_parts *parts)
{
    const double *ns = parts->ns;
    return ns[RUE_PART_COMPUTE] > 0 ? 1 - (ns[RUE_PART_COMPUTE] + ns[RUE_PART_COPY]) / parts->total_ns : NAN;
}

double rue_job_rate(const struct rue_variant_findings *variant, size_t model, size_t config)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, config);
    if (!variant->job.images || variant->goal != RUE_GOAL_TIME || cell->state != RUE_CELL_OK) return NAN;
    double images = (double)variant->job.images * (double)rue_deployment_loaders(&variant->job.deployment);
    return images / cell->median_ns * 1e9;
}
