#include "pipeline.h"

#include <math.h>
#include <stdlib.h>

/* Fibonacci numbers; the first is prime, so that of workers that take turns none has always the same ones. */
enum { VARIED = 89, VARIED_STEP = 55 };

/* A batch that is being loaded. */
struct loading {
    double end; /* the progress at which it is loaded */
    uint64_t batch;
};

/* One job on its way through the pipeline. */
struct pipeline {
    const struct rue_pipeline_loader *loader;
    const struct rue_pipeline_consumer *consumer;
    uint64_t images, batch_size, batches;
    uint64_t follow; /* batches that are followed, the first ones */
    uint64_t threads, window;
    bool shared;      /* they are one worker */
    uint64_t workers; /* 1 where shared, else the threads */
    double now_s;
    double progress;         /* of whoever was busy all the time, in whole batches */
    struct loading *loading; /* [busy] a heap, what is done first in front; room for [workers] */
    uint64_t busy;
    uint64_t begun, taken;
    bool *loaded;          /* [window] whether batch i is, at i % window */
    double taken_s;        /* when the last batch was */
    double done_s;         /* when the consumer is done with it */
    bool computing;        /* till then */
    double varied[VARIED]; /* of batch i, at i % VARIED: see vary */
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

/* Seconds an image takes one of `busy` workers while others need `others` CPUs. */
static double image_s(const struct rue_pipeline_loader *loader, double busy, double others)
{
    double rivals = loader->in_turn ? busy : fmin(busy, loader->cpus);
    double alone = at(loader, RUE_PIPELINE_item_s) *
                   (1 + at(loader, RUE_PIPELINE_contention_ratio) * fmax(0, rivals - 1));
    return fmax(alone * fmax(1, (busy + others) / loader->cpus), busy * at(loader, RUE_PIPELINE_storage_s));
}

/* Seconds until a batch of `images` is loaded at the present pace. */
static double service_s(const struct pipeline *pipeline, double images)
{
    const struct rue_pipeline_loader *loader = pipeline->loader;
    double busy = (double)(pipeline->shared ? pipeline->threads : pipeline->busy);
    double others = pipeline->computing ? pipeline->consumer->cpu_ratio : 0;
    double whole_s = at(loader, RUE_PIPELINE_batch_s) + images * image_s(loader, busy, others);
    return pipeline->shared ? whole_s / (double)pipeline->threads : whole_s;
}

/* How long each of the first VARIED batches takes relative to the mean: scores of the logistic distribution,
 * which is near the normal one, at points that fill the unit interval evenly however many there are (steps of
 * the golden ratio, which the quotient of Fibonacci numbers is near). */
static void vary(struct pipeline *pipeline)
{
    static const double sd_of_logistic = 1.8137993642342178;
    double spread = at(pipeline->loader, RUE_PIPELINE_jitter_ratio);
    for (uint64_t i = 0; i < VARIED && i < pipeline->follow; i++) {
        double unit = ((double)((VARIED / 2 + i * VARIED_STEP) % VARIED) + 0.5) / VARIED;
        double score = log(unit / (1 - unit)) / sd_of_logistic;
        /* All workers together load many images of each. */
        pipeline->varied[i] = pipeline->shared ? 1 : exp(spread * score - 0.5 * spread * spread);
    }
}

static void push(struct pipeline *pipeline, struct loading added)
{
    struct loading *heap = pipeline->loading;
    uint64_t hole = pipeline->busy++;
    for (; hole > 0 && heap[(hole - 1) / 2].end > added.end; hole = (hole - 1) / 2)
        heap[hole] = heap[(hole - 1) / 2];
    heap[hole] = added;
}

static struct loading pop(struct pipeline *pipeline)
{
    struct loading *heap = pipeline->loading, first = heap[0], moved = heap[--pipeline->busy];
    uint64_t hole = 0;
    for (uint64_t child; (child = 2 * hole + 1) < pipeline->busy; hole = child) {
        if (child + 1 < pipeline->busy && heap[child + 1].end < heap[child].end) child++;
        if (heap[child].end >= moved.end) break;
        heap[hole] = heap[child];
    }
    heap[hole] = moved;
    return first;
}

/* A worker that is free begins a batch, if that may be begun yet. */
static void begin(struct pipeline *pipeline, uint64_t batch)
{
    if (batch >= pipeline->follow || batch >= pipeline->taken + pipeline->window) return;
    pipeline->begun++;
    double images = images_of(pipeline, batch), whole = (double)pipeline->batch_size, share = 1;
    if (images < whole) share = service_s(pipeline, images) / service_s(pipeline, whole);
    push(pipeline, (struct loading){pipeline->progress + share * pipeline->varied[batch % VARIED], batch});
}

static void finish_first(struct pipeline *pipeline)
{
    uint64_t batch = pop(pipeline).batch;
    pipeline->loaded[batch % pipeline->window] = true;
    begin(pipeline, pipeline->loader->in_turn ? batch + pipeline->workers : pipeline->begun);
}

/* After a batch was taken one more may be begun, if who is to do it is free: in turn, the worker that loaded
 * the batch that lies as many before it as there are workers. */
static void begin_one_more(struct pipeline *pipeline)
{
    uint64_t batch = pipeline->taken + pipeline->window - 1, before = batch - pipeline->workers;
    if (!pipeline->loader->in_turn) {
        if (pipeline->busy < pipeline->workers) begin(pipeline, pipeline->begun);
    } else if (batch < pipeline->follow &&
               (before < pipeline->taken || pipeline->loaded[before % pipeline->window])) {
        begin(pipeline, batch);
    }
}

static void take(struct pipeline *pipeline)
{
    uint64_t slot = pipeline->taken % pipeline->window;
    const struct rue_pipeline_consumer *consumer = pipeline->consumer;
    pipeline->loaded[slot] = false;
    pipeline->taken_s = pipeline->now_s;
    pipeline->done_s =
        pipeline->now_s + consumer->batch_s + images_of(pipeline, pipeline->taken) * consumer->image_s;
    pipeline->computing = true;
    pipeline->taken++;
    begin_one_more(pipeline);
}

/* On to the next event: a batch is loaded, or the consumer is done with one. */
static void step(struct pipeline *pipeline)
{
    double pace_s = 0, loaded_s = INFINITY;
    if (pipeline->busy) {
        pace_s = service_s(pipeline, (double)pipeline->batch_size);
        loaded_s = pipeline->now_s + (pipeline->loading[0].end - pipeline->progress) * pace_s;
    }
    if (pipeline->computing && pipeline->done_s <= loaded_s) {
        if (pipeline->busy) pipeline->progress += (pipeline->done_s - pipeline->now_s) / pace_s;
        pipeline->now_s = pipeline->done_s;
        pipeline->computing = false;
    } else {
        pipeline->progress = pipeline->loading[0].end;
        pipeline->now_s = loaded_s;
        finish_first(pipeline);
    }
    if (!pipeline->computing && pipeline->loaded[pipeline->taken % pipeline->window]) take(pipeline);
}

/* Adds what the batches that were not followed take: as the last `span` ones did, each. */
static void extend(struct pipeline *pipeline, uint64_t span, double span_from_s)
{
    double batch_s = (pipeline->taken_s - span_from_s) / (double)span;
    double more =
        (double)(pipeline->images - pipeline->follow * pipeline->batch_size) / (double)pipeline->batch_size;
    pipeline->done_s += more * batch_s;
}

static void run(struct pipeline *pipeline, struct rue_pipeline_times *out)
{
    uint64_t span = RUE_PIPELINE_BATCHES_MAX / 2 / pipeline->threads * pipeline->threads;
    double span_from_s = 0;
    vary(pipeline);
    for (uint64_t w = 0; w < pipeline->workers; w++) begin(pipeline, w);
    for (uint64_t taken = 0; taken < pipeline->follow; taken = pipeline->taken) {
        step(pipeline);
        if (taken == 0 && pipeline->taken == 1) out->first_batch_s = pipeline->taken_s;
        if (taken + span < pipeline->follow && pipeline->taken + span == pipeline->follow)
            span_from_s = pipeline->taken_s;
    }
    if (pipeline->follow < pipeline->batches) extend(pipeline, span, span_from_s);
    out->shutdown_s = at(pipeline->loader, RUE_PIPELINE_stop_worker_s) * (double)pipeline->threads;
    out->end_to_end_s = pipeline->done_s + out->shutdown_s;
}

/* Without workers: one after the other. */
static void run_inline(struct pipeline *pipeline, struct rue_pipeline_times *out)
{
    const struct rue_pipeline_loader *loader = pipeline->loader;
    const struct rue_pipeline_consumer *consumer = pipeline->consumer;
    double batches = (double)pipeline->batches, images = (double)pipeline->images;
    double each_s = image_s(loader, 1, 0);
    out->first_batch_s = at(loader, RUE_PIPELINE_batch_s) + images_of(pipeline, 0) * each_s;
    out->end_to_end_s = batches * (at(loader, RUE_PIPELINE_batch_s) + consumer->batch_s) +
                        images * (each_s + consumer->image_s);
    out->shutdown_s = 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

rue_status rue_pipeline_predict(const struct rue_pipeline_loader *loader,
                                const struct rue_pipeline_consumer *consumer, const struct rue_config *config,
                                uint64_t images, struct rue_pipeline_times *out, rue_error *error)
{
    struct pipeline pipeline = {.loader = loader, .consumer = consumer, .images = images};
    pipeline.batch_size = (uint64_t)config->value[RUE_BATCH_SIZE];
    pipeline.batches = (images + pipeline.batch_size - 1) / pipeline.batch_size;
    pipeline.threads = (uint64_t)config->value[RUE_NUM_WORKERS];
    if (pipeline.threads == 0) return run_inline(&pipeline, out), RUE_OK;
    pipeline.follow = least(pipeline.batches, RUE_PIPELINE_BATCHES_MAX);
    pipeline.window = rue_config_window(config, pipeline.batches);
    pipeline.shared = config->value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE;
    pipeline.workers = pipeline.shared ? 1 : pipeline.threads;
    size_t bytes = pipeline.workers * sizeof *pipeline.loading + pipeline.window * sizeof *pipeline.loaded;
    pipeline.loading = calloc(1, bytes);
    if (!pipeline.loading) return rue_fail_memory(error, "a prediction", bytes);
    pipeline.loaded = (bool *)(pipeline.loading + pipeline.workers);
    pipeline.now_s =
        at(loader, RUE_PIPELINE_start_s) + at(loader, RUE_PIPELINE_start_worker_s) * (double)pipeline.threads;
    run(&pipeline, out);
    free(pipeline.loading);
    return RUE_OK;
}
