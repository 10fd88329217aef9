#include <math.h>
#include <string.h>

#include "image.h"

/* A box of 2 * radius + 1 pixels, and a part of the two beyond. Weights are in 1 / 2^24. */
struct box {
    int64_t radius;
    uint32_t weight, edge_weight;
};

enum { PASSES = 3, TILE = 16, CHUNK = 512, KERNEL_MAX = 255, COLUMNS = 64 };

static int64_t clamp(int64_t at, int64_t size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

/* Pillow, src/libImaging/BoxBlur.c, _gaussian_blur_radius and ImagingHorizontalBoxBlur, with its roundings.
 */
static struct box make_box(float radius)
{
    float variance = radius * radius / PASSES, length = (float)sqrt(12.0 * (double)variance + 1.0),
          whole = (float)floor(((double)length - 1.0) / 2.0);
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
    part /= 6 * (variance - (whole + 1) * (whole + 1));
    float size = whole + part;
    struct box box = {.radius = (int64_t)size, .weight = (uint32_t)((float)(1 << 24) / (size * 2 + 1))};
    box.edge_weight = ((1U << 24) - (uint32_t)(box.radius * 2 + 1) * box.weight) / 2;
    return box;
}

/* A row of the result from the sums of the rows above. */
RUE_WIDE static void slide_box(uint32_t *sums, const uint8_t *leaves, const uint8_t *enters,
                               const uint8_t *next, uint8_t *out, size_t count, uint32_t weight,
                               uint32_t edge_weight)
{
    for (size_t i = 0; i < count; i++) {
        sums[i] += (uint32_t)enters[i] - leaves[i];
        out[i] =
            (uint8_t)((sums[i] * weight + ((uint32_t)leaves[i] + next[i]) * edge_weight + (1U << 23)) >> 24);
    }
}

/* BoxBlur.c, ImagingLineBoxBlur32, down columns: rows outside repeat the first and the last. */
static void blur_columns(const uint32_t *in, uint32_t *out, uint32_t width, uint32_t height, struct box box)
{
    size_t stride = (size_t)width * 4;
    uint32_t sums[CHUNK];
    for (size_t from = 0; from < stride; from += CHUNK) {
        size_t count = stride - from < CHUNK ? stride - from : CHUNK;
        const uint8_t *levels = (const uint8_t *)in + from;
        memset(sums, 0, sizeof sums);
        for (int64_t y = -box.radius - 1; y < box.radius; y++)
            for (size_t i = 0; i < count; i++) sums[i] += levels[(size_t)clamp(y, height) * stride + i];
        for (int64_t y = 0; y < height; y++)
            slide_box(sums, levels + (size_t)clamp(y - box.radius - 1, height) * stride,
                      levels + (size_t)clamp(y + box.radius, height) * stride,
                      levels + (size_t)clamp(y + box.radius + 1, height) * stride,
                      (uint8_t *)out + from + (size_t)y * stride, count, box.weight, box.edge_weight);
    }
}

static void transpose_pixels(const uint32_t *in, uint32_t *out, uint32_t width, uint32_t height)
{
    for (uint32_t top = 0; top < height; top += TILE)
        for (uint32_t left = 0; left < width; left += TILE)
            for (uint32_t y = top; y < height && y < top + TILE; y++)
                for (uint32_t x = left; x < width && x < left + TILE; x++)
                    out[(size_t)x * height + y] = in[(size_t)y * width + x];
}

/* Of the scratch; the result is in the pixels. */
static void blur_three_times(const struct rue_image *image, uint32_t width, uint32_t height, struct box box)
{
    blur_columns(image->scratch, image->pixels, width, height, box);
    blur_columns(image->pixels, image->scratch, width, height, box);
    blur_columns(image->scratch, image->pixels, width, height, box);
}

/* Pillow, ImageFilter.GaussianBlur: three boxes along rows, then along columns. */
void rue_image_blur(const struct rue_image *image, const struct rue_operation *operation)
{
    struct box box = make_box(operation->value);
    transpose_pixels(image->pixels, image->scratch, image->width, image->height);
    blur_three_times(image, image->height, image->width, box);
    transpose_pixels(image->pixels, image->scratch, image->height, image->width);
    blur_three_times(image, image->width, image->height, box);
}

/* Index of a pixel outside, as reflect padding has it. */
static size_t reflect(int64_t at, int64_t size)
{
    if (size == 1) return 0;
    int64_t period = 2 * (size - 1), place = (at % period + period) % period;
    return (size_t)(place < size ? place : period - place);
}

/* Half of a symmetric kernel: weights[i] is that of the pixels at distance i. */
struct kernel {
    int64_t half;
    float weights[KERNEL_MAX / 2 + 1];
};

/* Without the weights at the ends that change no level. */
static struct kernel make_kernel(double sigma, int size)
{
    struct kernel kernel = {0};
    double sum = 0;
    for (int i = 0; i <= size / 2; i++) sum += (i ? 2 : 1) * exp(-0.5 * (i / sigma) * (i / sigma));
    for (int i = 0; i <= size / 2; i++) {
        double weight = exp(-0.5 * (i / sigma) * (i / sigma)) / sum;
        if (weight > 1e-8) kernel.half = i;
        kernel.weights[i] = (float)weight;
    }
    return kernel;
}

RUE_WIDE static void add_levels(float *sums, const uint8_t *before, const uint8_t *after, size_t count,
                                float weight)
{
    for (size_t i = 0; i < count; i++) sums[i] += weight * (float)((int32_t)before[i] + after[i]);
}

RUE_WIDE static void add_sums(float *out, const float *before, const float *after, size_t count, float weight)
{
    for (size_t i = 0; i < count; i++) out[i] += weight * (before[i] + after[i]);
}

/* Rounds halves to even. */
RUE_WIDE static void put_levels(const float *sums, uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] = (uint8_t)(int32_t)((sums[i] + 0x1.8p23F) - 0x1.8p23F);
}

