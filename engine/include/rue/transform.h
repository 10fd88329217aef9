/* Decodes a JPEG and applies Resize(256), CenterCrop(224), ToTensor and Normalize(ImageNet). The result is
 * bit-identical to torchvision's for a PIL image. A transform is not thread-safe: use one per thread. */
#ifndef RUE_TRANSFORM_H
#define RUE_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "augmentation.h"
#include "error.h"
#include "loading.h"
#include "variant.h"

enum {
    RUE_RESIZE = 256, /* pixels of the short side after Resize */
    RUE_CROP = 224,   /* pixels of both sides after CenterCrop */
    RUE_CHANNELS = 3,
    RUE_TENSOR_ITEMS = RUE_CHANNELS * RUE_CROP * RUE_CROP /* values of one image, CHW */
};

/* Normalize computes (level / 255 - mean) / std for each channel, R, G, B. */
#define RUE_MEAN               \
    {                          \
        0.485F, 0.456F, 0.406F \
    }
#define RUE_STD                \
    {                          \
        0.229F, 0.224F, 0.225F \
    }

struct rue_transform;

/* Images of more than `max_pixels` are refused. RUE_DECODE_FAST changes images whose short side is at least
 * 512 pixels. Photographs then differ by 0.5 to 0.8 levels on average; 99.9 % of the values differ by at most
 * 12, single values at sharp edges by 40. The time is 0.7 (short side from 512 pixels), 0.6 (1,024) or 0.5
 * (2,048) of the exact time. RUE_MEMORY. */
rue_status rue_transform_open(uint64_t max_pixels, enum rue_decode decode, struct rue_transform **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_transform_close(struct rue_transform *transform);

/* Decodes the JPEG of `bytes` at `jpeg` and writes RUE_TENSOR_ITEMS values to `out`, shape [3][224][224],
 * RGB. RUE_FLOAT32: normalised. RUE_UINT8: 8-bit levels after CenterCrop. RUE_DATA: it cannot be decoded, or
 * is not supported; the message does not name the file ("is truncated"). RUE_MEMORY. */
rue_status rue_transform_jpeg(struct rue_transform *transform, const void *jpeg, size_t bytes,
                              enum rue_dtype dtype, void *out, rue_error *error) RUE_MUST_CHECK;

/* Whether rue_transform_jpeg would accept the image, as far as its headers and its end show, in a hundredth
 * of the time. Only data that do not end as a JPEG does are decoded. Errors as rue_transform_jpeg. */
rue_status rue_transform_verify(struct rue_transform *transform, const void *jpeg, size_t bytes,
                                rue_error *error) RUE_MUST_CHECK;

/* The random parameters of an image for training. */
struct rue_training {
    const struct rue_recipe *recipe;
    struct rue_augmentation_key key;
    uint64_t item;
};

/* As rue_transform_jpeg, but RandomResizedCrop(224) in place of Resize and CenterCrop, and then the other
 * operations of the recipe (augmentation.h). Decodes only what the crop needs. The transform must be of
 * RUE_DECODE_EXACT. Crop, flip, rotation, scale, brightness and contrast are bit-identical to torchvision's
 * for a PIL image and the same parameters. */
rue_status rue_transform_train(struct rue_transform *transform, const void *jpeg, size_t bytes,
                               const struct rue_training *training, enum rue_dtype dtype, void *out,
                               rue_error *error) RUE_MUST_CHECK;

/* Copies `bytes` without filling the CPU's caches: for memory that is not read soon. */
void rue_transform_copy(const void *from, size_t bytes, void *to);

/* Makes float32 values of an item of this shape (channels, height, width) and dtype. float16 is widened.
 * uint8 with three channels is normalised as images are, and is else divided by 255. */
void rue_transform_convert(const uint32_t shape[3], enum rue_dtype dtype, const void *from, float *out);

/* Applies ToTensor and Normalize to RUE_TENSOR_ITEMS 8-bit levels, both in the order [3][224][224]. */
void rue_transform_normalize(const uint8_t *levels, float *out);

#endif
