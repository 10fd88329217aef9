#include "trial_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch_sizer.h"
#include "clock.h"
#include "residency.h"
#include "trial_options.h"
#include "units.h"
#include "usage.h"

/* A batch that was submitted to the model. */
struct flight {
    struct rue_batch *batch;
    uint64_t ticket;
};

/* The state of a running trial. */
struct run {
    const struct rue_trial_request *request;
    struct rue_model *model;
    struct rue_trial_result *result;
    struct rue_loader *loader;
    struct rue_residency *residency;     /* of the items that it reads */
    const struct rue_trial_start *start; /* NULL: start when all is ready */
    uint64_t start_ns;
    uint64_t compute_ns; /* time of the consumer's thread */
    uint64_t window;     /* batches that the loader may have in flight; 0: it has no workers */
    size_t in_flight;    /* batches submitted and not yet waited for, the oldest first */
    struct flight flights[RUE_MODEL_IN_FLIGHT_MAX];
};

static enum rue_outcome status_outcome(rue_status status)
{
    if (status == RUE_OK) return RUE_TRIAL_OK;
    if (status == RUE_TIMEOUT) return RUE_TRIAL_TIMEOUT;
    return status == RUE_INFEASIBLE || status == RUE_MEMORY ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED;
}

static size_t request_batch_bytes(const struct rue_trial_request *request)
{
    uint64_t values = request->workload.item_values;
    return (size_t)request->config.value[RUE_BATCH_SIZE] * (values ? values : RUE_TENSOR_ITEMS) *
           rue_dtype_bytes[request->workload.batch_dtype];
}

/* Memory of the batches of one loader, and of its cache of chunks. */
static uint64_t needed_bytes(const struct rue_trial_request *request, size_t held)
{
    struct rue_loader_options options = rue_trial_loader_options(request);
    options.max_held = (int)held;
    return request->measure == RUE_COMPUTE
               ? request_batch_bytes(request)
               : rue_loader_slab_bytes(&options) + request->workload.chunk_cache_bytes;
}

static bool fits_limit(const struct rue_trial_request *request, size_t held)
{
    uint64_t limit = request->limits.memory_bytes;
    return !limit || needed_bytes(request, held) <= limit;
}

bool rue_trial_fits_limit(const struct rue_trial_request *request)
{
    uint64_t limit = request->limits.memory_bytes, loaders = rue_workload_loaders(&request->workload);
    return !limit || needed_bytes(request, 1) <= limit / loaders;
}

static void return_batch(struct run *run, struct rue_batch *batch)
{
    if (run->loader) rue_loader_release(run->loader, batch);
}

static rue_status submit_batch(struct run *run, struct rue_batch *batch, rue_error *error)
{
    struct flight *flight = &run->flights[run->in_flight];
    flight->batch = batch;
    rue_status status = run->model->ops->submit(run->model->state, batch, &flight->ticket, error);
    if (status == RUE_OK)
        run->in_flight++;
    else
        return_batch(run, batch);
    return status;
}

/* Waits for the oldest batch, and returns it to the loader. */
static rue_status finish_batch(struct run *run, rue_error *error)
{
    struct flight oldest = run->flights[0];
    rue_status status = run->model->ops->wait(run->model->state, oldest.ticket, error);
    memmove(run->flights, run->flights + 1, --run->in_flight * sizeof *run->flights);
    return_batch(run, oldest.batch);
    return status;
}

/* The model must finish all batches before they are freed, also after an error. */
static rue_status finish_all_batches(struct run *run, rue_status status, rue_error *error)
{
    while (run->in_flight) {
        rue_status landed = finish_batch(run, error);
        if (status == RUE_OK) status = landed;
    }
    return status;
}

static rue_status consume_batch(struct run *run, struct rue_batch *batch, rue_error *error)
{
    rue_status status = submit_batch(run, batch, error);
    bool full = run->in_flight == rue_model_in_flight(run->model);
    return status == RUE_OK && full ? finish_batch(run, error) : status;
}

static rue_status check_time(const struct run *run, uint64_t now_ns, rue_error *error)
{
    uint64_t limit = run->request->limits.time_ns;
    if (!limit || now_ns - run->start_ns <= limit) return RUE_OK;
    char text[RUE_UNIT_TEXT_BYTES];
    return rue_fail(error, RUE_TIMEOUT, "exceeded its time limit of %s after %" PRId64 " images",
                    rue_format_duration(limit, text, sizeof text), run->result->images);
}

