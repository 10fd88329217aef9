/* What becomes of the pixels of an image: resize, crop, normalisation, and the order of the values. */
#ifndef RUE_GEOMETRY_H
#define RUE_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

enum {
    RUE_IMAGE_SIZE = 224, /* the default: pixels of both sides of the result */
    RUE_CHANNELS = 3,     /* the default, and the most */
    RUE_TENSOR_ITEMS = RUE_CHANNELS * RUE_IMAGE_SIZE * RUE_IMAGE_SIZE, /* values of such a result */
    RUE_IMAGE_SIZE_MAX = 16384
};

/* The default mean and std: of ImageNet, R, G, B. */
#define RUE_MEAN               \
    {                          \
        0.485F, 0.456F, 0.406F \
    }
#define RUE_STD                \
    {                          \
        0.229F, 0.224F, 0.225F \
    }

/* What happens before the crop. */
enum rue_resize {
    RUE_RESIZE_SHORT, /* the short side becomes `resize_height`; the ratio of the sides stays */
    RUE_RESIZE_EXACT, /* to resize_height x resize_width */
    RUE_RESIZE_NONE
};

/* Filters, antialiased as in Pillow. */
enum rue_interpolation {
    RUE_BILINEAR,
    RUE_BICUBIC,
    RUE_INTERPOLATION_RANDOM, /* for training: one of them, drawn for each item */
    RUE_INTERPOLATION_COUNT
};
extern const char *const rue_interpolation_names[RUE_INTERPOLATION_COUNT + 1]; /* "bilinear", ..., NULL */

enum rue_layout { RUE_NCHW, RUE_NHWC, RUE_LAYOUT_COUNT };
extern const char *const rue_layout_names[RUE_LAYOUT_COUNT + 1]; /* "nchw", "nhwc", NULL */

struct rue_geometry {
    uint32_t height, width; /* of the result: 1 to RUE_IMAGE_SIZE_MAX */
    uint32_t channels;      /* 3: RGB; 1: grey, Pillow's convert("L") before everything else */
    enum rue_resize resize;
    uint32_t resize_height, resize_width;
    enum rue_interpolation interpolation;
    enum rue_layout layout;
    /* float32 values are (level / 255 - mean) / std. Of one channel: element 0. */
    float mean[RUE_CHANNELS], std[RUE_CHANNELS];
};

/* Resize(256), CenterCrop(224), bilinear, RGB, ImageNet's mean and std, NCHW. */
struct rue_geometry rue_geometry_default(void);

/* The shape of an image in the order of its axes. Returns the number of its values. */
uint64_t rue_geometry_shape(const struct rue_geometry *geometry, uint32_t shape[3]);

/* Whether items of this shape have its channels, in its layout. */
bool rue_geometry_has_channels(const struct rue_geometry *geometry, const uint32_t shape[3]);

/* Sizes as text: "224", or "160x224" for height x width. RUE_USAGE. */
rue_status rue_geometry_set_size(struct rue_geometry *geometry, const char *image_size,
                                 rue_error *error) RUE_MUST_CHECK;

/* "crop_pct": the short side becomes the short side of image_size / `crop_pct`, rounded down, as in timm;
 * "256": the short side; "256x320": height x width; "exact": image_size; "none". The size must be set.
 * RUE_USAGE. */
rue_status rue_geometry_set_resize(struct rue_geometry *geometry, const char *resize, const char *crop_pct,
                                   rue_error *error) RUE_MUST_CHECK;

extern const char *const rue_normalize_names[]; /* "imagenet", "clip", "inception", "none", NULL */

/* Such a name, or numbers, "0.5,0.5,0.5": one for each channel. Channels must be set. RUE_USAGE. */
rue_status rue_geometry_set_normalize(struct rue_geometry *geometry, const char *mean, const char *std,
                                      rue_error *error) RUE_MUST_CHECK;

#endif
