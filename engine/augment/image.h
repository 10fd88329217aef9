/* Operations on the pixels of an image. Each gives the levels of Pillow's or torchvision's function for a PIL
 * image (docs/augmentation.md), but for noise. */
#ifndef RUE_IMAGE_H
#define RUE_IMAGE_H

#include <stddef.h>

#include "augmentation.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "R is the lowest byte of a pixel");

struct rue_image {
    uint32_t width, height;
    size_t count;               /* pixels */
    uint32_t *pixels, *scratch; /* [count]; R, G, B and an unused byte */
    uint32_t fill;              /* pixel outside, of bilinear and bicubic maps */
};

/* Loops that are compiled a second time: for AVX2, without fused multiply-adds; or with them, for calls of
 * fmaf. Sanitizers start too late for the choice. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#    define RUE_WIDE  __attribute__((target_clones("avx2", "default")))
#    define RUE_FUSED __attribute__((target_clones("fma", "default")))
#else
#    define RUE_WIDE
#    define RUE_FUSED
#endif

/* Shear, translation, rotation; rotation with scale. */
void rue_image_map(const struct rue_image *image, const struct rue_operation *operation);

/* Brightness, contrast, solarize, posterize, equalize, autocontrast, invert. */
void rue_image_map_levels(const struct rue_image *image, const struct rue_operation *operation);

void rue_image_saturate(const struct rue_image *image, const struct rue_operation *operation);
void rue_image_shift_hue(const struct rue_image *image, const struct rue_operation *operation);
void rue_image_grayscale(const struct rue_image *image, const struct rue_operation *operation);

void rue_image_blur(const struct rue_image *image, const struct rue_operation *operation);
void rue_image_gaussian_blur(const struct rue_image *image, const struct rue_operation *operation);
void rue_image_sharpen(const struct rue_image *image, const struct rue_operation *operation);

void rue_image_add_noise(const struct rue_image *image, float deviation,
                         const struct rue_augmentation_key *key, uint64_t item);

/* Pillow, src/libImaging/Convert.c, L24. */
static inline uint32_t rue_pixel_grey(uint32_t pixel)
{
    return ((pixel & 255) * 19595 + (pixel >> 8 & 255) * 38470 + (pixel >> 16 & 255) * 7471 + 0x8000) >> 16;
}

/* The level of 255 between (or beyond) two levels. Pillow, src/libImaging/Blend.c. */
static inline uint32_t rue_blend(uint32_t from, uint32_t to, float factor)
{
    float level = (float)(int32_t)from + factor * (float)((int32_t)to - (int32_t)from);
    level = level > 0 ? level : 0;
    return (uint32_t)(int32_t)(level < 255 ? level : 255);
}

#endif