/* Counts the time from `begin` to `end` as computing, of the batch that was received last. */
static void count_computing(struct run *run, uint64_t begin, uint64_t end)
{
    struct rue_trial_result *result = run->result;
    run->compute_ns += end - begin;
    if (result->batch_compute_ns && result->compute_count)
        result->batch_compute_ns[result->compute_count - 1] += end - begin;
}

static void count_queue(struct run *run, const struct rue_batch *batch)
{
    struct rue_trial_result *result = run->result;
    if (!run->window) return;
    if (result->batch_queued) result->batch_queued[result->queued_count++] = batch->queued;
    result->queue_fills += batch->queued == run->window;
    if (batch->index == 0 || batch->queued > 0) return;
    if (result->queue_waits++ == 0) result->queue_empty_batch = (int64_t)batch->index;
}

static rue_status consume_next(struct run *run, bool *more, rue_error *error)
{
    struct rue_trial_result *result = run->result;
    struct rue_batch *batch;
    rue_status status = rue_loader_next(run->loader, &batch, error);
    uint64_t received_ns = rue_clock_now_ns();
    *more = status == RUE_OK && batch;
    if (!*more) return status;
    if (result->batches == 0) result->first_batch_ns = (int64_t)(received_ns - run->start_ns);
    if (result->batch_ready_ns) result->batch_ready_ns[result->ready_count++] = received_ns - run->start_ns;
    if (result->batch_compute_ns) result->compute_count++;
    if (result->batch_images) result->batch_images[result->images_count++] = batch->count;
    count_queue(run, batch);
    result->images += (int64_t)batch->count;
    result->batches++;
    status = consume_batch(run, batch, error);
    uint64_t done = rue_clock_now_ns();
    count_computing(run, received_ns, done);
    return status == RUE_OK ? check_time(run, done, error) : status;
}

/* Consumes all batches. In the rest of the time the consumer waits for the loader. */
static rue_status consume_all(struct run *run, rue_error *error)
{
    bool more = true;
    rue_status status = RUE_OK;
    while (status == RUE_OK && more) status = consume_next(run, &more, error);
    if (!run->in_flight) return status;
    uint64_t start = rue_clock_now_ns();
    status = finish_all_batches(run, status, error);
    count_computing(run, start, rue_clock_now_ns());
    return status;
}

/* Absent where the clocks of CPU time stand still, as in some sandboxes. */
static void record_cpus(struct rue_trial_result *result, const struct rue_usage *before,
                        const struct rue_usage *after, uint64_t wall_ns)
{
    double seconds = (double)wall_ns / 1e9, idle_s = after->cpus.idle_s - before->cpus.idle_s,
           stolen_s = after->cpus.stolen_s - before->cpus.stolen_s,
           busy_s = after->cpus.busy_s - before->cpus.busy_s;
    if (wall_ns == 0) return;
    if (after->cpu_ns > before->cpu_ns)
        result->cpu_ratio = (double)(after->cpu_ns - before->cpu_ns) / (double)wall_ns;
    if (after->waited_s >= before->waited_s)
        result->cpu_waited_ratio = (after->waited_s - before->waited_s) / seconds;
    if (!(idle_s >= 0 && stolen_s >= 0 && idle_s + stolen_s + busy_s > 0)) return;
    result->cpu_idle_ratio = idle_s / seconds;
    result->cpu_stolen_ratio = stolen_s / seconds;
}

static void record_usage(struct rue_trial_result *result, const struct rue_usage *before,
                         const struct rue_usage *after, uint64_t wall_ns)
{
    result->read_bytes = (int64_t)(after->read_bytes - before->read_bytes);
    record_cpus(result, before, after, wall_ns);
    /* The kernel has one peak for both kinds of memory, and may evict file-backed memory earlier. */
    uint64_t file = after->file_bytes > before->file_bytes ? after->file_bytes : before->file_bytes;
    uint64_t anon_peak = after->peak_bytes > file ? after->peak_bytes - file : 0;
    result->anon_peak_bytes = (int64_t)(anon_peak > after->anon_bytes ? anon_peak : after->anon_bytes);
    result->file_peak_bytes = (int64_t)after->file_bytes;
}

