/* A fetcher reads one item and decodes or normalises it into a tensor. It is not thread-safe: use one per
 * thread. Programs that use a loader do not need it. */
#ifndef RUE_FETCHER_H
#define RUE_FETCHER_H

#include "loading.h"
#include "source.h"
#include "transform.h"

struct rue_fetcher;

struct rue_fetcher_options {
    enum rue_dtype dtype;   /* of the tensors: RUE_FLOAT32 or RUE_UINT8; see rue_transform_convert */
    uint64_t max_pixels;    /* images with more pixels are refused; see RUE_MAX_PIXELS_DEFAULT */
    enum rue_decode decode; /* of raw items */
    /* Of raw items. Preprocessed ones must have its shape and must have been made with it, as far as that is
     * recorded (rue_source_made_with); what is the default is not compared. Mean and std are also for those
     * of uint8. Height 0: the default. */
    struct rue_geometry geometry;
    enum rue_orientation orientation; /* the same */
    enum rue_bad_images bad_images;   /* what to do with an item that cannot be decoded */
    /* How preprocessed items are read; RUE_ACCESS_READ if the source does not support it. RUE_ACCESS_BEST
     * views data that are in memory, and uses direct reads for data larger than memory. */
    enum rue_access access;
    /* RUE_READ_ITEM: rue_fetcher_prefetch starts nothing. Else tensors of one file are read ahead, up to 8 at
     * a time; with RUE_READ_BATCH raw items are, too, up to 64 MiB of them. Views and other tensors are not
     * read ahead. */
    enum rue_read read;
    /* (optional) Raw items are transformed for training (rue_transform_train), with random parameters of
     * `seed`, the epoch and the item. Copied by rue_fetcher_open. */
    const struct rue_views *views;
    uint64_t seed;
};

/* The access that a fetcher of `source` would use now for `requested`; never RUE_ACCESS_BEST. */
enum rue_access rue_fetcher_access(const struct rue_source *source, enum rue_access requested);

/* `source` must stay open until the fetcher is closed. RUE_USAGE: the items cannot be made tensors of `dtype`
 * (float16 only from float16, uint8 not from floating-point values); they were made with another geometry or
 * orientation; or there are views, and the items are preprocessed, or `decode` is not exact. RUE_MEMORY. */
rue_status rue_fetcher_open(const struct rue_source *source, const struct rue_fetcher_options *options,
                            struct rue_fetcher **out, rue_error *error) RUE_MUST_CHECK;
void rue_fetcher_close(struct rue_fetcher *fetcher);

/* The tensors of an item: one, or one for each view. */
struct rue_item_shape {
    uint32_t views;
    uint32_t shape[RUE_VIEWS_MAX][3];
    uint64_t values[RUE_VIEWS_MAX]; /* of each tensor */
    uint64_t all_values;
};

/* Of raw items as the geometry and the views say (rue_geometry_shape), else as the items have. */
struct rue_item_shape rue_fetcher_shape(const struct rue_source *source,
                                        const struct rue_fetcher_options *options);

/* Sets the epoch of the items that are fetched next, 0 at first. It matters only with views. */
void rue_fetcher_set_epoch(struct rue_fetcher *fetcher, uint64_t epoch);

/* Starts to read `item`, if possible directly into `tensor`. Fetch prefetched items later in the same order.
 * False: nothing was started, because enough reads are in flight or this source is not read ahead. Tensors
 * must be aligned to RUE_BLOCK_BYTES for RUE_ACCESS_DIRECT. */
bool rue_fetcher_prefetch(struct rue_fetcher *fetcher, uint64_t item, void *tensor);

/* Discards all prefetched items. On return no read into a tensor is in flight. Blocks on storage. */
void rue_fetcher_discard(struct rue_fetcher *fetcher);

/* Reads the item and checks it: its checksum (rue_source_verify), and the headers of a raw one
 * (rue_transform_verify). Errors as rue_fetcher_fetch; nothing is replaced. Blocks on storage. */
rue_status rue_fetcher_verify(struct rue_fetcher *fetcher, uint64_t item, rue_error *error) RUE_MUST_CHECK;

/* Writes the tensors of `item` to `tensors`, of the shapes above, and its number to `*loaded`. RUE_DATA names
 * the damaged item. RUE_BAD_REPLACE loads the next undamaged item of the data instead: the result is RUE_OK,
 * `*loaded` its number, and `damage` (may be NULL) describes the damage. Items are not replaced after other
 * errors: RUE_INFEASIBLE (descriptors or memory), RUE_STORE (storage failed), RUE_MEMORY. Blocks on storage.
 */
rue_status rue_fetcher_fetch(struct rue_fetcher *fetcher, uint64_t item, void *const tensors[],
                             uint64_t *loaded, rue_error *damage, rue_error *error) RUE_MUST_CHECK;

#endif
