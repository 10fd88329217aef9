#include "fetcher.h"

#include <assert.h>
#include <stdlib.h>

#include "machine.h"

enum { RUN_BYTES = 16 << 20 /* at once: enough to keep storage busy, soon over when a loader stops */ };

struct rue_fetcher {
    const struct rue_source *source;
    struct rue_fetcher_options options;
    enum rue_mode mode;
    enum rue_dtype stored;           /* of preprocessed items */
    struct rue_transform *transform; /* of raw data */
    unsigned char *item;             /* [item_capacity] bytes as they lie on storage, aligned to blocks */
    size_t item_capacity;
};

size_t rue_fetcher_tensor_bytes(enum rue_dtype dtype)
{
    return (size_t)RUE_TENSOR_ITEMS * rue_dtype_bytes[dtype];
}

static enum rue_access best_access(const struct rue_source *source)
{
    if (rue_source_allows(source, RUE_ACCESS_VIEW)) return RUE_ACCESS_VIEW;
    uint64_t bytes = rue_source_count(source) * rue_source_bytes(source, 0);
    bool fits = bytes < rue_machine_read().memory_bytes;
    return !fits && rue_source_allows(source, RUE_ACCESS_DIRECT) ? RUE_ACCESS_DIRECT : RUE_ACCESS_READ;
}

enum rue_access rue_fetcher_access(const struct rue_source *source, enum rue_access wanted)
{
    if (wanted == RUE_ACCESS_BEST) return best_access(source);
    return rue_source_allows(source, wanted) ? wanted : RUE_ACCESS_READ;
}

static rue_status check_tensors(struct rue_fetcher *fetcher, rue_error *error)
{
    struct rue_variant variant = rue_source_variant(fetcher->source);
    uint32_t shape[3] = {0};
    fetcher->stored = (enum rue_dtype)rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, variant.dtype);
    if (!rue_source_shape(fetcher->source, shape) || shape[0] != RUE_CHANNELS || shape[1] != RUE_CROP ||
        shape[2] != RUE_CROP)
        return rue_fail(error, RUE_DATA, "%s holds images of %u x %u x %u, not of %d x %d x %d", variant.path,
                        shape[0], shape[1], shape[2], RUE_CHANNELS, RUE_CROP, RUE_CROP);
    if (fetcher->stored == RUE_FLOAT32 && fetcher->options.dtype == RUE_UINT8)
        return rue_fail(
            error, RUE_USAGE,
            "%s holds normalised float32 values, which cannot be made uint8 again; start from the JPEG files",
            variant.path);
    fetcher->options.access = rue_fetcher_access(fetcher->source, fetcher->options.access);
    return RUE_OK;
}

rue_status rue_fetcher_open(const struct rue_source *source, const struct rue_fetcher_options *options,
                            struct rue_fetcher **out, rue_error *error)
{
    struct rue_fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (!fetcher) return rue_fail_memory(error, "a fetcher", sizeof *fetcher);
    fetcher->source = source;
    fetcher->options = *options;
    fetcher->mode = rue_source_variant(source).mode;
    rue_status status = fetcher->mode == RUE_RAW ? rue_transform_open(options->max_pixels, options->decode,
                                                                      &fetcher->transform, error)
                                                 : check_tensors(fetcher, error);
    if (status != RUE_OK) return rue_fetcher_close(fetcher), status;
    *out = fetcher;
    return RUE_OK;
}

void rue_fetcher_close(struct rue_fetcher *fetcher)
{
    if (!fetcher) return;
    rue_transform_close(fetcher->transform);
    free(fetcher->item);
    free(fetcher);
}

static size_t round_up(size_t bytes)
{
    return (bytes + RUE_BLOCK_BYTES - 1) / RUE_BLOCK_BYTES * RUE_BLOCK_BYTES;
}

/* Room for an item, aligned to blocks and of whole blocks. */
static rue_status reserve(struct rue_fetcher *fetcher, size_t bytes, rue_error *error)
{
    if (bytes <= fetcher->item_capacity) return RUE_OK;
    size_t capacity = round_up(bytes + bytes / 2);
    free(fetcher->item);
    fetcher->item_capacity = 0;
    fetcher->item = aligned_alloc(RUE_BLOCK_BYTES, capacity);
    if (!fetcher->item) return rue_fail_memory(error, "an item", capacity);
    fetcher->item_capacity = capacity;
    return RUE_OK;
}

/* No JPEG of so many pixels has more bytes: CMYK noise of the finest quality has 7.6 a pixel; and room for
 * metadata. */
static uint64_t largest_jpeg(const struct rue_fetcher *fetcher)
{
    return fetcher->options.max_pixels * 8 + (UINT64_C(64) << 20);
}

