#include "fetcher.h"

#include <stdlib.h>

struct rue_fetcher {
    const struct rue_source *source;
    struct rue_fetcher_options options;
    struct rue_variant variant;
    struct rue_transform *transform; /* of raw data */
    unsigned char *item;             /* [item_capacity] bytes as they lie on storage */
    size_t item_capacity;
};

size_t rue_fetcher_tensor_bytes(enum rue_dtype dtype)
{
    return (size_t)RUE_TENSOR_ITEMS * rue_dtype_bytes[dtype];
}

static enum rue_dtype stored_dtype(const struct rue_fetcher *fetcher)
{
    return (enum rue_dtype)rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, fetcher->variant.dtype);
}

static rue_status check_tensors(const struct rue_fetcher *fetcher, rue_error *error)
{
    enum rue_dtype stored = stored_dtype(fetcher);
    if (rue_source_bytes(fetcher->source, 0) != rue_fetcher_tensor_bytes(stored))
        return rue_fail(error, RUE_DATA, "%s does not hold images of %d x %d x %d", fetcher->variant.path,
                        RUE_CHANNELS, RUE_CROP, RUE_CROP);
    if (stored == RUE_FLOAT32 && fetcher->options.dtype == RUE_UINT8)
        return rue_fail(
            error, RUE_USAGE,
            "%s holds normalised float32 values, which cannot be made uint8 again; start from the JPEG files",
            fetcher->variant.path);
    return RUE_OK;
}

rue_status rue_fetcher_open(const struct rue_source *source, const struct rue_fetcher_options *options,
                            struct rue_fetcher **out, rue_error *error)
{
    struct rue_fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (!fetcher) return rue_fail_memory(error, "a fetcher", sizeof *fetcher);
    fetcher->source = source;
    fetcher->options = *options;
    fetcher->variant = rue_source_variant(source);
    rue_status status = fetcher->variant.mode == RUE_RAW
                            ? rue_transform_open(options->max_pixels, &fetcher->transform, error)
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

static rue_status reserve(struct rue_fetcher *fetcher, size_t bytes, rue_error *error)
{
    if (bytes <= fetcher->item_capacity) return RUE_OK;
    size_t capacity = bytes + bytes / 2;
    unsigned char *grown = realloc(fetcher->item, capacity);
    if (!grown) return rue_fail_memory(error, "an item", capacity);
    fetcher->item = grown;
    fetcher->item_capacity = capacity;
    return RUE_OK;
}

static rue_status fetch_raw(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    size_t bytes = rue_source_bytes(fetcher->source, item);
    rue_status status = reserve(fetcher, bytes, error);
    if (status == RUE_OK) status = rue_source_read(fetcher->source, item, fetcher->item, error);
    if (status != RUE_OK) return status;
    rue_error reason = {0};
    status =
        rue_transform_jpeg(fetcher->transform, fetcher->item, bytes, fetcher->options.dtype, tensor, &reason);
    if (status == RUE_OK) return RUE_OK;
    char name[PATH_MAX];
    rue_source_name(fetcher->source, item, name, sizeof name);
    return rue_fail(error, status, "%s %s", name, reason.message);
}

static rue_status fetch_tensor(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (stored_dtype(fetcher) == fetcher->options.dtype)
        return rue_source_read(fetcher->source, item, tensor, error);
    rue_status status = reserve(fetcher, rue_source_bytes(fetcher->source, item), error);
    if (status == RUE_OK) status = rue_source_read(fetcher->source, item, fetcher->item, error);
    if (status == RUE_OK) rue_transform_normalize(fetcher->item, tensor);
    return status;
}

rue_status rue_fetcher_fetch(struct rue_fetcher *fetcher, uint64_t item, void *tensor, int32_t *label,
                             uint64_t *bad, rue_error *error)
{
    uint64_t count = rue_source_count(fetcher->source);
    for (uint64_t tried = 0; tried < count; tried++, item = (item + 1) % count) {
        bool replace = fetcher->options.bad_images == RUE_BAD_REPLACE && tried + 1 < count;
        rue_error why = {0};
        rue_status status = fetcher->variant.mode == RUE_RAW ? fetch_raw(fetcher, item, tensor, &why)
                                                             : fetch_tensor(fetcher, item, tensor, &why);
        if (status == RUE_OK) return *label = rue_source_label(fetcher->source, item), RUE_OK;
        *bad += status == RUE_DATA;
        if (!replace || status != RUE_DATA) return rue_fail(error, status, "%s", why.message);
    }
    return RUE_DATA;
}
