#include "resample.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "transform.h"

#ifdef __x86_64__
#    include <immintrin.h>
#endif

enum {
    PIXEL = RUE_RESAMPLE_PIXEL_BYTES,
    PRECISION = 22, /* bits of a weight after the point */
    HALF = 1 << (PRECISION - 1),
    GROUP = 4,             /* taps of the horizontal pass at once */
    LANES = GROUP * PIXEL, /* and their bytes */
    BLOCK = 64,            /* bytes of a line in the vertical pass at once */
    LINE_BYTES = RUE_CROP * PIXEL
};

/* How the outputs inside the crop come from one side of the input: output i is the sum over t < count[i] of
 * input[first[i] + t] * weights[i * taps + t]; weights past count[i] are 0. */
struct axis {
    uint32_t in; /* length of the input */
    uint32_t first[RUE_CROP], count[RUE_CROP];
    size_t taps; /* the largest count, rounded up to a multiple of GROUP */
    int32_t *weights;
    size_t capacity_bytes; /* of `weights` */
};

/* The inner loops. Weights are not negative and add up to 1 within taps * 2^-23, so no sum ever needs
 * clipping. */
struct kernels {
    /* One row into one line; may read GROUP - 1 pixels past the last tap, times weights of 0. */
    void (*horizontal)(const struct axis *axis, const int32_t *spread, const uint8_t *row, uint8_t *line);
    /* `count` lines into one row of the crop. */
    void (*vertical)(const int32_t *weights, size_t count, const uint8_t *lines, uint8_t *out);
};

struct rue_resample {
    const struct kernels *kernels;
    uint32_t width, height; /* that the plan is for; width is 0 where there is none */
    struct axis x, y;
    int32_t *spread; /* the weights of `x`, each repeated for the bytes of a pixel */
    size_t spread_bytes;
    uint8_t *lines; /* the rows of `rue_resample_rows` after the horizontal pass, LINE_BYTES each */
    size_t lines_bytes;
};

void rue_resize_size(uint32_t width, uint32_t height, uint32_t *resized_width, uint32_t *resized_height)
{
    bool tall = width <= height;
    uint64_t shorter = tall ? width : height, longer = tall ? height : width;
    /* Python divides doubles; the quotient of integers this small is never rounded up to the next integer. */
    uint32_t resized = (uint32_t)(RUE_RESIZE * longer / shorter);
    *resized_width = tall ? RUE_RESIZE : resized;
    *resized_height = tall ? resized : RUE_RESIZE;
}

uint32_t rue_crop_offset(uint32_t side)
{
    uint32_t excess = side - RUE_CROP, half = excess / 2;
    return excess % 2 ? half + half % 2 : half;
}

/* `memory` where it has room for `bytes`, else new memory in its place, or NULL; the contents are lost. */
static void *reserve(void *memory, size_t *capacity_bytes, size_t bytes)
{
    if (bytes <= *capacity_bytes) return memory;
    free(memory);
    memory = calloc(1, bytes);
    *capacity_bytes = memory ? bytes : 0;
    return memory;
}

/* This and `triangle` are not inlined: where a fused multiply-add is at hand, compilers would fuse products
 * and sums across them and round differently. */
__attribute__((noinline)) static double output_center(uint32_t output, double scale)
{
    return (output + 0.5) * scale;
}

