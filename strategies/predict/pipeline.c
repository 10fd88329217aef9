#include "pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fibonacci numbers. The first one is prime, so no worker of a round-robin order always has the same
 * values. */
enum { JITTER_COUNT = 89, JITTER_STEP = 55 };

/* A batch that is being loaded. */
struct loading {
    double end; /* the progress at which it is loaded */
    uint64_t batch;
};

/* State of one simulated job. */
struct pipeline {
    const struct rue_pipeline_loader *loader;
    const struct rue_pipeline_consumer *consumer;
    struct {
        uint64_t images, batch_size, batches;
        uint64_t simulated; /* the first batches, which are simulated */
    } job;
    uint64_t threads, window;
    bool shared;      /* all threads load the same batch */
    uint64_t workers; /* 1 if shared, else the threads */
    double now_s;
    double progress;         /* of a worker that is always busy, in whole batches */
    struct loading *loading; /* [busy] ordered by end; capacity [workers] */
    uint64_t busy;
    uint64_t started, delivered;
    bool *loaded;       /* [ring] whether batch i is loaded, at i % ring */
    uint64_t ring;      /* a power of 2, at least the window */
    double *cached_s;   /* [2][workers + 1] of a whole batch, by computing and busy workers; 0: unknown */
    double delivered_s; /* time of the last delivery */
    double done_s;      /* when the consumer is done with that batch */
    bool computing;     /* until done_s */
    double jitter[JITTER_COUNT]; /* of batch i, at i % JITTER_COUNT */
};