static struct rue_model_times device_times(const struct run *run)
{
    return run->model->ops->times ? run->model->ops->times(run->model->state) : (struct rue_model_times){0};
}

/* Device times since `before`. */
static void record_device(struct run *run, struct rue_model_times before)
{
    if (!run->model->ops->times) return;
    struct rue_model_times now = device_times(run);
    run->result->h2d_ns = (int64_t)(now.h2d_ns - before.h2d_ns);
    run->result->device_ns = (int64_t)(now.device_ns - before.device_ns);
}

static rue_status wait_for_start(const struct run *run, rue_error *error)
{
    return run->start ? run->start->wait(run->start->context, error) : RUE_OK;
}

/* Opens the loader, consumes all batches, joins the workers. This is the time of the trial. */
static rue_status run_loader(struct run *run, const struct rue_source *source,
                             const struct rue_loader_options *options, rue_error *error)
{
    struct rue_trial_result *result = run->result;
    rue_status status = wait_for_start(run, error);
    if (status != RUE_OK) return status;
    const struct rue_model_ops *ops = run->model->ops;
    uint64_t overshoot = ops->overshoot_ns ? ops->overshoot_ns(run->model->state) : 0;
    struct rue_model_times device = device_times(run);
    rue_usage_reset_peak();
    struct rue_usage before = rue_usage_read();
    run->start_ns = rue_clock_now_ns();
    status = rue_loader_open(source, options, &run->loader, error);
    if (status != RUE_OK) return status;
    result->images = result->batches = 0;
    if (run->window) result->queue_waits = result->queue_fills = 0;
    status = consume_all(run, error);
    uint64_t last = rue_clock_now_ns();
    rue_loader_stop(run->loader);
    uint64_t end = rue_clock_now_ns();
    struct rue_usage after = rue_usage_read();
    record_usage(result, &before, &after, end - run->start_ns);
    result->end_to_end_ns = (int64_t)(end - run->start_ns);
    result->compute_ns = (int64_t)run->compute_ns;
    result->shutdown_ns = (int64_t)(end - last);
    result->load_wait_ns = result->end_to_end_ns - result->compute_ns - result->shutdown_ns;
    rue_error example = {0};
    result->bad_images = (int64_t)rue_loader_bad_images(run->loader, &example);
    if (result->bad_images && status == RUE_OK)
        snprintf(result->reason, sizeof result->reason,
                 "replaced %" PRId64 " damaged images, for example: %s", result->bad_images, example.message);
    if (ops->overshoot_ns)
        result->sleep_overshoot_ns = (int64_t)(ops->overshoot_ns(run->model->state) - overshoot);
    record_device(run, device);
    return status;
}

/* Runs the model once: the first run is always slower. */
static rue_status warm_model(struct run *run, struct rue_batch *batch, rue_error *error)
{
    uint64_t start = rue_clock_now_ns();
    rue_status status = finish_all_batches(run, consume_batch(run, batch, error), error);
    run->result->warmup_ns = (int64_t)(rue_clock_now_ns() - start);
    return status;
}

/* Allocates the times of the batches. */
static rue_status open_detail(struct run *run, struct rue_loader_options *options, rue_error *error)
{
    struct rue_trial_result *result = run->result;
    uint64_t batches = rue_loader_batches(options);
    if (!run->request->detail || batches > RUE_BATCH_TIMES_MAX) return RUE_OK;
    bool complete = true;
#define X(list, count, text) complete = (result->list = calloc(batches, sizeof *result->list)) && complete;
    RUE_TRIAL_LISTS(X)
#undef X
    if (!complete) return rue_fail_memory(error, "the times of batches", 5 * batches * sizeof(uint64_t));
    options->batch_load_ns = result->batch_load_ns;
    return RUE_OK;
}

/* Makes the data warm or cold, before the time of the trial begins. */
static rue_status prepare_data(struct run *run, rue_error *error)
{
    const char *cache = run->request->workload.cache;
    if (strcmp(cache, RUE_CACHE_COLD) == 0 && !rue_residency_evict(run->residency))
        return rue_fail(
            error, RUE_USAGE,
            "the data cannot be read cold: the format does not say which files hold them; use a warm cache");
    return strcmp(cache, RUE_CACHE_WARM) == 0 ? rue_residency_warm(run->residency, error) : RUE_OK;
}

