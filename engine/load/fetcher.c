#include "fetcher.h"

#include <stdlib.h>
#include <string.h>

#include "item_queue.h"
#include "machine.h"
#include "made_with.h"
#include "read_ahead.h"

struct rue_fetcher {
    const struct rue_source *source;
    struct rue_fetcher_options options;
    enum rue_mode mode;
    enum rue_dtype stored;        /* dtype of preprocessed items */
    uint32_t shape[3];            /* of preprocessed items */
    struct rue_read_ahead *ahead; /* for preprocessed items in an open file; else NULL */
    struct rue_transform *transform;
    bool trains;
    uint32_t epoch;
    struct rue_item_queue queue; /* raw items that were prefetched */
    unsigned char *item;         /* [item_capacity] bytes of the item on storage */
    size_t item_capacity;
};

static struct rue_geometry used_geometry(const struct rue_fetcher_options *options)
{
    return options->geometry.height ? options->geometry : rue_geometry_default();
}

struct rue_item_shape rue_fetcher_shape(const struct rue_source *source,
                                        const struct rue_fetcher_options *options)
{
    const struct rue_view plain = {0};
    const struct rue_geometry geometry = used_geometry(options);
    struct rue_item_shape out = {.views = options->views ? options->views->count : 1};
    for (uint32_t v = 0; v < out.views; v++) {
        const struct rue_geometry own =
            rue_view_geometry(options->views ? &options->views->at[v] : &plain, &geometry);
        uint32_t *shape = out.shape[v];
        out.values[v] = rue_geometry_shape(&own, shape);
        if (rue_source_shape(source, shape)) out.values[v] = (uint64_t)shape[0] * shape[1] * shape[2];
        out.all_values += out.values[v];
    }
    return out;
}

static enum rue_access best_access(const struct rue_source *source)
{
    if (rue_source_allows(source, RUE_ACCESS_VIEW)) return RUE_ACCESS_VIEW;
    uint64_t bytes = rue_source_count(source) * rue_source_bytes(source, 0);
    bool fits = bytes < rue_machine_read().memory_bytes;
    return !fits && rue_source_allows(source, RUE_ACCESS_DIRECT) ? RUE_ACCESS_DIRECT : RUE_ACCESS_READ;
}

enum rue_access rue_fetcher_access(const struct rue_source *source, enum rue_access requested)
{
    if (requested == RUE_ACCESS_BEST) return best_access(source);
    return rue_source_allows(source, requested) ? requested : RUE_ACCESS_READ;
}

/* Whether the bytes at the place are the tensor itself. */
static bool is_tensor(const struct rue_fetcher *fetcher, const struct rue_place *place)
{
    return fetcher->stored == fetcher->options.dtype && place->bytes == rue_source_bytes(fetcher->source, 0);
}

static rue_status open_ahead(struct rue_fetcher *fetcher, rue_error *error)
{
    struct rue_place place;
    if (fetcher->options.access == RUE_ACCESS_VIEW || fetcher->options.read == RUE_READ_ITEM ||
        !rue_source_place(fetcher->source, fetcher->options.access, 0, &place) || place.path)
        return RUE_OK;
    size_t blocks = (place.bytes + RUE_BLOCK_BYTES - 1) / RUE_BLOCK_BYTES;
    return rue_read_ahead_open(is_tensor(fetcher, &place) ? 0 : blocks * RUE_BLOCK_BYTES, &fetcher->ahead,
                               error);
}

static rue_status open_tensors(struct rue_fetcher *fetcher, rue_error *error)
{
    struct rue_variant variant = rue_source_variant(fetcher->source);
    const struct rue_geometry geometry = used_geometry(&fetcher->options);
    char items[RUE_MADE_WITH_BYTES];
    rue_source_shape(fetcher->source, fetcher->shape);
    rue_made_with_items(fetcher->shape, rue_source_made_with(fetcher->source), items);
    rue_status status =
        rue_made_with_check(variant.path, items, &geometry, fetcher->options.orientation, false, error);
    if (status != RUE_OK) return status;
    fetcher->stored = (enum rue_dtype)rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, variant.dtype);
    if (fetcher->options.dtype != RUE_FLOAT32 && fetcher->options.dtype != fetcher->stored)
        return rue_fail(error, RUE_USAGE,
                        "%s holds %s values, which cannot be made %s: request float32 batches, or use "
                        "the images themselves",
                        variant.path, variant.dtype, rue_dtype_names[fetcher->options.dtype]);
    fetcher->options.access = rue_fetcher_access(fetcher->source, fetcher->options.access);
    return open_ahead(fetcher, error);
}

static rue_status check_dtype(const struct rue_fetcher *fetcher, rue_error *error)
{
    if (fetcher->options.dtype != RUE_FLOAT16) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "images make batches of float32 or uint8, not of float16");
}

static rue_status open_transform(struct rue_fetcher *fetcher, rue_error *error)
{
    const struct rue_fetcher_options *options = &fetcher->options;
    return rue_transform_open(&(struct rue_transform_options){options->max_pixels, options->decode,
                                                              used_geometry(options), options->orientation,
                                                              options->views},
                              &fetcher->transform, error);
}

