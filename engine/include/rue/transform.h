/* From one item to one tensor: Resize(256) CenterCrop(224) ToTensor Normalize(ImageNet), bit-identical to
 * what torchvision computes from a PIL image. A transform holds the scratch memory of one thread; use one a
 * thread. */
#ifndef RUE_TRANSFORM_H
#define RUE_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "loading.h"
#include "variant.h"

enum {
    RUE_RESIZE = 256, /* the short side after Resize */
    RUE_CROP = 224,   /* the square that CenterCrop keeps */
    RUE_CHANNELS = 3,
    RUE_TENSOR_ITEMS = RUE_CHANNELS * RUE_CROP * RUE_CROP /* values of one image, CHW */
};

/* What Normalize subtracts from, and divides, each channel of a level / 255. */
#define RUE_MEAN               \
    {                          \
        0.485F, 0.456F, 0.406F \
    }
#define RUE_STD                \
    {                          \
        0.229F, 0.224F, 0.225F \
    }

struct rue_transform;

/* RUE_DECODE_FAST is for images whose short side has 512 pixels or more; others are decoded exactly.
 * Photographs then differ by 0.5 to 0.8 levels on average, 99.9 % of their values by at most 12, single ones
 * at sharp edges by 40, and take 0.7 (from 512 pixels on), 0.6 (1,024) or 0.5 (2,048) of the time. */
rue_status rue_transform_open(uint64_t max_pixels, enum rue_decode decode, struct rue_transform **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_transform_close(struct rue_transform *transform);

/* Decodes and transforms a JPEG into `out`: RUE_TENSOR_ITEMS values, CHW, RGB. RUE_FLOAT32: normalised;
 * RUE_UINT8: the 8-bit levels after Resize and CenterCrop, before ToTensor. RUE_DATA, with the reason but
 * without the file's name, which the caller knows, for anything that PIL would not decode and what jpeg.h
 * refuses besides; RUE_MEMORY. */
rue_status rue_transform_jpeg(struct rue_transform *transform, const void *jpeg, size_t bytes,
                              enum rue_dtype dtype, void *out, rue_error *error) RUE_MUST_CHECK;

/* Copies to memory that nobody will read soon. */
void rue_transform_copy(const void *from, size_t bytes, void *to);

/* ToTensor and Normalize of RUE_TENSOR_ITEMS 8-bit levels in CHW order. */
void rue_transform_normalize(const uint8_t *levels, float *out);

#endif
