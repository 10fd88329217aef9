#include "pipeline.h"

#include <math.h>
#include <stdlib.h>

/* One job on its way through the pipeline. */
struct pipeline {
    const struct rue_pipeline_loader *loader;
    const struct rue_pipeline_consumer *consumer;
    uint64_t images, batch_size, batches;
    uint64_t workers, window;
    double *free_s;         /* [workers] when each worker is free */
    double *loaded_s;       /* [window] when batch i is loaded, at i % window */
    double start_s;         /* workers run from then on */
    double taken_s, done_s; /* of the last batch taken: R and E */
};

static double at(const struct rue_pipeline_loader *loader, enum rue_pipeline_parameter parameter)
{
    return loader->value[parameter];
}

static double images_of(const struct pipeline *pipeline, uint64_t batch)
{
    uint64_t before = batch * pipeline->batch_size, left = pipeline->images - before;
    return (double)(left < pipeline->batch_size ? left : pipeline->batch_size);
}

/* Seconds an image takes one of `busy` workers. */
static double image_s(const struct rue_pipeline_loader *loader, double busy)
{
    double alone =
        at(loader, RUE_PIPELINE_item_s) * (1 + at(loader, RUE_PIPELINE_contention_ratio) * (busy - 1));
    return fmax(alone * fmax(1, busy / loader->cpus), busy * at(loader, RUE_PIPELINE_storage_s));
}

/* The worker that loads batch `index`, which it may from `from_s` on. */
static uint64_t choose_worker(const struct pipeline *pipeline, uint64_t index)
{
    if (pipeline->loader->in_turn) return index % pipeline->workers;
    uint64_t first = 0;
    for (uint64_t w = 1; w < pipeline->workers; w++)
        if (pipeline->free_s[w] < pipeline->free_s[first]) first = w;
    return first;
}

/* Workers that load at `now_s`, the one that begins then among them. At first all do. */
static double count_busy(const struct pipeline *pipeline, uint64_t index, uint64_t worker, double now_s)
{
    uint64_t busy = 1, all = pipeline->workers < pipeline->batches ? pipeline->workers : pipeline->batches;
    if (index < pipeline->workers) return (double)all;
    for (uint64_t w = 0; w < pipeline->workers; w++) busy += w != worker && pipeline->free_s[w] > now_s;
    return (double)busy;
}

/* How long batch `index` takes relative to the mean: scores of the logistic distribution, which is near the
 * normal one, at points that fill the unit interval evenly however many there are. */
static double vary(const struct pipeline *pipeline, uint64_t index)
{
    static const double golden = 0.6180339887498949, sd_of_logistic = 1.8137993642342178;
    double spread = at(pipeline->loader, RUE_PIPELINE_jitter_ratio);
    double unit = fmod(0.5 + (double)index * golden, 1);
    if (unit < 1e-3) unit = 1e-3;
    if (unit > 1 - 1e-3) unit = 1 - 1e-3;
    return exp(spread * log(unit / (1 - unit)) / sd_of_logistic - 0.5 * spread * spread);
}

static void load(struct pipeline *pipeline, uint64_t index)
{
    double from_s = index < pipeline->window ? pipeline->start_s : pipeline->taken_s;
    uint64_t worker = choose_worker(pipeline, index);
    double begin_s = fmax(pipeline->free_s[worker], from_s);
    double busy = count_busy(pipeline, index, worker, begin_s);
    double service_s = at(pipeline->loader, RUE_PIPELINE_batch_s) +
                       images_of(pipeline, index) * image_s(pipeline->loader, busy);
    pipeline->free_s[worker] = begin_s + service_s * vary(pipeline, index);
    pipeline->loaded_s[index % pipeline->window] = pipeline->free_s[worker];
}

/* All workers load batch after batch together; none sooner than one worker loads an image of it. */
static void load_shared(struct pipeline *pipeline, uint64_t index)
{
    double from_s = index < pipeline->window ? pipeline->start_s : pipeline->taken_s;
    double workers = (double)pipeline->workers, images = images_of(pipeline, index);
    double each_s = image_s(pipeline->loader, workers);
    double begin_s = fmax(pipeline->free_s[0], from_s), together_s = images / workers * each_s;
    pipeline->free_s[0] = begin_s + at(pipeline->loader, RUE_PIPELINE_batch_s) / workers + together_s;
    pipeline->loaded_s[index % pipeline->window] = pipeline->free_s[0] + fmax(0, each_s - together_s);
}