static rue_status check_training(const struct rue_fetcher *fetcher, rue_error *error)
{
    if (!fetcher->options.views) return RUE_OK;
    if (fetcher->mode != RUE_RAW)
        return rue_fail(error, RUE_USAGE,
                        "%s holds preprocessed images, whose crop is fixed: the transform train needs the "
                        "images themselves",
                        rue_source_variant(fetcher->source).path);
    if (fetcher->options.decode == RUE_DECODE_EXACT) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "the transform train decodes only exactly");
}

rue_status rue_fetcher_open(const struct rue_source *source, const struct rue_fetcher_options *options,
                            struct rue_fetcher **out, rue_error *error)
{
    struct rue_fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (!fetcher) return rue_fail_memory(error, "a fetcher", sizeof *fetcher);
    fetcher->source = source;
    fetcher->options = *options;
    fetcher->mode = rue_source_variant(source).mode;
    fetcher->trains = options->views;
    rue_status status = check_training(fetcher, error);
    if (status == RUE_OK)
        status = fetcher->mode == RUE_RAW ? check_dtype(fetcher, error) : open_tensors(fetcher, error);
    if (status == RUE_OK) status = open_transform(fetcher, error);
    fetcher->options.views = NULL; /* the transform has a copy */
    if (status != RUE_OK) return rue_fetcher_close(fetcher), status;
    *out = fetcher;
    return RUE_OK;
}

void rue_fetcher_close(struct rue_fetcher *fetcher)
{
    if (!fetcher) return;
    rue_read_ahead_close(fetcher->ahead);
    rue_transform_close(fetcher->transform);
    rue_item_queue_close(&fetcher->queue);
    free(fetcher->item);
    free(fetcher);
}

void rue_fetcher_set_epoch(struct rue_fetcher *fetcher, uint64_t epoch)
{
    fetcher->epoch = (uint32_t)epoch;
}

static rue_status reserve_item(struct rue_fetcher *fetcher, size_t bytes, rue_error *error)
{
    if (bytes <= fetcher->item_capacity) return RUE_OK;
    size_t capacity = bytes + bytes / 2;
    free(fetcher->item);
    fetcher->item_capacity = 0;
    fetcher->item = malloc(capacity);
    if (!fetcher->item) return rue_fail_memory(error, "an item", capacity);
    fetcher->item_capacity = capacity;
    return RUE_OK;
}

/* The largest file of max_pixels: noise in a PNG of 16 bits, or in a CMYK JPEG of the best quality, has 8
 * bytes per pixel; plus metadata. */
static uint64_t largest_image(const struct rue_fetcher *fetcher)
{
    return fetcher->options.max_pixels * 8 + (UINT64_C(64) << 20);
}

static rue_status check_size(const struct rue_fetcher *fetcher, uint64_t bytes, rue_error *error)
{
    if (bytes <= largest_image(fetcher)) return RUE_OK;
    return rue_fail(error, RUE_DATA, "has %llu bytes, more than an image within the pixel limit can have",
                    (unsigned long long)bytes);
}

/* Puts the name of the item before the reason. */
static rue_status fail_item(const struct rue_fetcher *fetcher, uint64_t item, const rue_error *reason,
                            rue_error *error)
{
    char name[PATH_MAX];
    rue_source_name(fetcher->source, item, name, sizeof name);
    return rue_fail(error, reason->status, "%s %s", name, reason->message);
}

/* Reads the item, unless it was prefetched. */
static rue_status read_raw(struct rue_fetcher *fetcher, uint64_t item, const void **out, rue_error *error)
{
    *out = rue_item_queue_pop(&fetcher->queue, item);
    if (*out) return RUE_OK;
    rue_status status = reserve_item(fetcher, rue_source_bytes(fetcher->source, item), error);
    *out = fetcher->item;
    return status == RUE_OK ? rue_source_read(fetcher->source, item, fetcher->item, error) : status;
}

static rue_status transform_item(struct rue_fetcher *fetcher, uint64_t item, const void *jpeg, uint64_t bytes,
                                 void *const tensors[], rue_error *error)
{
    const struct rue_training training = {.key = {.seed = fetcher->options.seed, .epoch = fetcher->epoch},
                                          .item = rue_source_number(fetcher->source, item)};
    enum rue_dtype dtype = fetcher->options.dtype;
    if (!fetcher->trains)
        return rue_transform_jpeg(fetcher->transform, jpeg, bytes, dtype, tensors[0], error);
    return rue_transform_train(fetcher->transform, jpeg, bytes, &training, dtype, tensors, error);
}

static rue_status fetch_raw(struct rue_fetcher *fetcher, uint64_t item, void *const tensors[],
                            rue_error *error)
{
    uint64_t bytes = rue_source_bytes(fetcher->source, item);
    const void *jpeg;
    rue_error reason = {0};
    rue_status status = check_size(fetcher, bytes, &reason);
    if (status != RUE_OK) return fail_item(fetcher, item, &reason, error);
    status = read_raw(fetcher, item, &jpeg, error);
    if (status != RUE_OK) return status;
    status = transform_item(fetcher, item, jpeg, bytes, tensors, &reason);
    return status == RUE_OK ? RUE_OK : fail_item(fetcher, item, &reason, error);
}