/* Sums along columns into sums [columns], of row y, from the column `from`. */
static void sum_columns(const struct rue_image *image, const struct kernel *kernel, uint32_t y, uint32_t from,
                        size_t columns, float *sums)
{
    const uint8_t *levels = (const uint8_t *)(image->scratch + from);
    size_t stride = (size_t)image->width * 4;
    memset(sums, 0, columns * 4 * sizeof *sums);
    for (int64_t i = 0; i <= kernel->half; i++)
        add_levels(sums, levels + reflect(y - i, image->height) * stride,
                   levels + reflect(y + i, image->height) * stride, columns * 4,
                   i ? kernel->weights[i] : kernel->weights[i] / 2);
}

/* The output columns `left` to `left` + `count`. */
static void blur_strip(const struct rue_image *image, const struct kernel *kernel, uint32_t left,
                       uint32_t count)
{
    float lines[(COLUMNS + KERNEL_MAX) * 4], sums[(COLUMNS + KERNEL_MAX) * 4], out[COLUMNS * 4];
    int64_t half = kernel->half, from = clamp(left - half, image->width),
            to = clamp(left + count - 1 + half, image->width);
    for (uint32_t y = 0; y < image->height; y++) {
        sum_columns(image, kernel, y, (uint32_t)from, (size_t)(to - from + 1), sums);
        for (int64_t x = left - half; x < left + count + half; x++) {
            size_t at = reflect(x, image->width) - (size_t)from;
            memcpy(lines + (x - left + half) * 4, sums + at * 4, 4 * sizeof *sums);
        }
        memset(out, 0, sizeof out);
        for (int64_t i = 0; i <= half; i++)
            add_sums(out, lines + (half - i) * 4, lines + (half + i) * 4, count * 4,
                     i ? kernel->weights[i] : kernel->weights[i] / 2);
        put_levels(out, (uint8_t *)(image->pixels + (size_t)y * image->width + left), count * 4);
    }
}

/* torchvision, transforms.GaussianBlur: a convolution with reflected borders. */
void rue_image_gaussian_blur(const struct rue_image *image, const struct rue_operation *operation)
{
    const struct kernel kernel = make_kernel((double)operation->value, (int)operation->more);
    memcpy(image->scratch, image->pixels, image->count * sizeof *image->pixels);
    for (uint32_t left = 0; left < image->width; left += COLUMNS)
        blur_strip(image, &kernel, left, image->width - left < COLUMNS ? image->width - left : COLUMNS);
}

/* Pillow, ImageFilter.SMOOTH: each sum / 13, rounded; a sum never lies in the middle of two levels. */
RUE_WIDE static void sharpen_row(const uint8_t *above, const uint8_t *row, const uint8_t *below, uint8_t *out,
                                 size_t count, float factor)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t sum = (uint32_t)above[i] + above[i + 4] + above[i + 8] + row[i] + 5U * row[i + 4] +
                       row[i + 8] + below[i] + below[i + 4] + below[i + 8];
        out[i + 4] = (uint8_t)rue_blend((2 * sum + 13) / 26, row[i + 4], factor);
    }
}

/* Pillow, ImageEnhance.Sharpness: pixels at the border stay. */
void rue_image_sharpen(const struct rue_image *image, const struct rue_operation *operation)
{
    size_t stride = (size_t)image->width * 4;
    const uint8_t *row = (const uint8_t *)image->scratch + stride;
    uint8_t *out = (uint8_t *)image->pixels + stride;
    if (image->width < 3) return;
    memcpy(image->scratch, image->pixels, image->count * sizeof *image->pixels);
    for (uint32_t y = 1; y + 1 < image->height; y++, row += stride, out += stride)
        sharpen_row(row - stride, row, row + stride, out, stride - 8, operation->value);
}