static rue_status fetch_raw(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    uint64_t bytes = rue_source_bytes(fetcher->source, item);
    char name[PATH_MAX];
    rue_error reason = {0};
    rue_source_name(fetcher->source, item, name, sizeof name);
    if (bytes > largest_jpeg(fetcher))
        return rue_fail(error, RUE_DATA, "%s has %llu bytes: too many for a JPEG file", name,
                        (unsigned long long)bytes);
    rue_status status = reserve(fetcher, bytes, error);
    if (status == RUE_OK) status = rue_source_read(fetcher->source, item, fetcher->item, error);
    if (status != RUE_OK) return status;
    status =
        rue_transform_jpeg(fetcher->transform, fetcher->item, bytes, fetcher->options.dtype, tensor, &reason);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s %s", name, reason.message);
}

/* Items of the stored type are the tensor, levels become one. */
static void make_tensor(const struct rue_fetcher *fetcher, const void *item, void *tensor)
{
    if (fetcher->stored == fetcher->options.dtype)
        rue_transform_copy(item, rue_fetcher_tensor_bytes(fetcher->stored), tensor);
    else
        rue_transform_normalize(item, tensor);
}

static rue_status fetch_view(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    const void *view;
    rue_status status = rue_source_view(fetcher->source, item, &view, error);
    if (status == RUE_OK) make_tensor(fetcher, view, tensor);
    return status;
}

/* Whether what lies on storage, to the next item, is the tensor. */
static bool is_stored_as_loaded(const struct rue_fetcher *fetcher)
{
    return fetcher->stored == fetcher->options.dtype &&
           rue_source_stride(fetcher->source) == rue_fetcher_tensor_bytes(fetcher->stored);
}

/* Straight into `count` tensors. */
static rue_status read_tensors(struct rue_fetcher *fetcher, uint64_t item, uint64_t count, void *tensors,
                               rue_error *error)
{
    bool aligned = (uintptr_t)tensors % RUE_BLOCK_BYTES == 0;
    enum rue_access access = aligned ? fetcher->options.access : RUE_ACCESS_READ;
    return rue_source_read_run(fetcher->source, access, item, count, tensors, error);
}

static rue_status fetch_direct(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (is_stored_as_loaded(fetcher)) return read_tensors(fetcher, item, 1, tensor, error);
    rue_status status = reserve(fetcher, rue_source_stride(fetcher->source), error);
    if (status == RUE_OK)
        status = rue_source_read_run(fetcher->source, RUE_ACCESS_DIRECT, item, 1, fetcher->item, error);
    if (status == RUE_OK) make_tensor(fetcher, fetcher->item, tensor);
    return status;
}

static rue_status fetch_read(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (fetcher->stored == fetcher->options.dtype)
        return rue_source_read(fetcher->source, item, tensor, error);
    rue_status status = reserve(fetcher, rue_source_bytes(fetcher->source, item), error);
    if (status == RUE_OK) status = rue_source_read(fetcher->source, item, fetcher->item, error);
    if (status == RUE_OK) make_tensor(fetcher, fetcher->item, tensor);
    return status;
}

static rue_status fetch_tensor(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (fetcher->options.access == RUE_ACCESS_VIEW) return fetch_view(fetcher, item, tensor, error);
    if (fetcher->options.access == RUE_ACCESS_DIRECT) return fetch_direct(fetcher, item, tensor, error);
    return fetch_read(fetcher, item, tensor, error);
}

size_t rue_fetcher_run_max(const struct rue_fetcher *fetcher)
{
    if (fetcher->mode == RUE_RAW || fetcher->options.access == RUE_ACCESS_VIEW ||
        !is_stored_as_loaded(fetcher))
        return 1;
    return RUN_BYTES / rue_fetcher_tensor_bytes(fetcher->stored);
}

rue_status rue_fetcher_fetch_run(struct rue_fetcher *fetcher, uint64_t item, size_t count, void *tensors,
                                 int32_t *labels, rue_error *error)
{
    assert(count <= rue_fetcher_run_max(fetcher));
    rue_status status = read_tensors(fetcher, item, count, tensors, error);
    for (size_t i = 0; status == RUE_OK && i < count; i++)
        status = rue_source_label(fetcher->source, item + i, &labels[i], error);
    return status;
}

rue_status rue_fetcher_fetch(struct rue_fetcher *fetcher, uint64_t item, void *tensor, int32_t *label,
                             rue_error *damage, rue_error *error)
{
    uint64_t count = rue_source_count(fetcher->source);
    for (uint64_t tried = 0;; tried++, item = (item + 1) % count) {
        rue_error why = {0};
        rue_status status = fetcher->mode == RUE_RAW ? fetch_raw(fetcher, item, tensor, &why)
                                                     : fetch_tensor(fetcher, item, tensor, &why);
        if (status == RUE_OK) status = rue_source_label(fetcher->source, item, label, &why);
        if (status == RUE_OK) return RUE_OK;
        bool replace =
            fetcher->options.bad_images == RUE_BAD_REPLACE && status == RUE_DATA && tried + 1 < count;
        if (!replace) return rue_fail(error, status, "%s", why.message);
        if (tried == 0) rue_fail(damage, status, "%s", why.message);
    }
}
