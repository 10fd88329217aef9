/* The inner loops of the transform for each level of SIMD; all give the same bytes. Each level is a const
 * table, chosen at run time, so one binary runs on all machines. Pixels are RGBX, 4 bytes. A line is one row
 * of the crop, RUE_LINE_BYTES long. Planes are RUE_CROP * RUE_CROP values apart. */
#ifndef RUE_KERNELS_H
#define RUE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transform.h"

enum {
    RUE_PIXEL_BYTES = 4,
    RUE_TAP_GROUP = 4, /* taps that the horizontal pass handles at once */
    RUE_LINE_BYTES = RUE_CROP * RUE_PIXEL_BYTES,
    RUE_LINE_BLOCK_BYTES = 64, /* bytes that the vertical pass handles at once */
    RUE_PLANE = RUE_CROP * RUE_CROP,
    RUE_WEIGHT_BITS = 22, /* fractional bits of a weight */
    RUE_WEIGHT_HALF = 1 << (RUE_WEIGHT_BITS - 1)
};

/* One side of the crop as weighted sums of the input: output i is the sum over t < count[i] of input[first[i]
 * + t] * weights[i * taps + t]. Weights past count[i] are 0. Weights are not negative and add up to 1 within
 * taps * 2^-23, so sums need no clipping. */
struct rue_axis {
    uint32_t in; /* length of the input */
    uint32_t first[RUE_CROP], count[RUE_CROP];
    size_t taps;                        /* the largest count, rounded up to a multiple of RUE_TAP_GROUP */
    int32_t *weights;                   /* [RUE_CROP * taps] */
    int32_t *spread;                    /* (horizontal axis) each weight, repeated for the bytes of a pixel */
    size_t weights_bytes, spread_bytes; /* allocated */
};

struct rue_kernels {
    const char *name;
    bool (*usable)(void); /* whether this machine can run it */

    /* Resamples one input row, which begins with column `column` of the image, into one line. May read
     * RUE_TAP_GROUP - 1 pixels past the last tap; their weights are 0. */
    void (*horizontal)(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line);

    /* Combines `count` lines of `line_bytes`, a multiple of RUE_LINE_BLOCK_BYTES, into one. */
    void (*vertical)(const int32_t *weights, size_t count, const uint8_t *lines, size_t line_bytes,
                     uint8_t *line);

    /* Writes one line to a row of the planes R, G, B: 8-bit levels, or normalised values. */
    void (*planes)(const uint8_t *line, uint8_t *out);
    void (*normalized_planes)(const uint8_t *line, float *out);

    /* Copies `bytes`. Does not fill the caches if `to` is aligned to 64 bytes. */
    void (*copy)(const void *from, size_t bytes, void *to);

    /* Applies ToTensor and Normalize to `count` levels of `channel`; writes as `copy` does. */
    void (*normalize)(int channel, const uint8_t *levels, size_t count, float *out);
};

/* All compiled levels, the fastest first, NULL at the end. The last one runs everywhere. */
extern const struct rue_kernels *const rue_kernels[];

/* The first level that this machine can run. */
const struct rue_kernels *rue_kernels_best(void);

extern const struct rue_kernels rue_kernels_portable;
#ifdef __x86_64__
extern const struct rue_kernels rue_kernels_avx2;
#endif

#endif
