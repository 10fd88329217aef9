#include "loader_sizes.h"

#include "batch_plan.h"
#include "units.h"

uint64_t rue_loader_window(const struct rue_loader_options *options, uint64_t images)
{
    uint64_t batches = rue_batch_plan_batches(options, images);
    uint64_t window = (uint64_t)options->num_workers * (uint64_t)options->prefetch_factor;
    uint64_t cap = (uint64_t)options->max_queue_size;
    if (cap && window > cap) window = cap;
    if (window < 1) window = 1;
    return window < batches || batches == 0 ? window : batches;
}

struct rue_sampler rue_loader_sampler(const struct rue_loader_options *options)
{
    struct rue_sampler sampler = options->sampler;
    if (options->batch_strategy == RUE_BATCHES_ROUND_ROBIN) sampler.turn = (uint64_t)options->batch_size;
    return sampler;
}

static uint64_t images_left(const struct rue_loader_options *options)
{
    return options->first < options->images ? options->images - options->first : 0;
}

uint64_t rue_loader_batches(const struct rue_loader_options *options)
{
    return rue_batch_plan_batches(options, images_left(options));
}

uint64_t rue_loader_images(const struct rue_loader_options *options)
{
    return rue_batch_plan_images(options, images_left(options));
}

uint64_t rue_loader_slabs(const struct rue_loader_options *options, uint64_t images)
{
    /* Without workers a loaded batch is delivered at once. */
    uint64_t in_flight = options->num_workers == 0 ? 0 : rue_loader_window(options, images);
    return in_flight + (uint64_t)options->max_held;
}

static uint64_t slab_bytes(const struct rue_loader_options *options)
{
    uint64_t values = options->item_values ? options->item_values : RUE_TENSOR_ITEMS;
    return (uint64_t)options->batch_size * values * rue_dtype_bytes[options->fetcher.dtype];
}

uint64_t rue_loader_slab_bytes(const struct rue_loader_options *options)
{
    uint64_t job = options->job_images > options->images ? options->job_images : options->images;
    return rue_loader_slabs(options, job) * slab_bytes(options);
}

/* `cache`: memory of decoded chunks. */
static rue_status check_memory(const struct rue_loader_options *options, uint64_t cache, rue_error *error)
{
    uint64_t slabs = rue_loader_slab_bytes(options);
    char need[RUE_UNIT_TEXT_BYTES], limit[RUE_UNIT_TEXT_BYTES], part[RUE_UNIT_TEXT_BYTES];
    if (!options->memory_bytes || slabs + cache <= options->memory_bytes) return RUE_OK;
    rue_format_bytes(slabs, need, sizeof need);
    rue_format_bytes(options->memory_bytes, limit, sizeof limit);
    if (cache)
        return rue_fail(error, RUE_INFEASIBLE,
                        "the batches in flight need %s, the cache of chunks %s, and the limit is %s", need,
                        rue_format_bytes(cache, part, sizeof part), limit);
    return rue_fail(error, RUE_INFEASIBLE, "the batches in flight need %s (%llu of %s), and the limit is %s",
                    need, (unsigned long long)(slabs / slab_bytes(options)),
                    rue_format_bytes(slab_bytes(options), part, sizeof part), limit);
}

static rue_status check_ranges(const struct rue_loader_options *options, rue_error *error)
{
    const struct {
        const char *name;
        int value, least, most;
    } bounds[] = {
        {"batch_size", options->batch_size, 1, RUE_BATCH_SIZE_MAX},
        {"num_workers", options->num_workers, 0, RUE_NUM_WORKERS_MAX},
        {"prefetch_factor", options->prefetch_factor, options->num_workers > 0, RUE_PREFETCH_FACTOR_MAX},
        {"max_queue_size", options->max_queue_size, 0, RUE_MAX_QUEUE_SIZE_MAX},
        {"parallelism", (int)options->parallelism, 0, RUE_PARALLEL_SAMPLE},
        {"read", (int)options->fetcher.read, 0, RUE_READ_ITEM},
        {"batch_strategy", (int)options->batch_strategy, 0, RUE_BATCHES_ADAPTIVE}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].value < bounds[i].least || bounds[i].value > bounds[i].most)
            return rue_fail(error, RUE_USAGE, "%s %d is out of range (%d to %d)", bounds[i].name,
                            bounds[i].value, bounds[i].least, bounds[i].most);
    if (options->images == 0 || options->max_held < 1)
        return rue_fail(error, RUE_USAGE, "images and max_held must be at least 1");
    if (options->first > options->images)
        return rue_fail(error, RUE_USAGE, "first %llu is larger than images %llu",
                        (unsigned long long)options->first, (unsigned long long)options->images);
    if (rue_batch_plan_images(options, options->images) == 0)
        return rue_fail(error, RUE_USAGE,
                        "batch_size %d with drop_last skips all %llu images: use a smaller batch_size",
                        options->batch_size, (unsigned long long)options->images);
    if (options->item_values > RUE_ITEM_VALUES_MAX)
        return rue_fail(error, RUE_DATA, "items of %llu values are too large: the limit is %lld",
                        (unsigned long long)options->item_values, (long long)RUE_ITEM_VALUES_MAX);
    return RUE_OK;
}

rue_status rue_loader_check(const struct rue_loader_options *options, uint64_t cache_bytes, rue_error *error)
{
    rue_status status = check_ranges(options, error);
    return status == RUE_OK ? check_memory(options, cache_bytes, error) : status;
}
