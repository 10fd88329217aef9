#include <stdbool.h>

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

/* Compilers make a branch of nested conditions, and no SIMD. */
INLINE int32_t choose(bool which, int32_t yes, int32_t no)
{
    return no ^ ((yes ^ no) & -(int32_t)which);
}

/* Pillow, src/libImaging/Convert.c, rgb2hsv_row, with its roundings. */
INLINE struct hsv to_hsv(uint32_t pixel)
{
    int32_t r = (int32_t)(pixel & 255), g = (int32_t)(pixel >> 8 & 255), b = (int32_t)(pixel >> 16 & 255);
    int32_t most = larger(r, larger(g, b)), range = most - smaller(r, smaller(g, b));
    bool red = r == most, green = g == most;
    int32_t base = choose(red, 0, choose(green, 2, 4)), plus = most - choose(red, b, choose(green, r, g)),
            minus = most - choose(red, g, choose(green, b, r));
    float divisor = (float)larger(range, 1);
    float sector = (float)((double)base + (double)((float)plus / divisor) - (double)((float)minus / divisor));
    double turn = (double)sector / 6.0 + 1.0;
    float hue = (float)(turn - (turn >= 1)), saturation = (float)range / (float)larger(most, 1);
    return (struct hsv){(int32_t)((double)hue * 255.0), (int32_t)((double)saturation * 255.0), most};
}

INLINE int32_t rounded(double positive)
{
    return (int32_t)(positive + 0.5);
}

/* Convert.c, hsv2rgb. Sector 6 is sector 0. */
INLINE uint32_t from_hsv(struct hsv in)
{
    double turn = (double)in.hue * 6.0 / 255.0, level = (double)in.value;
    int32_t i = (int32_t)turn, v = in.value;
    float f = (float)(turn - (double)i), saturation = (float)((double)in.saturation / 255.0);
    int32_t p = rounded(level * (1.0 - (double)saturation)),
            q = rounded(level * (1.0 - (double)(saturation * f))),
            t = rounded(level * (1.0 - (double)saturation * (1.0 - (double)f)));
    int32_t r = choose(i == 1, q, choose(i == 4, t, choose((i == 2) | (i == 3), p, v))),
            g = choose(i == 3, q, choose((i == 4) | (i == 5), p, choose((i == 1) | (i == 2), v, t))),
            b = choose(i == 2, t, choose(i == 5, q, choose((i == 3) | (i == 4), v, p)));
    return (uint32_t)(r | g << 8 | b << 16);
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
