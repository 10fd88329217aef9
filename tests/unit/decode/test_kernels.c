#include "kernels.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The definition, each step rounded to float32. */
static float normalized(int channel, int level)
{
    static const float mean[] = RUE_MEAN, std[] = RUE_STD;
    volatile float value = (float)level / 255.0F; /* volatile: no step may be fused with the next */
    value = value - mean[channel];
    return value / std[channel];
}

Test(kernels, the_last_runs_everywhere_and_the_best_runs_here)
{
    size_t last = 0;
    while (rue_kernels[last + 1]) last++;
    cr_assert_eq(rue_kernels[last], &rue_kernels_portable);
    cr_assert(rue_kernels_portable.usable() && rue_kernels_best()->usable());
}

Test(kernels, every_level_of_every_channel_is_normalized_as_defined)
{
    uint8_t levels[261];
    _Alignas(64) float room[262];
    for (int i = 0; i < 261; i++) levels[i] = (uint8_t)i;
    for (size_t k = 0; rue_kernels[k]; k++)
        for (int c = 0; rue_kernels[k]->usable() && c < RUE_CHANNELS; c++)
            for (size_t count = 240; count <= 261; count++) { /* tails of all lengths */
                float *values = room + count % 2;             /* aligned and not */
                memset(room, 0, sizeof room);
                rue_kernels[k]->normalize(c, levels, count, values);
                for (size_t i = 0; i < count; i++)
                    cr_assert_eq(values[i], normalized(c, levels[i]), "%s: level %d of channel %d",
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

Test(kernels, planes_are_split_from_a_line)
{
    uint8_t line[RUE_LINE_BYTES], *planes = calloc(RUE_TENSOR_ITEMS, 1);
    float *values = calloc(RUE_TENSOR_ITEMS, sizeof *values);
    for (size_t i = 0; i < sizeof line; i++) line[i] = (uint8_t)(i * 37 + i / 256);
    for (size_t k = 0; rue_kernels[k]; k++) {
        if (!rue_kernels[k]->usable()) continue;
        rue_kernels[k]->planes(line, planes);
        rue_kernels[k]->normalized_planes(line, values);
        for (size_t x = 0; x < RUE_CROP; x++)
            for (int c = 0; c < RUE_CHANNELS; c++) {
                uint8_t level = line[x * RUE_PIXEL_BYTES + (size_t)c];
                cr_assert_eq(planes[(size_t)c * RUE_PLANE + x], level, "%s", rue_kernels[k]->name);
                cr_assert_eq(values[(size_t)c * RUE_PLANE + x], normalized(c, level), "%s",
                             rue_kernels[k]->name);
            }
    }
    free(planes);
    free(values);
}
