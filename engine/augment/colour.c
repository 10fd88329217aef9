#include "image.h"

#define INLINE static inline __attribute__((always_inline))

RUE_WIDE static void saturate_pixels(uint32_t *pixels, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = pixels[i], grey = rue_pixel_grey(pixel);
        pixels[i] = rue_blend(grey, pixel & 255, factor) | rue_blend(grey, pixel >> 8 & 255, factor) << 8 |
                    rue_blend(grey, pixel >> 16 & 255, factor) << 16;
    }
}

/* Pillow, ImageEnhance.Color. */
void rue_image_saturate(const struct rue_image *image, const struct rue_operation *operation)
{
    saturate_pixels(image->pixels, image->count, operation->value);
}

RUE_WIDE static void grey_pixels(uint32_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++) pixels[i] = rue_pixel_grey(pixels[i]) * 0x10101;
}

void rue_image_grayscale(const struct rue_image *image, const struct rue_operation *operation)
{
    (void)operation;
    grey_pixels(image->pixels, image->count);
}

struct hsv {
    int32_t hue, saturation, value;
};

INLINE int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

INLINE int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Pillow, src/libImaging/Convert.c, rgb2hsv_row, with its roundings. */
INLINE struct hsv to_hsv(uint32_t pixel)
{
    int32_t r = (int32_t)(pixel & 255), g = (int32_t)(pixel >> 8 & 255), b = (int32_t)(pixel >> 16 & 255);
    int32_t most = larger(r, larger(g, b)), range = most - smaller(r, smaller(g, b));
    float divisor = (float)(range > 0 ? range : 1), rc = (float)(most - r) / divisor,
          gc = (float)(most - g) / divisor, bc = (float)(most - b) / divisor;
    double base = r == most ? 0 : g == most ? 2 : 4;
    float plus = r == most ? bc : g == most ? rc : gc, minus = r == most ? gc : g == most ? bc : rc;
    float sector = (float)(base + (double)plus - (double)minus);
    double turn = (double)sector / 6.0 + 1.0;
    float hue = (float)(turn >= 1 ? turn - 1 : turn),
          saturation = (float)range / (float)(most > 0 ? most : 1);
    return (struct hsv){(int32_t)((double)hue * 255.0), (int32_t)((double)saturation * 255.0), most};
}

/* Convert.c, hsv2rgb. */
INLINE uint32_t from_hsv(struct hsv in)
{
    double turn = (double)in.hue * 6.0 / 255.0, value = (double)in.value;
    int32_t i = (int32_t)turn;
    float f = (float)(turn - (double)i), saturation = (float)((double)in.saturation / 255.0);
    uint32_t v = (uint32_t)in.value, p = (uint32_t)(int32_t)(value * (1.0 - (double)saturation) + 0.5),
             q = (uint32_t)(int32_t)(value * (1.0 - (double)(saturation * f)) + 0.5),
             t = (uint32_t)(int32_t)(value * (1.0 - (double)saturation * (1.0 - (double)f)) + 0.5);
    uint32_t r = i == 1             ? q
                 : i == 4           ? t
                 : i == 2 || i == 3 ? p
                                    : v,
             g = i == 1 || i == 2   ? v
                 : i == 3           ? q
                 : i == 4 || i == 5 ? p
                                    : t,
             b = i == 3 || i == 4 ? v
                 : i == 2         ? t
                 : i == 5         ? q
                                  : p;
    return r | g << 8 | b << 16;
}

RUE_WIDE static void shift_pixels(uint32_t *pixels, size_t count, int32_t shift)
{
    for (size_t i = 0; i < count; i++) {
        struct hsv hsv = to_hsv(pixels[i]);
        hsv.hue = (hsv.hue + shift) & 255;
        pixels[i] = from_hsv(hsv);
    }
}

/* torchvision, adjust_hue: the hue is a byte. */
void rue_image_shift_hue(const struct rue_image *image, const struct rue_operation *operation)
{
    shift_pixels(image->pixels, image->count, (int32_t)((double)operation->value * 255));
}
