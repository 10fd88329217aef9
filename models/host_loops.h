/* What a model does on a CPU, on one core: a small blocked product, for where there is no OpenBLAS, and the
 * loops that memory bounds. With AVX2 where the processor has it. Arrays do not overlap. */
#ifndef RUE_HOST_LOOPS_H
#define RUE_HOST_LOOPS_H

#include <stddef.h>

/* C[m,n] = A[m,k] B[k,n], row by row and without gaps; A and B are read, C is overwritten. */
struct rue_matrices {
    size_t m, n, k;
    const float *a, *b;
    float *c;
};
void rue_host_multiply(const struct rue_matrices *matrices);

/* A depthwise convolution, channels innermost: out[p][c] = sum over w of in[p * step + w][c] * weights[w][c],
 * so `in` has (positions - 1) * step + window positions. */
struct rue_depthwise {
    size_t positions, step, window, channels;
    const float *in, *weights;
    float *out;
};
void rue_host_convolve_depthwise(const struct rue_depthwise *layer);

/* A normalisation with a rectifier: out[i] = max(0, in[i] * 0.5 + 0.25). */
void rue_host_rectify(const float *in, float *out, size_t count);

#endif
