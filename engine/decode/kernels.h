/* The inner loops of the transform and of baseline.c for each level of SIMD; all give the same bytes. Each
 * level is a const table, chosen at run time, so one binary runs on all machines. Pixels are RGBX, 4 bytes. A
 * line is one row of the crop, of whole blocks of RUE_LINE_BLOCK_BYTES. */
#ifndef RUE_KERNELS_H
#define RUE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geometry.h"

enum {
    RUE_PIXEL_BYTES = 4,
    RUE_TAP_GROUP = 4,         /* taps that the horizontal pass handles at once */
    RUE_OUTPUT_GROUP = 4,      /* outputs that it computes at once */
    RUE_LINE_BLOCK_BYTES = 32, /* bytes that the vertical pass handles at once */
    RUE_WEIGHT_BITS = 22,      /* fractional bits of a weight */
    RUE_WEIGHT_HALF = 1 << (RUE_WEIGHT_BITS - 1),
    RUE_WEIGHT_LOWER_BITS = 11, /* of a weight's lower part; each part fits 16 bits (weights are below 2) */

    /* Values of `spread` of struct rue_axis. */
    RUE_SPREAD_GROUP = 64, /* two outputs' group of taps */
    RUE_SPREAD_LAST = 16,  /* from its first two taps to its last two */
    RUE_SPREAD_LOWER = 32, /* from the upper parts of weights to the lower ones */
};

struct rue_span {
    uint32_t first, count;
};

/* One side of the crop as weighted sums of the input: output i is the sum over t < count[i] of input[first[i]
 * + t] * weights[i * taps + t]. Weights past count[i] are 0, and so are all of an output outside the image
 * or past `outputs`. Weights add up to 1 within taps * 2^-23. Those of the bicubic filter may be negative. */
struct rue_axis {
    uint32_t in;          /* length of the input */
    uint32_t outputs;     /* arrays have them rounded up to whole groups */
    struct rue_span span; /* of the input that the outputs need */
    uint32_t *first, *count;
    size_t taps;      /* the largest count, rounded up to a multiple of RUE_TAP_GROUP */
    int32_t *weights; /* [outputs * taps] */
    int16_t *spread;  /* (horizontal axis) the same weights, for products of 16 bits: two outputs and two taps
                         beside each other, repeated for the bytes of a pixel */
    size_t bounds_bytes, weights_bytes, spread_bytes; /* allocated */
};

/* ToTensor divides by 255, Normalize subtracts and divides; each result is rounded to float32. */
struct rue_normal {
    float mean[RUE_CHANNELS], std[RUE_CHANNELS];
    float value[RUE_CHANNELS][256]; /* of each level */
};

struct rue_scan;

struct rue_kernels {
    const char *name;
    bool (*usable)(void); /* whether this machine can run it */

    /* Resamples one input row, which begins with column `column` of the image, into one line. May read
     * RUE_TAP_GROUP - 1 pixels past the last tap; their weights are 0. */
    void (*horizontal)(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line);

    /* Combines `count` lines of `line_bytes`, a multiple of RUE_LINE_BLOCK_BYTES, into one. */
    void (*vertical)(const int32_t *weights, size_t count, const uint8_t *lines, size_t line_bytes,
                     uint8_t *line);

    /* Writes `width` pixels of a line to a row of the planes R, G, B, which are `plane` values apart: levels,
     * or normalised values. */
    void (*planes)(const uint8_t *line, size_t width, size_t plane, uint8_t *out);
    void (*normalized_planes)(const struct rue_normal *normal, const uint8_t *line, size_t width,
                              size_t plane, float *out);

    /* Copies `bytes`. Does not fill the caches if `to` is aligned to 64 bytes. */
    void (*copy)(const void *from, size_t bytes, void *to);

    /* Normalises `count` levels of `channel`; writes as `copy` does. */
    void (*normalize)(const struct rue_normal *normal, int channel, const uint8_t *levels, size_t count,
                      float *out);

    /* Copies the bytes of a JPEG scan up to a marker, without the zeros behind ff. Returns the second byte of
     * the marker; 0: `end` comes before one. Advances `in` behind the marker, and `out`, which needs room for
     * 32 bytes more than the input has. */
    int (*unstuff)(const uint8_t **in, const uint8_t *end, uint8_t **out);

    /* Reads the next MCU into zeroed blocks; NULL: it is skipped. False: it is damaged (baseline_scan.h). */
    bool (*read_mcu)(struct rue_scan *scan, int16_t (**blocks)[64]);
};

/* All compiled levels, the fastest first, NULL at the end. The last one runs everywhere. */
extern const struct rue_kernels *const rue_kernels[];

/* The first level that this machine can run. */
const struct rue_kernels *rue_kernels_best(void);

/* The first of those whose normalised values are rounded correctly for this mean and std, of which `normal`
 * is set to the values. */
const struct rue_kernels *rue_kernels_normal(const float mean[RUE_CHANNELS], const float std[RUE_CHANNELS],
                                             struct rue_normal *normal);

extern const struct rue_kernels rue_kernels_portable;
#ifdef __x86_64__
extern const struct rue_kernels rue_kernels_avx2;
#endif

#endif