__attribute__((noinline)) static double triangle(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static void axis_bounds(struct axis *axis, uint32_t offset, double scale, double support)
{
    size_t most = 0;
    for (uint32_t i = 0; i < RUE_CROP; i++) {
        double center = output_center(offset + i, scale);
        int64_t first = (int64_t)(center - support + 0.5), last = (int64_t)(center + support + 0.5);
        if (first < 0) first = 0;
        if (last > axis->in) last = axis->in;
        axis->first[i] = (uint32_t)first;
        axis->count[i] = (uint32_t)(last - first);
        if (axis->count[i] > most) most = axis->count[i];
    }
    axis->taps = (most + GROUP - 1) / GROUP * GROUP;
}

/* The weights of one output, in the order of operations that Pillow has. */
static void axis_weigh(int32_t *weights, uint32_t first, uint32_t count, double center, double support)
{
    double inverse = 1.0 / support, sum = 0.0;
    for (uint32_t t = 0; t < count; t++) sum += triangle((t + first - center + 0.5) * inverse);
    for (uint32_t t = 0; t < count; t++) {
        double weight = triangle((t + first - center + 0.5) * inverse);
        if (sum != 0.0) weight /= sum;
        weights[t] = (int32_t)(0.5 + weight * (1 << PRECISION));
    }
}

static rue_status axis_plan(struct axis *axis, uint32_t in, uint32_t out, rue_error *error)
{
    double scale = (double)in / out, support = scale < 1.0 ? 1.0 : scale;
    uint32_t offset = rue_crop_offset(out);
    axis->in = in;
    axis_bounds(axis, offset, scale, support);
    size_t bytes = RUE_CROP * axis->taps * sizeof *axis->weights;
    axis->weights = reserve(axis->weights, &axis->capacity_bytes, bytes);
    if (!axis->weights) return rue_fail_memory(error, "the weights of a resampler", bytes);
    memset(axis->weights, 0, bytes);
    for (uint32_t i = 0; i < RUE_CROP; i++)
        axis_weigh(axis->weights + i * axis->taps, axis->first[i], axis->count[i],
                   output_center(offset + i, scale), support);
    return RUE_OK;
}

static struct rue_span axis_span(const struct axis *axis)
{
    uint32_t end = axis->first[RUE_CROP - 1] + axis->count[RUE_CROP - 1];
    return (struct rue_span){axis->first[0], end - axis->first[0]};
}

static rue_status spread_weights(struct rue_resample *resample, rue_error *error)
{
    size_t count = RUE_CROP * resample->x.taps * PIXEL, bytes = count * sizeof *resample->spread;
    resample->spread = reserve(resample->spread, &resample->spread_bytes, bytes);
    if (!resample->spread) return rue_fail_memory(error, "the weights of a resampler", bytes);
    for (size_t i = 0; i < count; i++) resample->spread[i] = resample->x.weights[i / PIXEL];
    return RUE_OK;
}

static void horizontal_portable(const struct axis *axis, const int32_t *spread, const uint8_t *row,
                                uint8_t *line)
{
    (void)spread;
    for (size_t i = 0; i < RUE_CROP; i++) {
        const uint8_t *pixels = row + (size_t)axis->first[i] * PIXEL;
        const int32_t *weights = axis->weights + i * axis->taps;
        int32_t sums[PIXEL] = {HALF, HALF, HALF, HALF};
        for (size_t t = 0; t < axis->count[i]; t++)
            for (size_t c = 0; c < PIXEL; c++) sums[c] += pixels[t * PIXEL + c] * weights[t];
        for (size_t c = 0; c < PIXEL; c++) line[i * PIXEL + c] = (uint8_t)(sums[c] >> PRECISION);
    }
}

static inline __attribute__((always_inline)) void vertical_loops(const int32_t *restrict weights,
                                                                 size_t count, const uint8_t *restrict lines,
                                                                 uint8_t *restrict out)
{
    for (size_t at = 0; at < LINE_BYTES; at += BLOCK) {
        int32_t sums[BLOCK];
        for (size_t lane = 0; lane < BLOCK; lane++) sums[lane] = HALF;
        for (size_t t = 0; t < count; t++)
            for (size_t lane = 0; lane < BLOCK; lane++)
                sums[lane] += lines[t * LINE_BYTES + at + lane] * weights[t];
        for (size_t lane = 0; lane < BLOCK; lane++) out[at + lane] = (uint8_t)(sums[lane] >> PRECISION);
    }
}

static void vertical_portable(const int32_t *weights, size_t count, const uint8_t *lines, uint8_t *out)
{
    vertical_loops(weights, count, lines, out);
}

static const struct kernels portable = {horizontal_portable, vertical_portable};

#ifdef __x86_64__
#    define AVX2 __attribute__((target("avx2")))

/* Two taps times their weights: 8 bytes of pixels to 8 products. */
AVX2 static inline __m256i two_taps(const uint8_t *pixels, const int32_t *spread)
{
    __m256i levels = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)pixels));
    return _mm256_mullo_epi32(levels, _mm256_loadu_si256((const __m256i *)spread));
}

/* The sums of the even taps of one output in the low half, those of the odd ones in the high half. */
AVX2 static inline __m256i half_sums(const uint8_t *pixels, const int32_t *spread, size_t lanes)
{
    __m256i low = _mm256_setzero_si256(), high = low;
    for (size_t at = 0; at < lanes; at += LANES) {
        low = _mm256_add_epi32(low, two_taps(pixels + at, spread + at));
        high = _mm256_add_epi32(high, two_taps(pixels + at + LANES / 2, spread + at + LANES / 2));
    }
    return _mm256_add_epi32(low, high);
}