/* Checks that the trial was warm or cold as requested; if not, adds the reason. */
static void judge_data(struct run *run)
{
    struct rue_trial_result *result = run->result;
    char why[RUE_REASON_BYTES / 2];
    result->data_bytes = (int64_t)rue_residency_bytes(run->residency);
    /* With several loaders, one may find data in memory that another has read: only their sum is judged. */
    if (rue_workload_loaders(&run->request->workload) > 1) return;
    result->cache_missed = !rue_residency_judge(run->residency, &run->request->workload,
                                                (uint64_t)result->read_bytes, why, sizeof why);
    if (result->cache_missed) rue_trial_result_add_reason(result, why);
}

/* The allocator of the trial's batches; NULL: the default. */
static const struct rue_slab_allocator *slab_allocator(const struct run *run)
{
    const struct rue_model_ops *ops = run->model->ops;
    bool pinned = ops->slabs && run->request->config.value[RUE_PIN_MEMORY];
    return pinned ? ops->slabs(run->model->state) : NULL;
}

/* Prepares the model for the loader's batches, and sets their allocator. */
static rue_status prepare_model(struct run *run, struct rue_loader_options *options, rue_error *error)
{
    const struct rue_model_ops *ops = run->model->ops;
    size_t batch = (size_t)options->batch_size;
    uint64_t images = rue_loader_images(options);
    size_t largest = images < batch ? (size_t)images : batch;
    options->max_held = (int)rue_model_in_flight(run->model);
    rue_status status = RUE_OK;
    if (ops->fixed_sizes && rue_batch_least(options->batch_strategy, batch) < batch)
        return rue_fail(error, RUE_USAGE, "model %s computes batches of one size: use batch_strategy fixed",
                        ops->name);
    if (ops->prepare && largest) {
        const struct rue_model_input input = {largest, (size_t)(images % largest), options->fetcher.dtype,
                                              rue_loader_slab_bytes(options), options->item_values};
        status = ops->prepare(run->model->state, &input, error);
    }
    options->allocator = slab_allocator(run);
    return status;
}

static rue_status run_joint(struct run *run, const struct rue_source *source, rue_error *error)
{
    struct rue_loader_options options = rue_trial_loader_options(run->request);
    const struct rue_sampler order = rue_loader_sampler(&options);
    struct rue_views views;
    rue_status status = rue_trial_views(&run->request->workload, &views, &options, error);
    if (status != RUE_OK) return status;
    options.item_values = rue_fetcher_shape(source, &options.fetcher).all_values;
    status = rue_residency_open(source, &order, options.images, &run->residency, error);
    if (status == RUE_OK) status = prepare_data(run, error);
    if (status == RUE_OK) status = prepare_model(run, &options, error);
    if (status == RUE_OK) status = open_detail(run, &options, error);
    if (options.num_workers)
        run->window = rue_config_window(&run->request->config, rue_loader_batches(&options));
    if (status == RUE_OK) status = run_loader(run, source, &options, error);
    rue_loader_close(run->loader);
    if (status == RUE_OK) status = rue_source_check(source, error);
    if (status == RUE_OK) judge_data(run);
    rue_residency_close(run->residency);
    if (options.batch_load_ns) run->result->load_count = run->result->ready_count;
    return status;
}

/* Allocates the resident batch, and the times of `count` batches. */
static rue_status open_resident(struct run *run, size_t count, const struct rue_slab_allocator *slabs,
                                size_t bytes, struct rue_batch *out, rue_error *error)
{
    struct rue_trial_result *result = run->result;
    out->labels = calloc(out->count, sizeof *out->labels);
    out->images = out->labels ? slabs->allocate(slabs->context, bytes) : NULL;
    result->batch_compute_ns = calloc(count, sizeof *result->batch_compute_ns);
    if (!out->images && slabs->memory_kind)
        return rue_fail(error, RUE_INFEASIBLE, "could not allocate %zu bytes of %s; use smaller batches",
                        bytes, slabs->memory_kind);
    return out->images && result->batch_compute_ns ? RUE_OK
                                                   : rue_fail_memory(error, "a resident batch", bytes);
}

