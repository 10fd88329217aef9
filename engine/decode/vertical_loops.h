/* The vertical pass as plain loops, which compilers vectorise well for each level of SIMD. See struct
 * rue_kernels. */
#ifndef RUE_VERTICAL_LOOPS_H
#define RUE_VERTICAL_LOOPS_H

#include "kernels.h"

static inline __attribute__((always_inline)) uint8_t rue_clip_level(int32_t level)
{
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

static inline __attribute__((always_inline)) void rue_vertical_loops(const int32_t *restrict weights,
                                                                     size_t count,
                                                                     const uint8_t *restrict lines,
                                                                     size_t line_bytes,
                                                                     uint8_t *restrict line)
{
    enum { BLOCK = RUE_LINE_BLOCK_BYTES }; /* at once: the sums stay in registers */
    for (size_t at = 0; at < line_bytes; at += BLOCK) {
        int32_t sums[BLOCK];
        for (size_t lane = 0; lane < BLOCK; lane++) sums[lane] = RUE_WEIGHT_HALF;
        for (size_t t = 0; t < count; t++)
            for (size_t lane = 0; lane < BLOCK; lane++)
                sums[lane] += lines[t * line_bytes + at + lane] * weights[t];
        for (size_t lane = 0; lane < BLOCK; lane++)
            line[at + lane] = rue_clip_level(sums[lane] >> RUE_WEIGHT_BITS);
    }
}

#endif