/* The levels of two outputs, 32 bits each, from their half sums. */
AVX2 static inline __m256i two_levels(__m256i a, __m256i b)
{
    __m256i sums =
        _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
    return _mm256_srli_epi32(_mm256_add_epi32(sums, _mm256_set1_epi32(HALF)), PRECISION);
}

/* Written out: compilers turn the portable loop into code four times slower than this. */
AVX2 static void horizontal_avx2(const struct axis *axis, const int32_t *spread, const uint8_t *row,
                                 uint8_t *line)
{
    size_t lanes = axis->taps * PIXEL;
    for (size_t i = 0; i < RUE_CROP; i += 4, spread += 4 * lanes) {
        __m256i sums[4];
        for (size_t k = 0; k < 4; k++)
            sums[k] = half_sums(row + (size_t)axis->first[i + k] * PIXEL, spread + k * lanes, lanes);
        __m256i words = _mm256_packus_epi32(two_levels(sums[0], sums[2]), two_levels(sums[1], sums[3]));
        __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0x08);
        _mm_storeu_si128((__m128i *)(line + i * PIXEL), _mm256_castsi256_si128(bytes));
    }
}

AVX2 static void vertical_avx2(const int32_t *weights, size_t count, const uint8_t *lines, uint8_t *out)
{
    vertical_loops(weights, count, lines, out);
}

static const struct kernels avx2 = {horizontal_avx2, vertical_avx2};
#endif

/* Decided while running, so that one binary serves all machines; no ifunc, under which sanitizers crash. */
static const struct kernels *best_kernels(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) return &avx2;
#endif
    return &portable;
}

rue_status rue_resample_open(struct rue_resample **out, rue_error *error)
{
    struct rue_resample *resample = calloc(1, sizeof *resample);
    if (!resample) return rue_fail_memory(error, "a resampler", sizeof *resample);
    resample->kernels = best_kernels();
    *out = resample;
    return RUE_OK;
}

void rue_resample_use_portable(struct rue_resample *resample)
{
    resample->kernels = &portable;
}

void rue_resample_close(struct rue_resample *resample)
{
    if (!resample) return;
    free(resample->x.weights);
    free(resample->y.weights);
    free(resample->spread);
    free(resample->lines);
    free(resample);
}

rue_status rue_resample_begin(struct rue_resample *resample, uint32_t width, uint32_t height,
                              rue_error *error)
{
    assert(width > 0 && height > 0);
    if (resample->width == width && resample->height == height) return RUE_OK;
    resample->width = 0; /* no plan until this one is whole */
    uint32_t resized_width, resized_height;
    rue_resize_size(width, height, &resized_width, &resized_height);
    rue_status status = axis_plan(&resample->x, width, resized_width, error);
    if (status == RUE_OK) status = axis_plan(&resample->y, height, resized_height, error);
    if (status == RUE_OK) status = spread_weights(resample, error);
    if (status != RUE_OK) return status;
    size_t bytes = (size_t)rue_resample_rows(resample).count * LINE_BYTES;
    resample->lines = reserve(resample->lines, &resample->lines_bytes, bytes);
    if (!resample->lines) return rue_fail_memory(error, "resampled rows", bytes);
    resample->width = width;
    resample->height = height;
    return RUE_OK;
}

struct rue_span rue_resample_columns(const struct rue_resample *resample)
{
    return axis_span(&resample->x);
}

struct rue_span rue_resample_rows(const struct rue_resample *resample)
{
    return axis_span(&resample->y);
}

void rue_resample_row(struct rue_resample *resample, uint32_t y, const uint8_t *row)
{
    struct rue_span rows = rue_resample_rows(resample);
    assert(y >= rows.first && y - rows.first < rows.count);
    uint8_t *line = resample->lines + (size_t)(y - rows.first) * LINE_BYTES;
    resample->kernels->horizontal(&resample->x, resample->spread, row, line);
}

void rue_resample_end(struct rue_resample *resample, uint8_t *levels)
{
    const struct axis *axis = &resample->y;
    uint8_t *red = levels, *green = red + RUE_CROP * RUE_CROP, *blue = green + RUE_CROP * RUE_CROP;
    for (size_t y = 0; y < RUE_CROP; y++) {
        uint8_t line[LINE_BYTES];
        resample->kernels->vertical(axis->weights + y * axis->taps, axis->count[y],
                                    resample->lines + (size_t)(axis->first[y] - axis->first[0]) * LINE_BYTES,
                                    line);
        for (size_t x = 0; x < RUE_CROP; x++) {
            *red++ = line[x * PIXEL];
            *green++ = line[x * PIXEL + 1];
            *blue++ = line[x * PIXEL + 2];
        }
    }
}
