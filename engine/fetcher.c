#include "fetcher.h"

#include <stdlib.h>

struct rue_fetcher {
    const struct rue_source *source;
    struct rue_fetcher_options options;
    enum rue_mode mode;
    enum rue_dtype stored;           /* of preprocessed items */
    struct rue_transform *transform; /* of raw data */
    unsigned char *item;             /* [item_capacity] bytes as they lie on storage */
    size_t item_capacity;
};

size_t rue_fetcher_tensor_bytes(enum rue_dtype dtype)
{
    return (size_t)RUE_TENSOR_ITEMS * rue_dtype_bytes[dtype];
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
    rue_status status = fetcher->mode == RUE_RAW
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

static rue_status fetch_tensor(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (fetcher->stored == fetcher->options.dtype)
        return rue_source_read(fetcher->source, item, tensor, error);
    rue_status status = reserve(fetcher, rue_source_bytes(fetcher->source, item), error);
    if (status == RUE_OK) status = rue_source_read(fetcher->source, item, fetcher->item, error);
    if (status == RUE_OK) rue_transform_normalize(fetcher->item, tensor);
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
        if (status == RUE_OK) return *label = rue_source_label(fetcher->source, item), RUE_OK;
        bool replace =
            fetcher->options.bad_images == RUE_BAD_REPLACE && status == RUE_DATA && tried + 1 < count;
        if (!replace) return rue_fail(error, status, "%s", why.message);
        if (tried == 0) rue_fail(damage, status, "%s", why.message);
    }
}
