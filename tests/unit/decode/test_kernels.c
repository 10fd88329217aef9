#include "kernels.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "transform.h"

/* The definition, each step rounded to float32. */
static float normalized(const struct rue_normal *normal, int channel, int level)
{
    volatile float value = (float)level / 255.0F; /* volatile: no step may be fused with the next */
    value = value - normal->mean[channel];
    return value / normal->std[channel];
}

static const float mean[] = RUE_MEAN, std[] = RUE_STD;

Test(kernels, the_last_runs_everywhere_and_the_best_runs_here)
{
    size_t last = 0;
    while (rue_kernels[last + 1]) last++;
    cr_assert_eq(rue_kernels[last], &rue_kernels_portable);
    cr_assert(rue_kernels_portable.usable() && rue_kernels_best()->usable());
}

Test(kernels, every_level_of_every_channel_is_normalized_as_defined)
{
    struct rue_normal normal;
    uint8_t levels[261];
    rue_kernels_normal(mean, std, &normal);
    _Alignas(64) float room[262];
    for (int i = 0; i < 261; i++) levels[i] = (uint8_t)i;
    for (size_t k = 0; rue_kernels[k]; k++)
        for (int c = 0; rue_kernels[k]->usable() && c < RUE_CHANNELS; c++)
            for (size_t count = 240; count <= 261; count++) { /* tails of all lengths */
                float *values = room + count % 2;             /* aligned and not */
                memset(room, 0, sizeof room);
                rue_kernels[k]->normalize(&normal, c, levels, count, values);
                for (size_t i = 0; i < count; i++)
                    cr_assert_eq(values[i], normalized(&normal, c, levels[i]), "%s: level %d of channel %d",
                                 rue_kernels[k]->name, levels[i], c);
                cr_assert(count == 261 || values[count] == 0, "%s writes past its end", rue_kernels[k]->name);
            }
}

Test(kernels, copies_are_whole_and_end_where_they_should)
{
    uint8_t from[700];
    _Alignas(64) uint8_t to[700];
    for (size_t i = 0; i < sizeof from; i++) from[i] = (uint8_t)(i * 31 + i / 256 + 1);
    for (size_t k = 0; rue_kernels[k]; k++)
        for (size_t bytes = 0; rue_kernels[k]->usable() && bytes < 600; bytes++) {
            size_t shift = bytes % 3, skew = bytes % 5;
            memset(to, 0, sizeof to);
            rue_kernels[k]->copy(from + skew, bytes, to + shift);
            cr_assert(memcmp(from + skew, to + shift, bytes) == 0, "%s, %zu bytes", rue_kernels[k]->name,
                      bytes);
            cr_assert(to[shift + bytes] == 0 && (shift == 0 || to[shift - 1] == 0), "%s, %zu bytes",
                      rue_kernels[k]->name, bytes);
        }
}

Test(kernels, values_are_rounded_correctly_for_any_mean_and_std)
{
    struct rue_normal normal;
    uint8_t levels[256];
    float values[256];
    uint64_t state = 1;
    for (int i = 0; i < 256; i++) levels[i] = (uint8_t)i;
    for (int i = 0; i < 3000; i++) {
        float any[2][RUE_CHANNELS];
        for (int c = 0; c < RUE_CHANNELS; c++) {
            any[0][c] = (float)rue_random_below(&state, 1000000) / 1e6F;
            any[1][c] = (float)(1 + rue_random_below(&state, 1000000)) / 1e6F;
        }
        const struct rue_kernels *kernels = rue_kernels_normal(any[0], any[1], &normal);
        kernels->normalize(&normal, i % RUE_CHANNELS, levels, 256, values);
        for (int level = 0; level < 256; level++)
            cr_assert_eq(values[level], normalized(&normal, i % RUE_CHANNELS, level));
    }
}

static void assert_split(const struct rue_kernels *kernels, const struct rue_normal *normal, size_t width)
{
    enum { MOST = 224, ROWS = 3, ALL = RUE_CHANNELS * MOST * ROWS + 1 };
    uint8_t line[MOST * RUE_PIXEL_BYTES], levels[ALL] = {0};
    float values[ALL] = {0};
    size_t plane = width * ROWS, last = (ROWS - 1) * width;
    for (size_t i = 0; i < sizeof line; i++) line[i] = (uint8_t)(i * 37 + i / 256 + 1);
    kernels->planes(line, width, plane, levels + last);
    kernels->normalized_planes(normal, line, width, plane, values + last);
    for (size_t x = 0; x < width; x++)
        for (int c = 0; c < RUE_CHANNELS; c++) {
            uint8_t level = line[x * RUE_PIXEL_BYTES + (size_t)c];
            cr_assert_eq(levels[(size_t)c * plane + last + x], level, "%s", kernels->name);
            cr_assert_eq(values[(size_t)c * plane + last + x], normalized(normal, c, level), "%s",
                         kernels->name);
        }
    for (int c = 1; c <= RUE_CHANNELS; c++) /* nothing is written past the end of a plane */
        cr_assert(levels[(size_t)c * plane] == 0 && values[(size_t)c * plane] == 0, "%s, width %zu",
                  kernels->name, width);
}

Test(kernels, planes_are_split_from_a_line)
{
    struct rue_normal normal;
    rue_kernels_normal(mean, std, &normal);
    for (size_t k = 0; rue_kernels[k]; k++)
        for (size_t width = 1; rue_kernels[k]->usable() && width <= 224; width++)
            assert_split(rue_kernels[k], &normal, width);
}

/* The definition: bytes up to a marker, without the zeros behind ff. Returns the marker. */
static int unstuff_slowly(const uint8_t *in, size_t bytes, uint8_t *out, size_t *count)
{
    for (size_t i = *count = 0; i + 1 < bytes; i++) {
        if (in[i] == 0xFF && in[i + 1] != 0) return in[i + 1];
        out[(*count)++] = in[i];
        i += in[i] == 0xFF;
    }
    return 0;
}

static void assert_unstuffed(const struct rue_kernels *kernels, const uint8_t *in, size_t bytes)
{
    uint8_t expected[200], out[232], *exact = malloc(bytes ? bytes : 1); /* for the sanitizer */
    size_t count;
    memcpy(exact, in, bytes);
    const uint8_t *at = exact;
    uint8_t *to = out;
    int marker = unstuff_slowly(in, bytes, expected, &count);
    cr_assert_eq(kernels->unstuff(&at, exact + bytes, &to), marker, "%s", kernels->name);
    if (marker) cr_assert(at - exact >= 2 && at[-2] == 0xFF && at[-1] == marker);
    if (marker) cr_assert_eq(to - out, (ptrdiff_t)count, "%s", kernels->name);
    cr_assert_eq(memcmp(out, expected, count), 0, "%s, %zu bytes", kernels->name, bytes);
    free(exact);
}

Test(kernels, scans_are_unstuffed_up_to_the_next_marker)
{
    uint8_t in[200];
    unsigned seed = 1;
    for (size_t k = 0; rue_kernels[k]; k++)
        for (unsigned i = 0; rue_kernels[k]->usable() && i < 20000; i++) {
            unsigned rarity = 1 + i % 90; /* of ff, and of markers */
            for (size_t b = 0; b < sizeof in; b++) {
                bool is_behind = b > 0 && in[b - 1] == 0xFF && (unsigned)rand_r(&seed) % rarity;
                in[b] = is_behind ? 0 : (unsigned)rand_r(&seed) % rarity ? (uint8_t)b : 0xFF;
            }
            assert_unstuffed(rue_kernels[k], in, i % (sizeof in + 1));
        }
}
