#include <math.h>
#include <stdlib.h>
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
    if (at >= 0 && at < size) return (size_t)at;
    if (size == 1) return 0;
    int64_t period = 2 * (size - 1), place = (at % period + period) % period;
    return (size_t)(place < size ? place : period - place);
}

/* exp(x) for x up to 0, as SLEEF's expf, which PyTorch uses, rounds it. */
static float exponential(float x)
{
    static const float factors[] = {0.000198527617612853646278F, 0.00139304355252534151077F,
                                    0.00833336077630519866943F,  0.0416664853692054748535F,
                                    0.166666671633720397949F,    0.5F};
    if (x < -104) return 0;
    float whole = rintf(x * 1.44269504088896341F), sum = 0;
    float rest = fmaf(whole, -1.428606765330187e-6F, fmaf(whole, -0.693145751953125F, x));
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) sum = fmaf(sum, rest, factors[i]);
    return ldexpf(1 + fmaf(rest * rest, sum, rest), (int)whole);
}

/* Of all weights. PyTorch, native/cpu/SumKernel.cpp, with AVX2: four sums of each lane, then the lanes. */
static float add_weights(const float *weights, int half)
{
    float sums[4][8] = {0}, sum = 0;
    int count = 2 * half + 1, lanes = count < 8 ? 1 : 8, groups = count / lanes;
    for (int i = 0; i < groups * lanes; i++)
        sums[i / lanes < groups / 4 * 4 ? i / lanes % 4 : 0][i % lanes] += weights[abs(i - half)];
    for (int i = groups * lanes; i < count; i++) sum += weights[abs(i - half)];
    for (int i = 0; i < lanes; i++) sum += sums[0][i] + sums[1][i] + sums[2][i] + sums[3][i];
    return sum;
}

/* Half of a symmetric kernel: weights[i] is that of the pixels at distance i. Fast sums end at `half`. */
struct kernel {
    int half, whole;
    float weights[KERNEL_MAX / 2 + 1];
    float units, limit; /* a level is sure if it is nearer to its sum than limit - units in the last place */
};

/* Partial sums never exceed the sum, so a rounding is at most half a unit in its last place. PyTorch rounds
 * at each tap, fast sums at each row and column. A tap beyond `half` changes each sum by its share at most.
 * Sums with more than 1536 roundings stay as they are: most values would be close. */
static struct kernel make_kernel(float sigma, int whole)
{
    struct kernel kernel = {.whole = whole, .limit = 0.5F};
    for (int i = 0; i <= whole; i++) {
        float distance = (float)i / sigma;
        kernel.weights[i] = exponential(-0.5F * (distance * distance));
    }
    float sum = add_weights(kernel.weights, whole);
    for (int i = 0; i <= whole; i++) {
        kernel.weights[i] /= sum;
        if (kernel.weights[i] > 1e-7F)
            kernel.half = i;
        else
            kernel.limit -= 2 * 4 * 255 * kernel.weights[i];
    }
    int taps = 2 * kernel.half + 1, roundings = taps * (taps + 2) + 12;
    kernel.units = roundings <= 1536 ? (float)roundings / 2 : 0;
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

/* Rounds halves to even. `close`: whether roundings of the sum can change the level. */
RUE_WIDE static void put_levels(const float *sums, uint8_t *out, uint8_t *close, size_t count, float units,
                                float limit)
{
    for (size_t i = 0; i < count; i++) {
        float level = (sums[i] + 0x1.8p23F) - 0x1.8p23F, above = sums[i] + 0.5F;
        float unit = (above + above * 0x1.4p-24F) - above;
        out[i] = (uint8_t)(int32_t)level;
        close[i] = fabsf(sums[i] - level) > limit - units * unit;
    }
}

/* The level at this byte of the image, of the sum as PyTorch 1.13 adds it on a CPU with AVX2. */
RUE_FUSED static uint8_t find_exact_level(const struct rue_image *image, const struct kernel *kernel,
                                          size_t place)
{
    const uint8_t *levels = (const uint8_t *)image->scratch + place % 4;
    int64_t half = kernel->whole, x = (int64_t)(place / 4 % image->width),
            y = (int64_t)(place / 4 / image->width);
    float sum = 0;
    for (int64_t i = -half; i <= half; i++) {
        const uint8_t *row = levels + reflect(y + i, image->height) * image->width * 4;
        for (int64_t j = -half; j <= half; j++)
            sum = fmaf(row[reflect(x + j, image->width) * 4],
                       kernel->weights[labs(i)] * kernel->weights[labs(j)], sum);
    }
    return (uint8_t)lrintf(sum);
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
    uint8_t close[COLUMNS * 4], *end = close + count * 4;
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
        size_t place = ((size_t)y * image->width + left) * 4;
        uint8_t *levels = (uint8_t *)image->pixels + place;
        put_levels(out, levels, close, count * 4, kernel->units, kernel->limit);
        for (uint8_t *at = close; (at = memchr(at, 1, (size_t)(end - at))); at++)
            levels[at - close] = find_exact_level(image, kernel, place + (size_t)(at - close));
    }
}

/* torchvision, transforms.GaussianBlur: a convolution with reflected borders. Sums are fast, and PyTorch's
 * own where roundings can change the level. */
void rue_image_gaussian_blur(const struct rue_image *image, const struct rue_operation *operation)
{
    const struct kernel kernel = make_kernel(operation->value, (int)operation->more / 2);
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
