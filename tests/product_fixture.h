/* Products of the CUDA module beside sums on the CPU: for the tests, and for the checks on a GPU. */
#ifndef RUE_PRODUCT_FIXTURE_H
#define RUE_PRODUCT_FIXTURE_H

#include <math.h>
#include <stdlib.h>

#include "cuda_module.h"
#include "device.h"

/* What a factor's rounding and that of the result may add up to, as a share of the sum of absolute values. */
static const double product_bounds[RUE_PRECISION_COUNT] = {2e-6, 2e-3, 1.6e-2}, product_tf32_bound = 2e-3;

/* The work of a depthwise layer. */
#define PRODUCT_DEPTHWISE                                                                             \
    {                                                                                                 \
        .kind = RUE_CUDA_DEPTHWISE, .rows = 49, .columns = 1, .inner = 9, .count = 96, .b_count = 32, \
        .a_stride = 196, .b_stride = 9                                                                \
    }

static inline float *product_values(size_t count, unsigned seed)
{
    float *out = malloc((count + 1) * sizeof *out);
    if (!out) exit(1);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
    return out;
}

/* The sum for one element, and that of its absolute values. */
static inline double product_sum(const struct rue_cuda_step *step, const float *a, const float *b,
                                 uint64_t time, uint64_t row, uint64_t column, double *absolute)
{
    bool depthwise = step->kind == RUE_CUDA_DEPTHWISE;
    const float *x = a + time * step->a_stride +
                     (depthwise ? row * step->a_stride / step->rows : row * step->inner),
                *y = b + time % step->b_count * step->b_stride + column * step->inner;
    double sum = *absolute = 0;
    for (uint64_t j = 0; j < step->inner; j++) {
        sum += (double)x[j] * (double)y[j];
        *absolute += fabs((double)x[j] * (double)y[j]);
    }
    return sum;
}

static inline double product_worst_error(const struct rue_cuda_step *step, const float *a, const float *b,
                                         const float *c)
{
    double worst = 0, absolute;
    for (uint64_t t = 0; t < step->count; t++)
        for (uint64_t r = 0; r < step->rows; r++)
            for (uint64_t q = 0; q < step->columns; q++) {
                double sum = product_sum(step, a, b, t, r, q, &absolute);
                double error = fabs(c[t * step->c_stride + r * step->columns + q] - sum) / absolute;
                if (!(error <= worst)) worst = error; /* NaN is worst of all */
            }
    return worst;
}

#endif
