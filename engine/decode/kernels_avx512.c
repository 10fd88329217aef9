/* The loops for AVX-512 with byte and word instructions. */
#include "kernels.h"

#ifdef __x86_64__
#    include "vertical_loops.h"

#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")))

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           rue_kernels_avx2.usable();
}

AVX512 static void vertical(const int32_t *weights, size_t count, const uint8_t *lines, uint8_t *line)
{
    rue_vertical_loops(weights, count, lines, line);
}

/* The other passes are the narrower ones: they wait for shuffles and loads, not for products, and are slower
 * with 512 bits where those are two steps of 256. */
static void horizontal(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line)
{
    rue_kernels_avx2.horizontal(axis, row, column, line);
}

static void planes(const uint8_t *line, uint8_t *out)
{
    rue_kernels_avx2.planes(line, out);
}

static void normalized_planes(const uint8_t *line, float *out)
{
    rue_kernels_avx2.normalized_planes(line, out);
}

static void copy(const void *from, size_t bytes, void *to)
{
    rue_kernels_avx2.copy(from, bytes, to);
}

static void normalize(int channel, const uint8_t *levels, size_t count, float *out)
{
    rue_kernels_avx2.normalize(channel, levels, count, out);
}

const struct rue_kernels rue_kernels_avx512 = {
    .name = "avx512",
    .usable = usable,
    .horizontal = horizontal,
    .vertical = vertical,
    .planes = planes,
    .normalized_planes = normalized_planes,
    .copy = copy,
    .normalize = normalize,
};
#endif
