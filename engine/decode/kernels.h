/* The inner loops of the transform, once for each level of SIMD; all levels give the same bytes. A level is a
 * const table, chosen while running, so that one binary serves all machines. Pixels are RGBX, 4 bytes; a line
 * is one row of the crop, RUE_LINE_BYTES long; planes lie RUE_CROP * RUE_CROP values apart. */
#ifndef RUE_KERNELS_H
#define RUE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transform.h"

enum {
    RUE_PIXEL_BYTES = 4,
    RUE_TAP_GROUP = 4, /* taps of the horizontal pass at once */
    RUE_LINE_BYTES = RUE_CROP * RUE_PIXEL_BYTES,
    RUE_PLANE = RUE_CROP * RUE_CROP,
    RUE_WEIGHT_BITS = 22, /* bits of a weight after the point */
    RUE_WEIGHT_HALF = 1 << (RUE_WEIGHT_BITS - 1)
};

/* How the outputs inside the crop come from one side of the input: output i is the sum over t < count[i] of
 * input[first[i] + t] * weights[i * taps + t]; weights past count[i] are 0. Weights are not negative and add
 * up to 1 within taps * 2^-23, so no sum ever needs clipping. */
struct rue_axis {
    uint32_t in; /* length of the input */
    uint32_t first[RUE_CROP], count[RUE_CROP];
    size_t taps;      /* the largest count, rounded up to a multiple of RUE_TAP_GROUP */
    int32_t *weights; /* [RUE_CROP * taps] */
    int32_t *spread;  /* (of the horizontal axis) the weights, each repeated for the bytes of a pixel */
    size_t weights_bytes, spread_bytes; /* that there is room for */
};

struct rue_kernels {
    const char *name;
    bool (*usable)(void); /* on this machine */

    /* One input row, which begins with column `column` of the image, into one line. May read
     * RUE_TAP_GROUP - 1 pixels past the last tap, times weights of 0. */
    void (*horizontal)(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line);

    /* `count` lines into one. */
    void (*vertical)(const int32_t *weights, size_t count, const uint8_t *lines, uint8_t *line);

    /* One line into the row of each plane, R, G, B: the levels themselves, or normalised. */
    void (*planes)(const uint8_t *line, uint8_t *out);
    void (*normalized_planes)(const uint8_t *line, float *out);

    /* Memory that nobody will read soon, and that is aligned to 64 bytes, is written past the caches. */
    void (*copy)(const void *from, size_t bytes, void *to);

    /* ToTensor and Normalize of `count` levels of `channel`; written as by `copy`. */
    void (*normalize)(int channel, const uint8_t *levels, size_t count, float *out);
};

/* Those that were compiled in, the fastest first, NULL at the end; the last one runs everywhere. */
extern const struct rue_kernels *const rue_kernels[];

/* The first of them that this machine can run. */
const struct rue_kernels *rue_kernels_best(void);

extern const struct rue_kernels rue_kernels_portable;
#ifdef __x86_64__
extern const struct rue_kernels rue_kernels_avx2;
#endif

#endif