static uint64_t min_count(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static double param(const struct rue_pipeline_loader *loader, enum rue_pipeline_parameter parameter)
{
    return loader->value[parameter];
}

static double batch_images(const struct pipeline *pipeline, uint64_t batch)
{
    uint64_t before = batch * pipeline->job.batch_size, left = pipeline->job.images - before;
    return (double)(left < pipeline->job.batch_size ? left : pipeline->job.batch_size);
}

/* Seconds per image of one of `busy` workers, while other threads use `other_cpus` CPUs. */
static double busy_image_s(const struct rue_pipeline_loader *loader, double item_s, double busy,
                           double other_cpus)
{
    double rivals = loader->round_robin ? busy : fmin(busy, loader->cpus);
    double own_cpu_s = item_s * (1 + param(loader, RUE_PIPELINE_contention_ratio) * fmax(0, rivals - 1));
    return fmax(own_cpu_s * fmax(1, (busy + other_cpus) / loader->cpus),
                busy * param(loader, RUE_PIPELINE_storage_s));
}

/* Seconds to load a batch of `images` at the current rate. */
static double batch_service_s(const struct pipeline *pipeline, double images)
{
    const struct rue_pipeline_loader *loader = pipeline->loader;
    double busy = (double)(pipeline->shared ? pipeline->threads : pipeline->busy);
    double other_cpus = pipeline->computing ? pipeline->consumer->cpu_ratio : 0;
    double item_s = param(loader, RUE_PIPELINE_item_s);
    if (pipeline->consumer->is_model) item_s *= param(loader, RUE_PIPELINE_beside_ratio);
    double service_s =
        param(loader, RUE_PIPELINE_batch_s) + images * busy_image_s(loader, item_s, busy, other_cpus);
    return pipeline->shared ? service_s / (double)pipeline->threads : service_s;
}

/* The same for a whole batch. */
static double whole_batch_s(struct pipeline *pipeline)
{
    double *known = &pipeline->cached_s[(pipeline->computing ? pipeline->workers + 1 : 0) + pipeline->busy];
    if (*known == 0) *known = batch_service_s(pipeline, (double)pipeline->job.batch_size);
    return *known;
}

static bool *loaded_slot(const struct pipeline *pipeline, uint64_t batch)
{
    return &pipeline->loaded[batch & (pipeline->ring - 1)];
}

/* Time of each of the first JITTER_COUNT batches relative to the mean: quantiles of the logistic
 * distribution, which is close to the normal one. Their points fill the unit interval evenly for any count:
 * steps of the golden ratio, approximated by a quotient of Fibonacci numbers. */
static void fill_jitter(struct pipeline *pipeline)
{
    static const double sd_of_logistic = 1.8137993642342178;
    double spread = param(pipeline->loader, RUE_PIPELINE_jitter_ratio);
    for (uint64_t i = 0; i < JITTER_COUNT && i < pipeline->job.simulated; i++) {
        double p = ((double)((JITTER_COUNT / 2 + i * JITTER_STEP) % JITTER_COUNT) + 0.5) / JITTER_COUNT;
        double score = log(p / (1 - p)) / sd_of_logistic;
        /* Workers that share a batch average over many images. */
        pipeline->jitter[i] = pipeline->shared ? 1 : exp(spread * score - 0.5 * spread * spread);
    }
}

static void push_loading(struct pipeline *pipeline, struct loading added)
{
    struct loading *queue = pipeline->loading;
    uint64_t index = pipeline->busy++;
    for (; index > 0 && queue[index - 1].end > added.end; index--) queue[index] = queue[index - 1];
    queue[index] = added;
}

static struct loading pop_loading(struct pipeline *pipeline)
{
    struct loading first = pipeline->loading[0];
    memmove(pipeline->loading, pipeline->loading + 1, --pipeline->busy * sizeof first);
    return first;
}

/* A free worker starts a batch, if the window allows it. */
static void begin_batch(struct pipeline *pipeline, uint64_t batch)
{
    if (batch >= pipeline->job.simulated || batch >= pipeline->delivered + pipeline->window) return;
    pipeline->started++;
    double images = batch_images(pipeline, batch), whole = (double)pipeline->job.batch_size, share = 1;
    if (images < whole) share = batch_service_s(pipeline, images) / whole_batch_s(pipeline);
    push_loading(pipeline, (struct loading){
                               pipeline->progress + share * pipeline->jitter[batch % JITTER_COUNT], batch});
}

static void finish_earliest(struct pipeline *pipeline)
{
    uint64_t batch = pop_loading(pipeline).batch;
    *loaded_slot(pipeline, batch) = true;
    begin_batch(pipeline, pipeline->loader->round_robin ? batch + pipeline->workers : pipeline->started);
}

/* After a delivery the window has room for one more batch. In round-robin order its worker is the one that
 * loaded the batch `workers` places before it. */
static void refill_window(struct pipeline *pipeline)
{
    uint64_t batch = pipeline->delivered + pipeline->window - 1, before = batch - pipeline->workers;
    if (!pipeline->loader->round_robin) {
        if (pipeline->busy < pipeline->workers) begin_batch(pipeline, pipeline->started);
    } else if (batch < pipeline->job.simulated &&
               (batch < pipeline->workers || before < pipeline->delivered ||
                *loaded_slot(pipeline, before))) {
        begin_batch(pipeline, batch);
    }
}

static void deliver_batch(struct pipeline *pipeline)
{
    const struct rue_pipeline_consumer *consumer = pipeline->consumer;
    *loaded_slot(pipeline, pipeline->delivered) = false;
    pipeline->delivered_s = pipeline->now_s;
    pipeline->done_s =
        pipeline->now_s + consumer->batch_s + batch_images(pipeline, pipeline->delivered) * consumer->image_s;
    pipeline->computing = true;
    pipeline->delivered++;
    refill_window(pipeline);
}

/* Advances to the next event: a batch is loaded, or the consumer is done with one. */
static void advance_pipeline(struct pipeline *pipeline)
{
    double pace_s = 0, loaded_s = INFINITY;
    if (pipeline->busy) {
        pace_s = whole_batch_s(pipeline);
        loaded_s = pipeline->now_s + (pipeline->loading[0].end - pipeline->progress) * pace_s;
    }
    if (pipeline->computing && !(pipeline->done_s > loaded_s)) { /* also true for NaN, which a fit may try */
        if (pipeline->busy) pipeline->progress += (pipeline->done_s - pipeline->now_s) / pace_s;
        pipeline->now_s = pipeline->done_s;
        pipeline->computing = false;
    } else {
        pipeline->progress = pipeline->loading[0].end;
        pipeline->now_s = loaded_s;
        finish_earliest(pipeline);
    }
    if (!pipeline->computing && *loaded_slot(pipeline, pipeline->delivered)) deliver_batch(pipeline);
}

/* Runs the simulation; returns the time of the first delivery. */
static double run_pipeline(struct pipeline *pipeline)
{
    /* The steady rate is measured after the start, and before the end, where no new batches replace the
     * loaded ones; over whole rounds of the workers if possible. */
    uint64_t end = pipeline->job.simulated - min_count(pipeline->window, pipeline->job.simulated / 2),
             span = end - end / 4;
    double first_s = 0, begin_s = 0, end_s = 0;
    if (span >= pipeline->threads) span -= span % pipeline->threads;
    fill_jitter(pipeline);
    for (uint64_t w = 0; w < pipeline->workers; w++) begin_batch(pipeline, w);
    for (uint64_t delivered = 0; delivered < pipeline->job.simulated; delivered = pipeline->delivered) {
        advance_pipeline(pipeline);
        if (pipeline->delivered == delivered) continue;
        if (delivered == 0) first_s = pipeline->delivered_s;
        if (delivered == end - span) begin_s = pipeline->delivered_s;
        if (delivered == end) end_s = pipeline->delivered_s;
    }
    if (pipeline->job.simulated == pipeline->job.batches) return first_s;
    /* Batches that were not simulated; a partial one counts as its share. */
    double remaining =
        (double)pipeline->job.images / (double)pipeline->job.batch_size - (double)pipeline->job.simulated;
    pipeline->done_s += remaining * (end_s - begin_s) / (double)span;
    return first_s;
}

/* Without workers, loading and computing alternate. */
static struct rue_pipeline_times run_inline(const struct pipeline *pipeline)
{
    const struct rue_pipeline_loader *loader = pipeline->loader;
    const struct rue_pipeline_consumer *consumer = pipeline->consumer;
    double batches = (double)pipeline->job.batches, images = (double)pipeline->job.images;
    double ratio = param(loader, RUE_PIPELINE_inline_ratio);
    double batch_s = ratio * param(loader, RUE_PIPELINE_batch_s),
           image_s = ratio * busy_image_s(loader, param(loader, RUE_PIPELINE_item_s), 1, 0);
    return (struct rue_pipeline_times){
        .first_batch_s = pipeline->now_s + batch_s + batch_images(pipeline, 0) * image_s,
        .end_to_end_s = pipeline->now_s + batches * (batch_s + consumer->batch_s) +
                        images * (image_s + consumer->image_s)};
}

static double loader_start_s(const struct rue_pipeline_loader *loader, const struct rue_config *config)
{
    double warm_up_s = param(loader, RUE_PIPELINE_warm_up_ratio) * config->value[RUE_BATCH_SIZE] *
                       param(loader, RUE_PIPELINE_item_s);
    if (config->value[RUE_NUM_WORKERS] == 0) return warm_up_s;
    return param(loader, RUE_PIPELINE_start_s) +
           param(loader, RUE_PIPELINE_start_worker_s) * config->value[RUE_NUM_WORKERS] + warm_up_s;
}

static bool allocate_pipeline(struct pipeline *pipeline)
{
    pipeline->ring = 1;
    while (pipeline->ring < pipeline->window) pipeline->ring *= 2;
    size_t paces = 2 * (pipeline->workers + 1);
    pipeline->loading =
        calloc(1, pipeline->workers * sizeof *pipeline->loading + paces * sizeof *pipeline->cached_s +
                      pipeline->ring * sizeof *pipeline->loaded);
    if (!pipeline->loading) return false;
    pipeline->cached_s = (double *)(pipeline->loading + pipeline->workers);
    pipeline->loaded = (bool *)(pipeline->cached_s + paces);
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
    pipeline.job.simulated = min_count(pipeline.job.batches, RUE_PIPELINE_BATCHES_MAX);
    pipeline.window = rue_config_window(config, pipeline.job.batches);
    pipeline.shared = config->value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE;
    pipeline.workers = pipeline.shared ? 1 : pipeline.threads;
    if (!allocate_pipeline(&pipeline)) return out;
    out.first_batch_s = run_pipeline(&pipeline);
    out.shutdown_s = param(loader, RUE_PIPELINE_stop_worker_s) * (double)pipeline.threads;
    out.end_to_end_s = pipeline.done_s + out.shutdown_s;
    free(pipeline.loading);
    return out;
}
