#include "host_loops.h"

#include <stdbool.h>
#include <string.h>

/* Rows and columns of C that are held in registers; the block of A that is held in the second level of cache,
 * and the panel of B in the first. */
enum { LANES = 8, TILE_ROWS = 6, TILE_COLUMNS = 2 * LANES, BLOCK_ROWS = 192, BLOCK_DEPTH = 256 };

/* Wherever floats lie. */
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define LOAD(at)      (*(const lanes *)(at))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* `rows` of C, in `panel` order: TILE_COLUMNS columns, of which `columns` are there. */
ALWAYS_INLINE void multiply_tile(const struct rue_matrices *of, const float *a, const float *panel, float *c,
                                 size_t rows, size_t columns, size_t depth, bool first)
{
    lanes sums[TILE_ROWS][2] = {0};
    for (size_t p = 0; p < depth; p++) {
        lanes left = LOAD(panel + p * TILE_COLUMNS), right = LOAD(panel + p * TILE_COLUMNS + LANES);
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            sums[r][0] += a[r * of->k + p] * left;
            sums[r][1] += a[r * of->k + p] * right;
        }
    }
    for (size_t r = 0; r < rows; r++) {
        float row[TILE_COLUMNS];
        memcpy(row, sums[r], sizeof row);
        for (size_t j = 0; j < columns; j++) c[r * of->n + j] = first ? row[j] : c[r * of->n + j] + row[j];
    }
}

/* Columns that are not there are zero. */
ALWAYS_INLINE void pack_panel(const struct rue_matrices *of, size_t p, size_t depth, size_t j, size_t columns,
                              float *panel)
{
    memset(panel, 0, depth * TILE_COLUMNS * sizeof *panel);
    for (size_t i = 0; i < depth; i++)
        memcpy(panel + i * TILE_COLUMNS, of->b + (p + i) * of->n + j, columns * sizeof *panel);
}

static inline size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

ALWAYS_INLINE void multiply_block(const struct rue_matrices *of, size_t i, size_t rows, size_t p)
{
    _Alignas(64) float panel[BLOCK_DEPTH * TILE_COLUMNS];
    size_t depth = at_most(of->k - p, BLOCK_DEPTH);
    for (size_t j = 0; j < of->n; j += TILE_COLUMNS) {
        size_t columns = at_most(of->n - j, TILE_COLUMNS), r = 0;
        pack_panel(of, p, depth, j, columns, panel);
        const float *a = of->a + i * of->k + p;
        float *c = of->c + i * of->n + j;
        for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
            multiply_tile(of, a + r * of->k, panel, c + r * of->n, TILE_ROWS, columns, depth, p == 0);
        for (; r < rows; r++)
            multiply_tile(of, a + r * of->k, panel, c + r * of->n, 1, columns, depth, p == 0);
    }
}

ALWAYS_INLINE void multiply(const struct rue_matrices *of)
{
    for (size_t i = 0; i < of->m; i += BLOCK_ROWS)
        for (size_t p = 0; p < of->k; p += BLOCK_DEPTH)
            multiply_block(of, i, at_most(of->m - i, BLOCK_ROWS), p);
}

ALWAYS_INLINE void convolve_depthwise(const struct rue_depthwise *of)
{
    size_t channels = of->channels, whole = channels / LANES * LANES;
    for (size_t position = 0; position < of->positions; position++) {
        const float *in = of->in + position * of->step * channels;
        float *out = of->out + position * channels;
        for (size_t c = 0; c < whole; c += LANES) {
            lanes sum = {0};
            for (size_t w = 0; w < of->window; w++)
                sum += LOAD(in + w * channels + c) * LOAD(of->weights + w * channels + c);
            *(lanes *)(out + c) = sum;
        }
        for (size_t c = whole; c < channels; c++) {
            float sum = 0;
            for (size_t w = 0; w < of->window; w++)
                sum += in[w * channels + c] * of->weights[w * channels + c];
            out[c] = sum;
        }
    }
}

ALWAYS_INLINE void rectify(const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value = in[i] * 0.5F + 0.25F;
        out[i] = value > 0 ? value : 0;
    }
}

#ifdef __x86_64__
#    define AVX2 __attribute__((target("avx2,fma")))

AVX2 static void multiply_avx2(const struct rue_matrices *of)
{
    multiply(of);
}

AVX2 static void convolve_depthwise_avx2(const struct rue_depthwise *of)
{
    convolve_depthwise(of);
}

AVX2 static void rectify_avx2(const float *in, float *out, size_t count)
{
    rectify(in, out, count);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#else
#    define multiply_avx2           multiply
#    define convolve_depthwise_avx2 convolve_depthwise
#    define rectify_avx2            rectify

static bool has_avx2(void)
{
    return false;
}
#endif

void rue_host_multiply(const struct rue_matrices *matrices)
{
    (has_avx2() ? multiply_avx2 : multiply)(matrices);
}

void rue_host_convolve_depthwise(const struct rue_depthwise *layer)
{
    (has_avx2() ? convolve_depthwise_avx2 : convolve_depthwise)(layer);
}

void rue_host_rectify(const float *in, float *out, size_t count)
{
    (has_avx2() ? rectify_avx2 : rectify)(in, out, count);
}
