#include "pixels.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "philox.h"

enum { LEVELS = 256, QUANTILES = 4096, BLOCK_NOISE = 12 };

struct image {
    uint32_t width, height;
    size_t bytes;
    uint32_t *pixels, *scratch;
};

static void flip_rows(const struct image *image)
{
    uint32_t *row = image->pixels, width = image->width;
    for (uint32_t y = 0; y < image->height; y++, row += width)
        for (uint32_t i = 0; i < width / 2; i++) {
            uint32_t left = row[i];
            row[i] = row[width - 1 - i];
            row[width - 1 - i] = left;
        }
}

/* The inverse of a rotation by `degrees`, clockwise, and a scaling about the centre: output (x, y) shows
 * input (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). torchvision, functional._get_inverse_affine_matrix.
 */
static void invert_affine(const struct image *image, double degrees, double scale, double m[6])
{
    double angle = degrees * (M_PI / 180), x = image->width * 0.5, y = image->height * 0.5;
    m[0] = cos(angle) / scale;
    m[1] = sin(angle) / scale;
    m[3] = -sin(angle) / scale;
    m[4] = cos(angle) / scale;
    m[2] = 0.0 + m[0] * -x + m[1] * -y;
    m[5] = 0.0 + m[3] * -x + m[4] * -y;
    m[2] += x;
    m[5] += y;
}

static int64_t fix16(double value)
{
    return (int64_t)floor(value * 65536.0 + 0.5);
}

/* Nearest input in 16.16 fixed point; black outside. Pillow, src/libImaging/Geometry.c, affine_fixed. */
static void rotate_pixels(const struct image *image, const double m[6])
{
    const int64_t step[] = {fix16(m[0]), fix16(m[1]), fix16(m[3]), fix16(m[4])}, width = image->width;
    const int64_t x_end = width << 16, y_end = (int64_t)image->height << 16;
    int64_t row_x = fix16(m[2] + m[0] * 0.5 + m[1] * 0.5), row_y = fix16(m[5] + m[3] * 0.5 + m[4] * 0.5);
    uint32_t *out = image->pixels;
    for (uint32_t i = 0; i < image->height; i++, row_x += step[1], row_y += step[3]) {
        int64_t x = row_x, y = row_y;
        for (uint32_t j = 0; j < image->width; j++, x += step[0], y += step[2]) {
            bool inside = x >= 0 && x < x_end && y >= 0 && y < y_end;
            *out++ = inside ? image->scratch[(y >> 16) * width + (x >> 16)] : 0;
        }
    }
}

/* Without rotation Pillow adds steps in double precision (ImagingScaleAffine). */
static void scale_pixels(const struct image *image, const double m[6])
{
    uint32_t *out = image->pixels;
    double y = m[5] + m[4] * 0.5;
    for (uint32_t i = 0; i < image->height; i++, y += m[4]) {
        bool within = y >= 0 && y < image->height;
        const uint32_t *row = image->scratch + (within ? (size_t)y * image->width : 0);
        double x = m[2] + m[0] * 0.5;
        for (uint32_t j = 0; j < image->width; j++, x += m[0])
            *out++ = within && x >= 0 && x < image->width ? row[(size_t)x] : 0;
    }
}

static void transform_pixels(const struct image *image, double degrees, double scale)
{
    double m[6];
    invert_affine(image, degrees, scale, m);
    memcpy(image->scratch, image->pixels, image->bytes);
    if (m[1] == 0 && m[3] == 0)
        scale_pixels(image, m);
    else
        rotate_pixels(image, m);
}

/* The level of 255 between (or beyond) two levels. Pillow, src/libImaging/Blend.c. */
static uint8_t blend(int from, int to, float factor)
{
    float level = (float)from + factor * (float)(to - from);
    return level <= 0 ? 0 : level >= 255 ? 255 : (uint8_t)level;
}

static void map_levels(const struct image *image, const uint8_t map[LEVELS])
{
    uint8_t *levels = (uint8_t *)image->pixels;
    for (size_t i = 0; i < image->bytes; i++) levels[i] = map[levels[i]];
}

/* Moves all levels away from `from` (factor above 1), or towards it. */
static void blend_pixels(const struct image *image, int from, float factor)
{
    uint8_t map[LEVELS];
    for (int level = 0; level < LEVELS; level++) map[level] = blend(from, level, factor);
    map_levels(image, map);
}

