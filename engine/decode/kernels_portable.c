/* The loops in portable C. */
#include <string.h>

#include "baseline_scan.h"
#include "kernels.h"

static bool always(void)
{
    return true;
}

static uint8_t clip_level(int32_t level)
{
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

static void horizontal(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line)
{
    for (size_t i = 0; i < axis->outputs; i++) {
        const uint8_t *pixels = row + (size_t)(axis->first[i] - column) * RUE_PIXEL_BYTES;
        const int32_t *weights = axis->weights + i * axis->taps;
        int32_t sums[RUE_PIXEL_BYTES];
        for (size_t c = 0; c < RUE_PIXEL_BYTES; c++) sums[c] = RUE_WEIGHT_HALF;
        for (size_t t = 0; t < axis->count[i]; t++)
            for (size_t c = 0; c < RUE_PIXEL_BYTES; c++)
                sums[c] += pixels[t * RUE_PIXEL_BYTES + c] * weights[t];
        for (size_t c = 0; c < RUE_PIXEL_BYTES; c++)
            line[i * RUE_PIXEL_BYTES + c] = clip_level(sums[c] >> RUE_WEIGHT_BITS);
    }
}

/* Compilers vectorise it. */
static void vertical(const int32_t *restrict weights, size_t count, const uint8_t *restrict lines,
                     size_t line_bytes, uint8_t *restrict line)
{
    enum { BLOCK = RUE_LINE_BLOCK_BYTES };
    for (size_t at = 0; at < line_bytes; at += BLOCK) {
        int32_t sums[BLOCK];
        for (size_t lane = 0; lane < BLOCK; lane++) sums[lane] = RUE_WEIGHT_HALF;
        for (size_t t = 0; t < count; t++)
            for (size_t lane = 0; lane < BLOCK; lane++)
                sums[lane] += lines[t * line_bytes + at + lane] * weights[t];
        for (size_t lane = 0; lane < BLOCK; lane++)
            line[at + lane] = clip_level(sums[lane] >> RUE_WEIGHT_BITS);
    }
}

static void planes(const uint8_t *line, size_t width, size_t plane, uint8_t *out)
{
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < RUE_CHANNELS; c++) out[c * plane + x] = line[x * RUE_PIXEL_BYTES + c];
}

static void normalized_planes(const struct rue_normal *normal, const uint8_t *line, size_t width,
                              size_t plane, float *out)
{
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < RUE_CHANNELS; c++)
            out[c * plane + x] = normal->value[c][line[x * RUE_PIXEL_BYTES + c]];
}

static void copy(const void *from, size_t bytes, void *to)
{
    memcpy(to, from, bytes);
}

static void normalize(const struct rue_normal *normal, int channel, const uint8_t *levels, size_t count,
                      float *out)
{
    for (size_t i = 0; i < count; i++) out[i] = normal->value[channel][levels[i]];
}

static int unstuff(const uint8_t **in, const uint8_t *end, uint8_t **out)
{
    const uint8_t *from = *in;
    uint8_t *to = *out;
    int marker = 0;
    while (end - from >= 2 && marker == 0) {
        *to = *from++;
        if (*to != 0xFF || (marker = *from++) == 0) to++;
    }
    *in = from;
    *out = to;
    return marker;
}

static bool read_mcu(struct rue_scan *scan, int16_t (**blocks)[RUE_BLOCK_COEFFICIENTS])
{
    return rue_scan_read_mcu(scan, blocks);
}

const struct rue_kernels rue_kernels_portable = {
    .name = "portable",
    .usable = always,
    .horizontal = horizontal,
    .vertical = vertical,
    .planes = planes,
    .normalized_planes = normalized_planes,
    .copy = copy,
    .normalize = normalize,
    .unstuff = unstuff,
    .read_mcu = read_mcu,
};
