#include "pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    struct {
        uint64_t images, batch_size, batches;
        uint64_t follow; /* batches that are followed, the first ones */
    } job;
    uint64_t threads, window;
    bool shared;      /* they are one worker */
    uint64_t workers; /* 1 where shared, else the threads */
    double now_s;
    double progress;         /* of whoever was busy all the time, in whole batches */
    struct loading *loading; /* [busy] what is done first in front; room for [workers] */
    uint64_t busy;
    uint64_t begun, taken;
    bool *loaded;          /* [ring] whether batch i is, at i % ring */
    uint64_t ring;         /* a power of 2, the window at least */
    double *whole_s;       /* [2][workers + 1] of a whole batch, while computing and so many are busy; 0: not
                              known yet */
    double taken_s;        /* when the last batch was */
    double done_s;         /* when the consumer is done with it */
    bool computing;        /* till then */
    double varied[VARIED]; /* of batch i, at i % VARIED: see vary */
};

static uint64_t least_count(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static double at(const struct rue_pipeline_loader *loader, enum rue_pipeline_parameter parameter)
{
    return loader->value[parameter];
}

static double batch_images(const struct pipeline *pipeline, uint64_t batch)
{
    uint64_t before = batch * pipeline->job.batch_size, left = pipeline->job.images - before;
    return (double)(left < pipeline->job.batch_size ? left : pipeline->job.batch_size);
}

/* Seconds an image takes one of `busy` workers while others need `others` CPUs. */
static double busy_image_s(const struct rue_pipeline_loader *loader, double item_s, double busy,
                           double others)
{
    double rivals = loader->round_robin ? busy : fmin(busy, loader->cpus);
    double alone = item_s * (1 + at(loader, RUE_PIPELINE_contention_ratio) * fmax(0, rivals - 1));
    return fmax(alone * fmax(1, (busy + others) / loader->cpus), busy * at(loader, RUE_PIPELINE_storage_s));
}

/* Seconds until a batch of `images` is loaded at the present pace. */
static double batch_service_s(const struct pipeline *pipeline, double images)
{
    const struct rue_pipeline_loader *loader = pipeline->loader;
    double busy = (double)(pipeline->shared ? pipeline->threads : pipeline->busy);
    double others = pipeline->computing ? pipeline->consumer->cpu_ratio : 0;
    double item_s = at(loader, RUE_PIPELINE_item_s);
    if (pipeline->consumer->is_model) item_s *= at(loader, RUE_PIPELINE_beside_ratio);
    double whole_s = at(loader, RUE_PIPELINE_batch_s) + images * busy_image_s(loader, item_s, busy, others);
    return pipeline->shared ? whole_s / (double)pipeline->threads : whole_s;
}

/* The same of a whole batch. */
static double whole_batch_s(struct pipeline *pipeline)
{
    double *known = &pipeline->whole_s[(pipeline->computing ? pipeline->workers + 1 : 0) + pipeline->busy];
    if (*known == 0) *known = batch_service_s(pipeline, (double)pipeline->job.batch_size);
    return *known;
}

static bool *loaded_slot(const struct pipeline *pipeline, uint64_t batch)
{
    return &pipeline->loaded[batch & (pipeline->ring - 1)];
}

/* How long each of the first VARIED batches takes relative to the mean: scores of the logistic distribution,
 * which is near the normal one, at points that fill the unit interval evenly however many there are (steps of
 * the golden ratio, which the quotient of Fibonacci numbers is near). */
static void vary(struct pipeline *pipeline)
{
    static const double sd_of_logistic = 1.8137993642342178;
    double spread = at(pipeline->loader, RUE_PIPELINE_jitter_ratio);
    for (uint64_t i = 0; i < VARIED && i < pipeline->job.follow; i++) {
        double unit = ((double)((VARIED / 2 + i * VARIED_STEP) % VARIED) + 0.5) / VARIED;
        double score = log(unit / (1 - unit)) / sd_of_logistic;
        /* All workers together load many images of each. */
        pipeline->varied[i] = pipeline->shared ? 1 : exp(spread * score - 0.5 * spread * spread);
    }
}

static void loading_push(struct pipeline *pipeline, struct loading added)
{
    struct loading *queue = pipeline->loading;
    uint64_t at = pipeline->busy++;
    for (; at > 0 && queue[at - 1].end > added.end; at--) queue[at] = queue[at - 1];
    queue[at] = added;
}

static struct loading loading_pop(struct pipeline *pipeline)
{
    struct loading first = pipeline->loading[0];
    memmove(pipeline->loading, pipeline->loading + 1, --pipeline->busy * sizeof first);
    return first;
}

/* A worker that is free begins a batch, if that may be begun yet. */
static void begin_batch(struct pipeline *pipeline, uint64_t batch)
{
    if (batch >= pipeline->job.follow || batch >= pipeline->taken + pipeline->window) return;
    pipeline->begun++;
    double images = batch_images(pipeline, batch), whole = (double)pipeline->job.batch_size, share = 1;
    if (images < whole) share = batch_service_s(pipeline, images) / whole_batch_s(pipeline);
    loading_push(pipeline,
                 (struct loading){pipeline->progress + share * pipeline->varied[batch % VARIED], batch});
}

static void finish_first(struct pipeline *pipeline)
{
    uint64_t batch = loading_pop(pipeline).batch;
    *loaded_slot(pipeline, batch) = true;
    begin_batch(pipeline, pipeline->loader->round_robin ? batch + pipeline->workers : pipeline->begun);
}

/* After a batch was taken one more may be begun, if who is to do it is free: in turn, the worker that loaded
 * the batch that lies as many before it as there are workers. */
static void begin_one_more(struct pipeline *pipeline)
{
    uint64_t batch = pipeline->taken + pipeline->window - 1, before = batch - pipeline->workers;
    if (!pipeline->loader->round_robin) {
        if (pipeline->busy < pipeline->workers) begin_batch(pipeline, pipeline->begun);
    } else if (batch < pipeline->job.follow && (before < pipeline->taken || *loaded_slot(pipeline, before))) {
        begin_batch(pipeline, batch);
    }
}

static void take_batch(struct pipeline *pipeline)
{
    const struct rue_pipeline_consumer *consumer = pipeline->consumer;
    *loaded_slot(pipeline, pipeline->taken) = false;
    pipeline->taken_s = pipeline->now_s;
    pipeline->done_s =
        pipeline->now_s + consumer->batch_s + batch_images(pipeline, pipeline->taken) * consumer->image_s;
    pipeline->computing = true;
    pipeline->taken++;
    begin_one_more(pipeline);
}

/* On to the next event: a batch is loaded, or the consumer is done with one. */
static void step_pipeline(struct pipeline *pipeline)
{
    double pace_s = 0, loaded_s = INFINITY;
    if (pipeline->busy) {
        pace_s = whole_batch_s(pipeline);
        loaded_s = pipeline->now_s + (pipeline->loading[0].end - pipeline->progress) * pace_s;
    }
    if (pipeline->computing && !(pipeline->done_s > loaded_s)) { /* NaN, too: a fit may try such parameters */
        if (pipeline->busy) pipeline->progress += (pipeline->done_s - pipeline->now_s) / pace_s;
        pipeline->now_s = pipeline->done_s;
        pipeline->computing = false;
    } else {
        pipeline->progress = pipeline->loading[0].end;
        pipeline->now_s = loaded_s;
        finish_first(pipeline);
    }
    if (!pipeline->computing && *loaded_slot(pipeline, pipeline->taken)) take_batch(pipeline);
}

/* Answers when the first batch is taken. */
static double run_pipeline(struct pipeline *pipeline)
{
    /* The pace is that behind the beginning, and before the end, when no more batches replace those that are
     * loaded; over whole rounds of the workers, where there is room. */
    uint64_t end = pipeline->job.follow - least_count(pipeline->window, pipeline->job.follow / 2),
             span = end - end / 4;
    double first_s = 0, begin_s = 0, end_s = 0;
    if (span >= pipeline->threads) span -= span % pipeline->threads;
    vary(pipeline);
    for (uint64_t w = 0; w < pipeline->workers; w++) begin_batch(pipeline, w);
    for (uint64_t taken = 0; taken < pipeline->job.follow; taken = pipeline->taken) {
        step_pipeline(pipeline);
        if (pipeline->taken == taken) continue;
        if (taken == 0) first_s = pipeline->taken_s;
        if (taken == end - span) begin_s = pipeline->taken_s;
        if (taken == end) end_s = pipeline->taken_s;
    }
    if (pipeline->job.follow == pipeline->job.batches) return first_s;
    /* Those that were not followed; parts of one count. */
    double more =
        (double)pipeline->job.images / (double)pipeline->job.batch_size - (double)pipeline->job.follow;
    pipeline->done_s += more * (end_s - begin_s) / (double)span;
    return first_s;
}

/* Without workers: one after the other. */
static struct rue_pipeline_times run_inline(const struct pipeline *pipeline)
{
    const struct rue_pipeline_loader *loader = pipeline->loader;
    const struct rue_pipeline_consumer *consumer = pipeline->consumer;
    double batches = (double)pipeline->job.batches, images = (double)pipeline->job.images;
    double ratio = at(loader, RUE_PIPELINE_inline_ratio);
    double batch_s = ratio * at(loader, RUE_PIPELINE_batch_s),
           each_s = ratio * busy_image_s(loader, at(loader, RUE_PIPELINE_item_s), 1, 0);
    return (struct rue_pipeline_times){
        .first_batch_s = pipeline->now_s + batch_s + batch_images(pipeline, 0) * each_s,
        .end_to_end_s = pipeline->now_s + batches * (batch_s + consumer->batch_s) +
                        images * (each_s + consumer->image_s)};
}

static double loader_start_s(const struct rue_pipeline_loader *loader, const struct rue_config *config)
{
    double warm_up_s = at(loader, RUE_PIPELINE_warm_up_ratio) * config->value[RUE_BATCH_SIZE] *
                       at(loader, RUE_PIPELINE_item_s);
    if (config->value[RUE_NUM_WORKERS] == 0) return warm_up_s;
    return at(loader, RUE_PIPELINE_start_s) +
           at(loader, RUE_PIPELINE_start_worker_s) * config->value[RUE_NUM_WORKERS] + warm_up_s;
}

/* All the room that a pipeline needs. */
static bool make_pipeline_room(struct pipeline *pipeline)
{
    pipeline->ring = 1;
    while (pipeline->ring < pipeline->window) pipeline->ring *= 2;
    size_t paces = 2 * (pipeline->workers + 1);
    pipeline->loading =
        calloc(1, pipeline->workers * sizeof *pipeline->loading + paces * sizeof *pipeline->whole_s +
                      pipeline->ring * sizeof *pipeline->loaded);
    if (!pipeline->loading) return false;
    pipeline->whole_s = (double *)(pipeline->loading + pipeline->workers);
    pipeline->loaded = (bool *)(pipeline->whole_s + paces);
    return true;
}

struct rue_pipeline_times rue_pipeline_predict(const struct rue_pipeline_loader *loader,
                                               const struct rue_pipeline_consumer *consumer,
                                               const struct rue_config *config, uint64_t images)
{
    struct pipeline pipeline = {.loader = loader, .consumer = consumer, .job.images = images};
    struct rue_pipeline_times out = {NAN, NAN, NAN};
    pipeline.job.batch_size = (uint64_t)config->value[RUE_BATCH_SIZE];
    pipeline.job.batches = (images + pipeline.job.batch_size - 1) / pipeline.job.batch_size;
    pipeline.threads = (uint64_t)config->value[RUE_NUM_WORKERS];
    pipeline.now_s = loader_start_s(loader, config);
    if (pipeline.threads == 0) return run_inline(&pipeline);
    pipeline.job.follow = least_count(pipeline.job.batches, RUE_PIPELINE_BATCHES_MAX);
    pipeline.window = rue_config_window(config, pipeline.job.batches);
    pipeline.shared = config->value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE;
    pipeline.workers = pipeline.shared ? 1 : pipeline.threads;
    if (!make_pipeline_room(&pipeline)) return out;
    out.first_batch_s = run_pipeline(&pipeline);
    out.shutdown_s = at(loader, RUE_PIPELINE_stop_worker_s) * (double)pipeline.threads;
    out.end_to_end_s = pipeline.done_s + out.shutdown_s;
    free(pipeline.loading);
    return out;
}
