/* The workload: what every configuration of a study loads, and how. Requests, the store, findings and reports
 * pass this struct as a whole. One table lists its fields. */
#ifndef RUE_WORKLOAD_H
#define RUE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field.h"
#include "geometry.h"
#include "loading.h"
#include "variant.h"
#include "views.h"

/* The source of a trial's data: memory, after a warm-up read; storage; or either. */
#define RUE_CACHE_WARM  "warm"
#define RUE_CACHE_COLD  "cold"
#define RUE_CACHE_AS_IS "as-is"
extern const char *const rue_cache_names[]; /* NULL at the end */
/* Resize and centre crop; or the random crop and other operations of a recipe. */
#define RUE_TRANSFORM_EVAL  "eval"
#define RUE_TRANSFORM_TRAIN "train"
extern const char *const rue_transform_names[];

/* The defaults of the geometry. */
#define RUE_USUAL_IMAGE_SIZE "224"
#define RUE_USUAL_RESIZE     "crop_pct"
#define RUE_USUAL_CROP_PCT   "0.875"
#define RUE_USUAL_NORMAL     "imagenet"

/* X(at, field, kind, words, least, most, default; changes times, always written; option, its argument, its
 * default, its help). All fields identify a trial. Times of two studies are comparable if the fields that
 * change times are equal; the other fields set the order of the data, or refuse data. JSON omits a field that
 * is not always written at its default, so older documents stay valid. To add a field: add a row here and a
 * member below, and read it in the loader. `at` is for callers that make options. */
#define RUE_WORKLOAD_BY_OPTION(X, at)                                                                        \
    X(at, seed, NUMBER, NULL, 0, INT64_MAX, 1, false, true, "seed", "K", "1",                                \
      "seed for data order and trial order")                                                                 \
    X(at, shuffle, FLAG, NULL, 0, 1, true, true, true, "no-shuffle", NULL, NULL,                             \
      "load images in the order of the data")                                                                \
    X(at, drop_last, FLAG, NULL, 0, 1, false, false, true, "drop-last", NULL, NULL,                          \
      "skip a last batch that is not full")                                                                  \
    X(at, decode, WORD, rue_decode_names, 0, 1, RUE_DECODE_EXACT, true, false, "decode", "HOW", "exact",     \
      "exact, or fast: approximate for large images")                                                        \
    X(at, orientation, WORD, rue_orientation_names, 0, 1, RUE_ORIENTATION_IGNORE, true, false,               \
      "orientation", "HOW", "ignore", "ignore, or apply: turn images as EXIF says")                          \
    X(at, batch_dtype, WORD, rue_batch_dtype_names, 0, 1, RUE_FLOAT32, true, false, "batch-dtype", "TYPE",   \
      "float32", "float32 (normalised) or uint8 (0 to 255)")                                                 \
    X(at, bad_images, WORD, rue_bad_images_names, 0, 1, RUE_BAD_FAIL, true, true, "bad-images", "WHAT",      \
      "fail", "fail, or replace by the next good image")                                                     \
    X(at, max_pixels, NUMBER, NULL, 1, UINT64_C(1) << 40, RUE_MAX_PIXELS_DEFAULT, false, true, "max-pixels", \
      "N", "268435456", "reject images over N pixels, such as 100M")                                         \
    X(at, missing_chunks, WORD, rue_missing_chunks_names, 0, 1, RUE_MISSING_FILL, false, false,              \
      "missing-chunks", "WHAT", "fill", "fill or error, if a chunk of zarr is missing")                      \
    X(at, cache, TEXT, rue_cache_names, 0, 0, 0, true, true, "cache", "STATE", RUE_CACHE_WARM,               \
      "warm (in memory), cold (from storage) or as-is")                                                      \
    X(at, share, WORD, rue_share_names, 0, 1, RUE_SHARE_STRIDED, true, false, "share", "HOW", "strided",     \
      "how ranks share items: strided, contiguous or shards")                                                \
    X(at, transform, TEXT, rue_transform_names, 0, 0, 0, true, true, "transform", "NAME",                    \
      RUE_TRANSFORM_EVAL, "eval, or train: random crop and flip")                                            \
    X(at, augment, RECIPE, NULL, 0, 0, 0, true, false, "augment", "RECIPE", NULL,                            \
      "recipe for train: presets, or FILE.json [mild]")

