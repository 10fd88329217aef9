/* One thread's way from an item to a tensor: reads the item, decodes or normalises it. Holds the thread's
 * scratch. */
#ifndef RUE_FETCHER_H
#define RUE_FETCHER_H

#include "loading.h"
#include "source.h"
#include "transform.h"

struct rue_fetcher;

struct rue_fetcher_options {
    enum rue_dtype dtype;           /* of the tensors: RUE_FLOAT32 normalised, RUE_UINT8 levels */
    uint64_t max_pixels;            /* larger images are refused */
    enum rue_decode decode;         /* of raw items */
    enum rue_bad_images bad_images; /* what becomes of an item that cannot be decoded */
    /* How preprocessed items are had, where the source allows it; else they are read. The best: views of what
     * is in memory when the fetcher is opened, direct reads of what memory is too small for. */
    enum rue_access access;
};

/* How a fetcher of the source that is asked for `requested` has its items at present: for the best, the
 * fastest way; for one that the source does not allow, RUE_ACCESS_READ. */
enum rue_access rue_fetcher_access(const struct rue_source *source, enum rue_access requested);

/* `source` is borrowed. RUE_DATA when its items are not images of 3 × 224 × 224; RUE_USAGE when they are
 * float32 and RUE_UINT8 is asked. */
rue_status rue_fetcher_open(const struct rue_source *source, const struct rue_fetcher_options *options,
                            struct rue_fetcher **out, rue_error *error) RUE_MUST_CHECK;
void rue_fetcher_close(struct rue_fetcher *fetcher);

/* Bytes of one tensor. */
size_t rue_fetcher_tensor_bytes(enum rue_dtype dtype);

/* Says that `item` will be fetched into `tensor`, after what else was said so, in that order: reading it may
 * begin, into `tensor` too. False when it does not, because enough is being read, or the source's items are
 * not read ahead. For direct reads straight into it a tensor is aligned to RUE_BLOCK_BYTES. */
bool rue_fetcher_prefetch(struct rue_fetcher *fetcher, uint64_t item, void *tensor);

/* Nothing is expected any more; on return nothing is being read into tensors. */
void rue_fetcher_discard(struct rue_fetcher *fetcher);

/* Fetches `item` into `tensor` and its label; RUE_DATA names the item that is damaged. With RUE_BAD_REPLACE a
 * damaged item is replaced by the next good one in the data's order, the same one whoever fetches it: that is
 * RUE_OK, and `damage` (nullable) says what was wrong with `item`. Errors that are not the item's own fault
 * (no descriptors, no memory, failing storage) are never replaced. */
rue_status rue_fetcher_fetch(struct rue_fetcher *fetcher, uint64_t item, void *tensor, int32_t *label,
                             rue_error *damage, rue_error *error) RUE_MUST_CHECK;

#endif