/* Keeps as many batches in flight as the model allows. A batch's time begins when the previous one ends. */
static rue_status compute_all(struct run *run, struct rue_batch *batch, size_t count, uint64_t *mark,
                              rue_error *error)
{
    struct rue_trial_result *result = run->result;
    rue_status status = RUE_OK;
    for (size_t submitted = 0; status == RUE_OK && result->compute_count < count;) {
        for (; status == RUE_OK && submitted < count && run->in_flight < rue_model_in_flight(run->model);
             submitted++)
            status = submit_batch(run, batch, error);
        if (status == RUE_OK) status = finish_batch(run, error);
        if (status != RUE_OK) break;
        uint64_t done = rue_clock_now_ns();
        result->batch_compute_ns[result->compute_count++] = done - *mark;
        *mark = done;
        result->batches++;
        result->images += (int64_t)batch->count;
        status = check_time(run, done, error);
    }
    return finish_all_batches(run, status, error);
}

/* Runs the model on one resident batch, without a loader. */
static rue_status run_compute(struct run *run, rue_error *error)
{
    struct rue_trial_result *result = run->result;
    const struct rue_model_ops *ops = run->model->ops;
    size_t size = (size_t)run->request->config.value[RUE_BATCH_SIZE];
    size_t count = run->request->batches < 1 ? 1 : run->request->batches;
    size_t bytes = request_batch_bytes(run->request);
    if (count > RUE_BATCH_TIMES_MAX)
        return rue_fail(error, RUE_USAGE, "more than %d batches requested", RUE_BATCH_TIMES_MAX);
    if (run->request->limits.memory_bytes && bytes > run->request->limits.memory_bytes)
        return rue_fail(error, RUE_INFEASIBLE,
                        "a batch of %zu images needs %zu bytes, and the limit is %" PRIu64, size, bytes,
                        run->request->limits.memory_bytes);
    const struct rue_model_input input = {.images = size,
                                          .dtype = run->request->workload.batch_dtype,
                                          .batch_bytes = bytes,
                                          .item_values = run->request->workload.item_values};
    rue_status status = ops->prepare ? ops->prepare(run->model->state, &input, error) : RUE_OK;
    if (status != RUE_OK) return status;
    const struct rue_slab_allocator *slabs = slab_allocator(run);
    if (!slabs) slabs = &rue_slab_allocator_default;
    struct rue_batch batch = {.count = size};
    status = open_resident(run, count, slabs, bytes, &batch, error);
    if (status == RUE_OK) status = warm_model(run, &batch, error);
    if (status == RUE_OK) status = wait_for_start(run, error);
    struct rue_model_times device = device_times(run);
    struct rue_usage before = rue_usage_read();
    run->start_ns = rue_clock_now_ns();
    uint64_t mark = run->start_ns;
    result->images = result->batches = 0;
    if (status == RUE_OK) status = compute_all(run, &batch, count, &mark, error);
    record_device(run, device);
    result->compute_ns = result->end_to_end_ns = (int64_t)(mark - run->start_ns);
    struct rue_usage after = rue_usage_read();
    record_cpus(result, &before, &after, mark - run->start_ns);
    if (batch.images) slabs->release(slabs->context, batch.images, bytes);
    free(batch.labels);
    return status;
}

void rue_trial_run(const struct rue_trial_start *start, const struct rue_trial_request *request,
                   const struct rue_source *source, struct rue_model *model, struct rue_trial_result *result)
{
    *result = rue_trial_result_empty();
    result->config = request->config;
    rue_clock_remove_slack();
    rue_error error = {0};
    struct run run = {.request = request, .model = model, .result = result, .start = start};
    rue_status status =
        request->measure == RUE_COMPUTE ? run_compute(&run, &error) : run_joint(&run, source, &error);
    result->outcome = status_outcome(status);
    result->data_fault = status == RUE_DATA;
    result->spent = status == RUE_INTERNAL;
    /* The limit was not the reason, so the system refused; the reason says what to do. */
    bool fits = fits_limit(request, rue_model_in_flight(model));
    if (result->outcome == RUE_TRIAL_INFEASIBLE && fits) result->refused = 1;
    if (status == RUE_OK && model->ops->caveat)
        rue_trial_result_add_reason(result, model->ops->caveat(model->state));
    if (status != RUE_OK)
        rue_error_shorten(error.message[0] ? error.message : rue_status_text(status), result->reason,
                          sizeof result->reason);
}
