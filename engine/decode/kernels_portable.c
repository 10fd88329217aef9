/* The loops in portable C. */
#include <pthread.h>
#include <string.h>

#include "kernels.h"
#include "vertical_loops.h"

static float normalized[RUE_CHANNELS][256]; /* constant after table_once */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* ToTensor divides by 255, Normalize subtracts and divides; each result is rounded to float32. */
static void fill_table(void)
{
    static const float mean[RUE_CHANNELS] = RUE_MEAN, std[RUE_CHANNELS] = RUE_STD;
    for (int c = 0; c < RUE_CHANNELS; c++)
        for (int level = 0; level < 256; level++)
            normalized[c][level] = ((float)level / 255.0F - mean[c]) / std[c];
}

static bool always(void)
{
    return true;
}

static void horizontal(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line)
{
    for (size_t i = 0; i < RUE_CROP; i++) {
        const uint8_t *pixels = row + (size_t)(axis->first[i] - column) * RUE_PIXEL_BYTES;
        const int32_t *weights = axis->weights + i * axis->taps;
        int32_t sums[RUE_PIXEL_BYTES];
        for (size_t c = 0; c < RUE_PIXEL_BYTES; c++) sums[c] = RUE_WEIGHT_HALF;
        for (size_t t = 0; t < axis->count[i]; t++)
            for (size_t c = 0; c < RUE_PIXEL_BYTES; c++)
                sums[c] += pixels[t * RUE_PIXEL_BYTES + c] * weights[t];
        for (size_t c = 0; c < RUE_PIXEL_BYTES; c++)
            line[i * RUE_PIXEL_BYTES + c] = (uint8_t)(sums[c] >> RUE_WEIGHT_BITS);
    }
}

static void vertical(const int32_t *weights, size_t count, const uint8_t *lines, size_t line_bytes,
                     uint8_t *line)
{
    rue_vertical_loops(weights, count, lines, line_bytes, line);
}

static void planes(const uint8_t *line, uint8_t *out)
{
    for (size_t x = 0; x < RUE_CROP; x++)
        for (size_t c = 0; c < RUE_CHANNELS; c++) out[c * RUE_PLANE + x] = line[x * RUE_PIXEL_BYTES + c];
}

static void normalized_planes(const uint8_t *line, float *out)
{
    pthread_once(&table_once, fill_table);
    for (size_t x = 0; x < RUE_CROP; x++)
        for (size_t c = 0; c < RUE_CHANNELS; c++)
            out[c * RUE_PLANE + x] = normalized[c][line[x * RUE_PIXEL_BYTES + c]];
}

static void copy(const void *from, size_t bytes, void *to)
{
    memcpy(to, from, bytes);
}

static void normalize(int channel, const uint8_t *levels, size_t count, float *out)
{
    pthread_once(&table_once, fill_table);
    for (size_t i = 0; i < count; i++) out[i] = normalized[channel][levels[i]];
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
};