rue_status rue_fetcher_verify(struct rue_fetcher *fetcher, uint64_t item, rue_error *error)
{
    uint64_t bytes = rue_source_bytes(fetcher->source, item);
    rue_error reason = {0};
    rue_status status = fetcher->mode == RUE_RAW ? check_size(fetcher, bytes, &reason) : RUE_OK;
    if (status != RUE_OK) return fail_item(fetcher, item, &reason, error);
    status = reserve_item(fetcher, bytes, error);
    if (status == RUE_OK) status = rue_source_read(fetcher->source, item, fetcher->item, error);
    if (status == RUE_OK) status = rue_source_verify(fetcher->source, item, fetcher->item, error);
    if (status != RUE_OK || fetcher->mode != RUE_RAW) return status;
    status = rue_transform_verify(fetcher->transform, fetcher->item, bytes, &reason);
    return status == RUE_OK ? RUE_OK : fail_item(fetcher, item, &reason, error);
}

/* Copies values of the same type; makes float32 of others. */
static void make_tensor(const struct rue_fetcher *fetcher, const void *item, void *tensor)
{
    if (fetcher->stored == fetcher->options.dtype)
        rue_transform_copy(item, rue_source_bytes(fetcher->source, 0), tensor);
    else
        rue_transform_convert(fetcher->transform, fetcher->shape, fetcher->stored, item, tensor);
}

static rue_status fetch_view(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    const void *view;
    rue_status status = rue_source_view(fetcher->source, item, &view, error);
    if (status == RUE_OK) make_tensor(fetcher, view, tensor);
    return status;
}

static bool prefetch_raw(struct rue_fetcher *fetcher, uint64_t item)
{
    if (fetcher->options.read != RUE_READ_BATCH) return false;
    void *into = rue_item_queue_push(&fetcher->queue, item, rue_source_bytes(fetcher->source, item));
    if (!into) return false;
    bool done = rue_source_read(fetcher->source, item, into, NULL) == RUE_OK;
    if (!done) rue_item_queue_drop(&fetcher->queue); /* the fetch reports the error */
    return done;
}

bool rue_fetcher_prefetch(struct rue_fetcher *fetcher, uint64_t item, void *tensor)
{
    struct rue_place place;
    if (fetcher->mode == RUE_RAW) return prefetch_raw(fetcher, item);
    return fetcher->ahead && rue_source_place(fetcher->source, fetcher->options.access, item, &place) &&
           rue_read_ahead_begin(fetcher->ahead, item, &place, is_tensor(fetcher, &place) ? tensor : NULL);
}

void rue_fetcher_discard(struct rue_fetcher *fetcher)
{
    if (fetcher->ahead) rue_read_ahead_discard(fetcher->ahead);
    rue_item_queue_clear(&fetcher->queue);
}

static rue_status fetch_read(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (fetcher->stored == fetcher->options.dtype)
        return rue_source_read(fetcher->source, item, tensor, error);
    rue_status status = reserve_item(fetcher, rue_source_bytes(fetcher->source, item), error);
    if (status == RUE_OK) status = rue_source_read(fetcher->source, item, fetcher->item, error);
    if (status == RUE_OK) make_tensor(fetcher, fetcher->item, tensor);
    return status;
}

static rue_status fetch_ahead(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (!rue_read_ahead_is_busy(fetcher->ahead)) rue_fetcher_prefetch(fetcher, item, tensor);
    const void *bytes = rue_read_ahead_finish(fetcher->ahead, item);
    if (!bytes) return fetch_read(fetcher, item, tensor, error);
    if (bytes != tensor) make_tensor(fetcher, bytes, tensor);
    return RUE_OK;
}

static rue_status fetch_tensor(struct rue_fetcher *fetcher, uint64_t item, void *tensor, rue_error *error)
{
    if (fetcher->options.access == RUE_ACCESS_VIEW) return fetch_view(fetcher, item, tensor, error);
    return fetcher->ahead ? fetch_ahead(fetcher, item, tensor, error)
                          : fetch_read(fetcher, item, tensor, error);
}

rue_status rue_fetcher_fetch(struct rue_fetcher *fetcher, uint64_t item, void *const tensors[],
                             uint64_t *loaded, rue_error *damage, rue_error *error)
{
    uint64_t count = rue_source_count(fetcher->source);
    for (uint64_t tried = 0;; tried++, item = (item + 1) % count) {
        rue_error why = {0};
        rue_status status = fetcher->mode == RUE_RAW ? fetch_raw(fetcher, item, tensors, &why)
                                                     : fetch_tensor(fetcher, item, tensors[0], &why);
        if (status == RUE_OK) return *loaded = item, RUE_OK;
        bool replace =
            fetcher->options.bad_images == RUE_BAD_REPLACE && status == RUE_DATA && tried + 1 < count;
        if (!replace) return rue_fail(error, status, "%s", why.message);
        if (tried == 0) rue_fail(damage, status, "%s", why.message);
    }
}
