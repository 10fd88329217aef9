/* Decodes an image (JPEG, PNG, WebP, GIF or BMP), resizes and crops it, and makes values of it (geometry.h).
 * The result is bit-identical to torchvision's for a PIL image. A transform is not thread-safe: use one per
 * thread. */
#ifndef RUE_TRANSFORM_H
#define RUE_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "geometry.h"
#include "loading.h"
#include "variant.h"
#include "views.h"

struct rue_transform;

struct rue_transform_options {
    uint64_t max_pixels; /* larger images are refused */
    /* RUE_DECODE_FAST changes images whose short side is at least twice as long as they are resized to:
     * docs/data.md has figures. */
    enum rue_decode decode;
    struct rue_geometry geometry;
    enum rue_orientation orientation;
    const struct rue_views *views; /* (optional) for rue_transform_train; copied */
};

/* RUE_MEMORY. */
rue_status rue_transform_open(const struct rue_transform_options *options, struct rue_transform **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_transform_close(struct rue_transform *transform);

/* Decodes the image of `bytes` at `jpeg` and writes the values of an image (rue_geometry_shape) to `out`.
 * RUE_FLOAT32: normalised. RUE_UINT8: 8-bit levels. RUE_DATA: it cannot be decoded, or is not supported; the
 * message does not name the file ("is truncated"). RUE_MEMORY. */
rue_status rue_transform_jpeg(struct rue_transform *transform, const void *jpeg, size_t bytes,
                              enum rue_dtype dtype, void *out, rue_error *error) RUE_MUST_CHECK;

/* Whether rue_transform_jpeg would accept the image, as far as its headers and its end show, in a hundredth
 * of the time. Only data that do not end as such a file does are decoded. Errors as rue_transform_jpeg. */
rue_status rue_transform_verify(struct rue_transform *transform, const void *jpeg, size_t bytes,
                                rue_error *error) RUE_MUST_CHECK;

/* What decides the random parameters of an image for training, beside its recipe. */
struct rue_training {
    struct rue_augmentation_key key; /* of the first view; the others have the following streams */
    uint64_t item;
};

/* As rue_transform_jpeg, but makes the views of the options, out[v] each, from one decode: the random crop in
 * place of Resize and CenterCrop, and then the other operations of the recipe (augmentation.h). Decodes only
 * what the crops need. The transform must be of RUE_DECODE_EXACT. Bit-identical to torchvision's for a PIL
 * image and the same parameters, as far as docs/augmentation.md says. */
rue_status rue_transform_train(struct rue_transform *transform, const void *jpeg, size_t bytes,
                               const struct rue_training *training, enum rue_dtype dtype, void *const out[],
                               rue_error *error) RUE_MUST_CHECK;

/* Copies `bytes` without filling the CPU's caches: for memory that is not read soon. */
void rue_transform_copy(const void *from, size_t bytes, void *to);

/* Makes float32 values of an item of this shape and dtype. float16 is widened. uint8 with the channels of the
 * geometry is normalised as images are, and is else divided by 255. Thread-safe. */
void rue_transform_convert(const struct rue_transform *transform, const uint32_t shape[3],
                           enum rue_dtype dtype, const void *from, float *out);

#endif
