#include "trial_options.h"

#include <inttypes.h>

struct rue_sampler rue_workload_sampler(const struct rue_workload *workload)
{
    return (struct rue_sampler){.items = 1,
                                .seed = workload->seed,
                                .epoch = workload->epoch,
                                .shuffle = workload->shuffle,
                                .rank = workload->rank,
                                .world_size = workload->world_size,
                                .share = workload->share};
}

struct rue_loader_options rue_trial_loader_options(const struct rue_trial_request *request)
{
    const struct rue_workload *load = &request->workload;
    const int *value = request->config.value;
    uint64_t batch = (uint64_t)request->config.value[RUE_BATCH_SIZE], images = request->images;
    if (images < request->job_images) images = images < batch ? batch : images / batch * batch;
    if (request->job_images && images > request->job_images) images = request->job_images;
    return (struct rue_loader_options){
        .batch_size = value[RUE_BATCH_SIZE],
        .batch_strategy = (enum rue_batch_strategy)value[RUE_BATCH_STRATEGY],
        .num_workers = value[RUE_NUM_WORKERS],
        .prefetch_factor = value[RUE_PREFETCH_FACTOR],
        .max_queue_size = value[RUE_MAX_QUEUE_SIZE],
        .parallelism = (enum rue_parallelism)value[RUE_PARALLELISM],
        .sampler = rue_workload_sampler(load),
        .images = images,
        .job_images = request->job_images,
        .drop_last = load->drop_last,
        .fetcher = {.dtype = load->batch_dtype,
                    .max_pixels = load->max_pixels,
                    .decode = load->decode,
                    .geometry = rue_workload_geometry(load),
                    .orientation = load->orientation,
                    .bad_images = load->bad_images,
                    .read = (enum rue_read)value[RUE_READ],
                    .seed = load->seed},
        .item_values = load->item_values,
        .memory_bytes = request->limits.memory_bytes,
        .max_held = 1,
    };
}

rue_status rue_trial_views(const struct rue_workload *workload, struct rue_views *views,
                           struct rue_loader_options *options, rue_error *error)
{
    if (!rue_workload_trains(workload)) return RUE_OK;
    options->fetcher.views = views;
    rue_status status = rue_views_parse(workload->augment, views, error);
    uint64_t values = 0;
    for (uint32_t v = 0; status == RUE_OK && v < views->count; v++) {
        const struct rue_geometry geometry = rue_view_geometry(&views->at[v], &options->fetcher.geometry);
        uint32_t shape[3];
        values += rue_geometry_shape(&geometry, shape);
    }
    if (status != RUE_OK || values <= RUE_ITEM_VALUES_MAX) return status;
    return rue_fail(error, RUE_USAGE,
                    "augment: the views of an image have %" PRIu64
                    " values, and the limit is %d: use fewer or smaller ones",
                    values, RUE_ITEM_VALUES_MAX);
}

rue_status rue_trial_item_shape(const struct rue_workload *workload, const struct rue_source *source,
                                struct rue_item_shape *out, rue_error *error)
{
    const struct rue_trial_request request = {.workload = *workload};
    struct rue_loader_options options = rue_trial_loader_options(&request);
    struct rue_views views;
    rue_status status = rue_trial_views(workload, &views, &options, error);
    if (status == RUE_OK) *out = rue_fetcher_shape(source, &options.fetcher);
    return status;
}