/* The mean of the grey levels, rounded. Pillow, ImageEnhance.Contrast and Convert.c, L24. */
static int mean_grey(const struct image *image)
{
    const uint8_t *levels = (const uint8_t *)image->pixels;
    uint64_t sum = 0;
    for (const uint8_t *p = levels; p < levels + image->bytes; p += 4)
        sum += (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000) >> 16;
    return (int)((double)sum / ((double)image->width * image->height) + 0.5);
}

/* The quantile of the standard normal distribution, with an error below 1e-6 for 1e-10 < p < 1 - 1e-10.
 * Wichura, "Algorithm AS 241", 1988, PPND7. */
static double normal_quantile(double p)
{
    double q = p - 0.5, r = 0.180625 - q * q;
    if (fabs(q) <= 0.425)
        return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
               (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
    r = sqrt(-log(q < 0 ? p : 1 - p)) - 1.6;
    double tail = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
                  ((0.12021132975 * r + 0.73700164250) * r + 1.0);
    return q < 0 ? -tail : tail;
}

static uint8_t add_clipped(uint8_t level, int16_t delta)
{
    int sum = level + delta;
    return sum < 0 ? 0 : sum > 255 ? 255 : (uint8_t)sum;
}

static struct rue_philox draw_words(const uint32_t first[4], uint32_t lanes_step, uint64_t key)
{
    struct rue_philox block;
    for (uint32_t i = 0; i < RUE_PHILOX_LANES; i++) {
        block.word[0][i] = first[0] + i * lanes_step;
        for (int w = 1; w < 4; w++) block.word[w][i] = first[w];
    }
    rue_philox_mix(&block, key);
    return block;
}

/* Adds a normal number to each level. Block 12 of the item is the key of a stream of its own. Each word of
 * that stream is two numbers of 12 bits, each the quantile (number + 0.5) / 4096. */
static void add_noise(const struct image *image, const struct rue_augmentation *one,
                      const struct rue_augmentation_key *key)
{
    int16_t deltas[QUANTILES];
    double deviation = 255 * (double)one->noise;
    for (int q = 0; q < QUANTILES; q++)
        deltas[q] = (int16_t)rint(deviation * normal_quantile((q + 0.5) / QUANTILES));
    const uint32_t counter[4] = {(uint32_t)one->item, (uint32_t)(one->item >> 32), key->epoch,
                                 key->stream << 8 | BLOCK_NOISE};
    struct rue_philox own = draw_words(counter, 0, key->seed);
    uint64_t stream = (uint64_t)own.word[1][0] << 32 | own.word[0][0];
    uint8_t *levels = (uint8_t *)image->pixels;
    enum { AT_ONCE = 8 * RUE_PHILOX_LANES };
    for (size_t at = 0; at < image->bytes; at += AT_ONCE) {
        const uint32_t first[4] = {(uint32_t)(at / 8), 0, 0, 0};
        struct rue_philox random = draw_words(first, 1, stream);
        for (size_t i = 0; i < AT_ONCE && at + i < image->bytes; i += 2) {
            uint32_t word = random.word[i / 2 % 4][i / 8];
            levels[at + i] = add_clipped(levels[at + i], deltas[word >> 20]);
            levels[at + i + 1] = add_clipped(levels[at + i + 1], deltas[word >> 4 & (QUANTILES - 1)]);
        }
    }
}

void rue_pixels_augment(const struct rue_augmentation *one, const struct rue_augmentation_key *key,
                        uint32_t width, uint32_t height, uint8_t *pixels, uint8_t *scratch)
{
    const struct image image = {width, height, rue_pixels_bytes(width, height), (uint32_t *)(void *)pixels,
                                (uint32_t *)(void *)scratch};
    if (one->flip) flip_rows(&image);
    if (one->rotation != 0 || one->scale != 1)
        transform_pixels(&image, (double)one->rotation, (double)one->scale);
    if (one->brightness != 1) blend_pixels(&image, 0, one->brightness);
    if (one->contrast != 1) blend_pixels(&image, mean_grey(&image), one->contrast);
    if (one->noise > 0) add_noise(&image, one, key);
}
