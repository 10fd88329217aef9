#include "pixels.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "philox.h"

enum { SIDE = RUE_PIXELS_SIDE, PIXELS = SIDE * SIDE, LEVELS = 256, QUANTILES = 4096, BLOCK_NOISE = 12 };

static void flip_rows(uint32_t *pixels)
{
    for (uint32_t *row = pixels; row < pixels + PIXELS; row += SIDE)
        for (int i = 0; i < SIDE / 2; i++) {
            uint32_t left = row[i];
            row[i] = row[SIDE - 1 - i];
            row[SIDE - 1 - i] = left;
        }
}

/* The inverse of a rotation by `degrees`, clockwise, and a scaling about the centre: output (x, y) shows
 * input (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). torchvision, functional._get_inverse_affine_matrix.
 */
static void invert_affine(double degrees, double scale, double m[6])
{
    double angle = degrees * (M_PI / 180), centre = SIDE * 0.5;
    m[0] = cos(angle) / scale;
    m[1] = sin(angle) / scale;
    m[3] = -sin(angle) / scale;
    m[4] = cos(angle) / scale;
    m[2] = 0.0 + m[0] * -centre + m[1] * -centre;
    m[5] = 0.0 + m[3] * -centre + m[4] * -centre;
    m[2] += centre;
    m[5] += centre;
}

static int32_t fix16(double value)
{
    return (int32_t)floor(value * 65536.0 + 0.5);
}

/* Nearest input in 16.16 fixed point; black outside. Pillow, src/libImaging/Geometry.c, affine_fixed. */
static void rotate_pixels(const double m[6], const uint32_t *in, uint32_t *out)
{
    const int32_t step[] = {fix16(m[0]), fix16(m[1]), fix16(m[3]), fix16(m[4])};
    int32_t row_x = fix16(m[2] + m[0] * 0.5 + m[1] * 0.5), row_y = fix16(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (int i = 0; i < SIDE; i++, row_x += step[1], row_y += step[3]) {
        int32_t x = row_x, y = row_y;
        for (int j = 0; j < SIDE; j++, x += step[0], y += step[2]) {
            bool inside = x >= 0 && x < SIDE << 16 && y >= 0 && y < SIDE << 16;
            *out++ = inside ? in[(y >> 16) * SIDE + (x >> 16)] : 0;
        }
    }
}

/* Without rotation Pillow adds steps in double precision (ImagingScaleAffine). */
static void scale_pixels(const double m[6], const uint32_t *in, uint32_t *out)
{
    int columns[SIDE];
    double x = m[2] + m[0] * 0.5, y = m[5] + m[4] * 0.5;
    for (int j = 0; j < SIDE; j++, x += m[0]) columns[j] = x < 0 || x >= SIDE ? -1 : (int)x;
    for (int i = 0; i < SIDE; i++, y += m[4]) {
        const uint32_t *row = y < 0 || y >= SIDE ? NULL : in + (size_t)(int)y * SIDE;
        for (int j = 0; j < SIDE; j++) *out++ = row && columns[j] >= 0 ? row[columns[j]] : 0;
    }
}

static void transform_pixels(double degrees, double scale, uint32_t *pixels, uint32_t *scratch)
{
    double m[6];
    invert_affine(degrees, scale, m);
    memcpy(scratch, pixels, RUE_PIXELS_BYTES);
    if (m[1] == 0 && m[3] == 0)
        scale_pixels(m, scratch, pixels);
    else
        rotate_pixels(m, scratch, pixels);
}

/* The level of 255 between (or beyond) two levels. Pillow, src/libImaging/Blend.c. */
static uint8_t blend(int from, int to, float factor)
{
    float level = (float)from + factor * (float)(to - from);
    return level <= 0 ? 0 : level >= 255 ? 255 : (uint8_t)level;
}

static void map_levels(const uint8_t map[LEVELS], uint8_t *pixels)
{
    for (size_t i = 0; i < RUE_PIXELS_BYTES; i++) pixels[i] = map[pixels[i]];
}

/* Moves all levels away from `from` (factor above 1), or towards it. */
static void blend_pixels(int from, float factor, uint8_t *pixels)
{
    uint8_t map[LEVELS];
    for (int level = 0; level < LEVELS; level++) map[level] = blend(from, level, factor);
    map_levels(map, pixels);
}

/* The mean of the grey levels, rounded. Pillow, ImageEnhance.Contrast and Convert.c, L24. */
static int mean_grey(const uint8_t *pixels)
{
    uint64_t sum = 0;
    for (const uint8_t *p = pixels; p < pixels + RUE_PIXELS_BYTES; p += 4)
        sum += (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000) >> 16;
    return (int)((double)sum / PIXELS + 0.5);
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
static void add_noise(const struct rue_augmentation *one, const struct rue_augmentation_key *key,
                      uint8_t *pixels)
{
    int16_t deltas[QUANTILES];
    double deviation = 255 * (double)one->noise;
    for (int q = 0; q < QUANTILES; q++)
        deltas[q] = (int16_t)rint(deviation * normal_quantile((q + 0.5) / QUANTILES));
    const uint32_t counter[4] = {(uint32_t)one->item, (uint32_t)(one->item >> 32), key->epoch,
                                 key->stream << 8 | BLOCK_NOISE};
    struct rue_philox own = draw_words(counter, 0, key->seed);
    uint64_t stream = (uint64_t)own.word[1][0] << 32 | own.word[0][0];
    enum { AT_ONCE = 8 * RUE_PHILOX_LANES };
    for (uint32_t at = 0; at < RUE_PIXELS_BYTES; at += AT_ONCE) {
        const uint32_t first[4] = {at / 8, 0, 0, 0};
        struct rue_philox random = draw_words(first, 1, stream);
        for (uint32_t i = 0; i < AT_ONCE; i += 2) {
            uint32_t word = random.word[i / 2 % 4][i / 8];
            pixels[at + i] = add_clipped(pixels[at + i], deltas[word >> 20]);
            pixels[at + i + 1] = add_clipped(pixels[at + i + 1], deltas[word >> 4 & (QUANTILES - 1)]);
        }
    }
}

void rue_pixels_augment(const struct rue_augmentation *one, const struct rue_augmentation_key *key,
                        uint8_t *pixels, uint8_t *scratch)
{
    uint32_t *words = (uint32_t *)(void *)pixels, *other = (uint32_t *)(void *)scratch;
    if (one->flip) flip_rows(words);
    if (one->rotation != 0 || one->scale != 1)
        transform_pixels((double)one->rotation, (double)one->scale, words, other);
    if (one->brightness != 1) blend_pixels(0, one->brightness, pixels);
    if (one->contrast != 1) blend_pixels(mean_grey(pixels), one->contrast, pixels);
    if (one->noise > 0) add_noise(one, key, pixels);
}