/* The same, of what becomes of the pixels of raw items. */
#define RUE_WORKLOAD_BY_GEOMETRY(X, at)                                                                   \
    X(at, image_size, GEOMETRY, NULL, 0, 0, 0, true, false, "image-size", "SIZE", RUE_USUAL_IMAGE_SIZE,   \
      "pixels of the result: a side, or HEIGHTxWIDTH")                                                    \
    X(at, resize, GEOMETRY, NULL, 0, 0, 0, true, false, "resize", "SIZE", RUE_USUAL_RESIZE,               \
      "short side, HxW, exact or none")                                                                   \
    X(at, crop_pct, GEOMETRY, NULL, 0, 0, 0, true, false, "crop-pct", "SHARE", RUE_USUAL_CROP_PCT,        \
      "the crop's share of the resized short side")                                                       \
    X(at, interpolation, WORD, rue_interpolation_names, 0, 2, RUE_BILINEAR, true, false, "interpolation", \
      "HOW", "bilinear", "bilinear or bicubic; for train, random")                                        \
    X(at, channels, NUMBER, NULL, 1, 3, RUE_CHANNELS, true, false, "channels", "N", "3",                  \
      "3 (RGB) or 1 (grey)")                                                                              \
    X(at, layout, WORD, rue_layout_names, 0, 1, RUE_NCHW, true, false, "layout", "ORDER", "nchw",         \
      "order of values: nchw or nhwc")                                                                    \
    X(at, mean, GEOMETRY, NULL, 0, 0, 0, false, false, "mean", "NUMBERS", RUE_USUAL_NORMAL,               \
      "imagenet, clip, inception, none or N,N,N")                                                         \
    X(at, std, GEOMETRY, NULL, 0, 0, 0, false, false, "std", "NUMBERS", RUE_USUAL_NORMAL, "as --mean")

/* X(field, kind, words, least, most, default, changes times, always written) */
#define RUE_WORKLOAD_BY_PROGRAM(X)                                           \
    X(epoch, NUMBER, NULL, 0, INT64_MAX, 0, false, true)                     \
    X(rank, NUMBER, NULL, 0, INT32_MAX, 0, false, true)                      \
    X(world_size, NUMBER, NULL, 1, INT32_MAX, 1, true, true)                 \
    X(item_values, NUMBER, NULL, 0, 1 << 30, 0, true, false)                 \
    X(chunk_cache_bytes, NUMBER, NULL, 0, INT64_C(1) << 58, 0, false, false) \
    X(remote_ranks, FLAG, NULL, 0, 1, false, true, false)

enum { RUE_WORKLOAD_WORD_BYTES = 16, RUE_WORKLOAD_NUMBERS_BYTES = 64 };

/* The texts of geometry.h; "": the default. */
struct rue_workload_geometry {
    char image_size[RUE_WORKLOAD_WORD_BYTES], resize[RUE_WORKLOAD_WORD_BYTES],
        crop_pct[RUE_WORKLOAD_WORD_BYTES];
    enum rue_interpolation interpolation;
    uint32_t channels;
    enum rue_layout layout;
    char mean[RUE_WORKLOAD_NUMBERS_BYTES], std[RUE_WORKLOAD_NUMBERS_BYTES];
};

struct rue_workload {
    uint64_t seed;
    bool shuffle;
    bool drop_last;
    enum rue_decode decode;
    enum rue_orientation orientation;
    enum rue_dtype batch_dtype; /* RUE_FLOAT32 normalised, RUE_UINT8 levels that the consumer normalises */
    enum rue_bad_images bad_images;
    enum rue_missing_chunks missing_chunks;
    uint64_t max_pixels; /* larger images are refused after reading their header */
    char cache[RUE_WORKLOAD_WORD_BYTES];
    uint64_t epoch;
    char transform[RUE_WORKLOAD_WORD_BYTES];
    char augment[RUE_VIEWS_TEXT_BYTES]; /* the text of the views (views.h); "" unless for training */
    struct rue_workload_geometry geometry;
    int rank;
    int world_size;             /* at least 1 */
    uint64_t item_values;       /* of one item; 0: RUE_TENSOR_ITEMS */
    uint64_t chunk_cache_bytes; /* of each loader (rue_source_cache_bytes) */
    bool remote_ranks;          /* the other ranks run on other machines */
    enum rue_share share;
};

/* Number of loaders that run at the same time on this machine. */
static inline uint64_t rue_workload_loaders(const struct rue_workload *workload)
{
    return workload->remote_ranks ? 1 : (uint64_t)workload->world_size;
}

bool rue_workload_trains(const struct rue_workload *workload);

/* Number of views that are made of an image for training; 0: one with the size of the geometry, or not for
 * training. */
uint32_t rue_workload_views(const struct rue_workload *workload);

/* What becomes of the pixels of raw items; the default where a text is wrong. */
struct rue_geometry rue_workload_geometry(const struct rue_workload *workload);

/* Whether that is the default. */
bool rue_workload_is_usual(const struct rue_workload *workload);

/* Checks the texts of the geometry; those of the default become "". RUE_USAGE. */
rue_status rue_workload_check_geometry(struct rue_workload *workload, rue_error *error) RUE_MUST_CHECK;

/* The fields, and the options of the first of them. A flag that is on by default has an option that turns it
 * off. */
extern const struct rue_field rue_workload_fields[];
extern const char *const rue_workload_options[]; /* NULL at the end */

struct rue_workload rue_workload_default(void);

/* Whether loading needs the same time with both: all fields that change times are equal. */
bool rue_workload_same_cost(const struct rue_workload *a, const struct rue_workload *b);

#endif
