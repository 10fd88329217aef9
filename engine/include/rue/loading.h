/* Choices that apply to the loader and to the workload of a study. */
#ifndef RUE_LOADING_H
#define RUE_LOADING_H

enum rue_parallelism {
    RUE_PARALLEL_BATCH,  /* each worker loads a whole batch, as PyTorch does */
    RUE_PARALLEL_SAMPLE, /* the workers share each batch, item by item */
    RUE_PARALLEL_COUNT
};
extern const char *const rue_parallelism_names[RUE_PARALLEL_COUNT + 1]; /* "batch", "sample", NULL */

/* How a worker reads the items of its batch; what each means for a format: fetcher.h. */
enum rue_read {
    RUE_READ_AUTO,  /* tensors ahead, images one after the other */
    RUE_READ_BATCH, /* in the order of storage, before they are decoded */
    RUE_READ_ITEM,  /* one after the other, each when it is needed */
    RUE_READ_COUNT
};
extern const char *const rue_read_names[RUE_READ_COUNT + 1]; /* "auto", "batch", "item", NULL */

/* How many images the next batch has, and which. Sizes that change are between an eighth of batch_size and
 * batch_size. */
enum rue_batch_strategy {
    RUE_BATCHES_FIXED,       /* batch_size of them, the next ones of the sampler */
    RUE_BATCHES_ROUND_ROBIN, /* the same, but parts of the data take turns */
    /* From here on the size changes. */
    RUE_BATCHES_MEMORY,   /* fewer while memory is short */
    RUE_BATCHES_ADAPTIVE, /* as many as give the highest rate */
    RUE_BATCHES_COUNT
};
extern const char *const rue_batch_strategy_names[RUE_BATCHES_COUNT + 1]; /* "fixed", ..., NULL */

/* What to do with an item that cannot be decoded: report an error, or load another item (fetcher.h). */
enum rue_bad_images { RUE_BAD_FAIL, RUE_BAD_REPLACE, RUE_BAD_COUNT };
extern const char *const rue_bad_images_names[RUE_BAD_COUNT + 1]; /* "fail", "replace", NULL */

/* What to do with data in which chunks are missing: use the fill value of the data, or report an error. */
enum rue_missing_chunks { RUE_MISSING_FILL, RUE_MISSING_ERROR, RUE_MISSING_COUNT };
extern const char *const rue_missing_chunks_names[RUE_MISSING_COUNT + 1]; /* "fill", "error", NULL */

/* How JPEGs are decoded. Exact: the same values as PIL. Fast: images whose short side is at least twice what
 * it is resized to are decoded at 1/2, 1/4 or 1/8 of their size, which is faster and changes the values
 * (transform.h). */
enum rue_decode { RUE_DECODE_EXACT, RUE_DECODE_FAST, RUE_DECODE_COUNT };
extern const char *const rue_decode_names[RUE_DECODE_COUNT + 1]; /* "exact", "fast", NULL */

/* Whether images are turned as their EXIF data say: not, as PIL and torchvision load them; or as PIL's
 * ImageOps.exif_transpose turns them. */
enum rue_orientation { RUE_ORIENTATION_IGNORE, RUE_ORIENTATION_APPLY, RUE_ORIENTATION_COUNT };
extern const char *const rue_orientation_names[RUE_ORIENTATION_COUNT + 1]; /* "ignore", "apply", NULL */

/* How ranks share the items of an epoch (sampler.h). */
enum rue_share {
    RUE_SHARE_STRIDED,    /* rank r of N loads the positions r, r + N, r + 2N, ... of the epoch's order */
    RUE_SHARE_CONTIGUOUS, /* each rank loads positions that follow each other */
    RUE_SHARE_SHARDS,     /* rank r of N loads the shards r, r + N, ..., and shuffles only their items */
    RUE_SHARE_COUNT
};
extern const char *const rue_share_names[RUE_SHARE_COUNT + 1]; /* "strided", "contiguous", "shards", NULL */

/* How many images ranks load in an epoch if their shares differ. */
enum rue_even {
    RUE_EVEN_NONE, /* each its share: every image once, but not all ranks have as many batches */
    RUE_EVEN_DROP, /* all as many as the smallest share: the others skip the end of theirs */
    RUE_EVEN_PAD   /* all as many as the largest share: the others continue with their next epoch */
};

#endif