static double consume_s(const struct pipeline *pipeline, uint64_t index)
{
    return pipeline->consumer->batch_s + images_of(pipeline, index) * pipeline->consumer->image_s;
}

static void take(struct pipeline *pipeline, uint64_t index)
{
    pipeline->taken_s = fmax(pipeline->done_s, pipeline->loaded_s[index % pipeline->window]);
    pipeline->done_s = pipeline->taken_s + consume_s(pipeline, index);
}

/* Adds what the batches that were not followed take: as the last `span` ones did, each. */
static void extend(struct pipeline *pipeline, uint64_t followed, uint64_t span, double span_from_s)
{
    double batch_s = (pipeline->taken_s - span_from_s) / (double)span;
    double more = (double)(pipeline->images - followed * pipeline->batch_size) / (double)pipeline->batch_size;
    pipeline->done_s += more * batch_s;
}

/* Follows every batch through the pipeline; the loading is ahead of the taking by the window. */
static void run(struct pipeline *pipeline, bool shared, struct rue_pipeline_times *out)
{
    uint64_t follow =
        pipeline->batches < RUE_PIPELINE_BATCHES_MAX ? pipeline->batches : RUE_PIPELINE_BATCHES_MAX;
    uint64_t span = RUE_PIPELINE_BATCHES_MAX / 2 / pipeline->workers * pipeline->workers;
    double span_from_s = 0;
    for (uint64_t loaded = 0, taken = 0; taken < follow;) {
        if (loaded < follow && loaded < taken + pipeline->window) {
            (shared ? load_shared : load)(pipeline, loaded++);
            continue;
        }
        take(pipeline, taken++);
        if (taken == 1) out->first_batch_s = pipeline->taken_s;
        if (taken + span == follow) span_from_s = pipeline->taken_s;
    }
    if (follow < pipeline->batches) extend(pipeline, follow, span, span_from_s);
    out->shutdown_s = at(pipeline->loader, RUE_PIPELINE_stop_worker_s) * (double)pipeline->workers;
    out->end_to_end_s = pipeline->done_s + out->shutdown_s;
}

/* Without workers: one after the other. */
static void run_inline(struct pipeline *pipeline, struct rue_pipeline_times *out)
{
    const struct rue_pipeline_loader *loader = pipeline->loader;
    const struct rue_pipeline_consumer *consumer = pipeline->consumer;
    double batches = (double)pipeline->batches, images = (double)pipeline->images;
    out->first_batch_s = at(loader, RUE_PIPELINE_batch_s) + images_of(pipeline, 0) * image_s(loader, 1);
    out->end_to_end_s = batches * (at(loader, RUE_PIPELINE_batch_s) + consumer->batch_s) +
                        images * (image_s(loader, 1) + consumer->image_s);
    out->shutdown_s = 0;
}

rue_status rue_pipeline_predict(const struct rue_pipeline_loader *loader,
                                const struct rue_pipeline_consumer *consumer, const struct rue_config *config,
                                uint64_t images, struct rue_pipeline_times *out, rue_error *error)
{
    struct pipeline pipeline = {.loader = loader, .consumer = consumer, .images = images};
    pipeline.batch_size = (uint64_t)config->value[RUE_BATCH_SIZE];
    pipeline.batches = (images + pipeline.batch_size - 1) / pipeline.batch_size;
    pipeline.workers = (uint64_t)config->value[RUE_NUM_WORKERS];
    if (pipeline.workers == 0) return run_inline(&pipeline, out), RUE_OK;
    pipeline.window = rue_config_window(config, pipeline.batches);
    size_t count = pipeline.workers + pipeline.window;
    pipeline.free_s = malloc(count * sizeof *pipeline.free_s);
    if (!pipeline.free_s) return rue_fail_memory(error, "a prediction", count * sizeof *pipeline.free_s);
    pipeline.loaded_s = pipeline.free_s + pipeline.workers;
    pipeline.start_s =
        at(loader, RUE_PIPELINE_start_s) + at(loader, RUE_PIPELINE_start_worker_s) * (double)pipeline.workers;
    for (uint64_t w = 0; w < pipeline.workers; w++) pipeline.free_s[w] = pipeline.start_s;
    pipeline.done_s = pipeline.start_s;
    run(&pipeline, config->value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE, out);
    free(pipeline.free_s);
    return RUE_OK;
}
