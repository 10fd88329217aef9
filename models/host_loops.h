/* Loops of a model on one CPU core, other than matrix products. They are bound by memory, and use AVX2 if the
 * CPU has it. Arrays must not overlap. */
#ifndef RUE_HOST_LOOPS_H
#define RUE_HOST_LOOPS_H

#include <stddef.h>

/* A depthwise convolution with channels innermost: out[p][c] = sum over w of in[p * step + w][c] *
 * weights[w][c]. `in` has (positions - 1) * step + window positions. */
struct rue_depthwise {
    size_t positions, step, window, channels;
    const float *in, *weights;
    float *out;
};
void rue_host_convolve_depthwise(const struct rue_depthwise *layer);

/* Normalisation and rectifier: out[i] = max(0, in[i] * 0.5 + 0.25). */
void rue_host_rectify(const float *in, float *out, size_t count);

#endif
