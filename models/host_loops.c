#include "host_loops.h"

#include <stdbool.h>

enum { LANES = 8 };

/* Vectors at any address of a float. */
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define LOAD(at)      (*(const lanes *)(at))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void convolve_depthwise(const struct rue_depthwise *layer)
{
    size_t channels = layer->channels, whole = channels / LANES * LANES;
    for (size_t position = 0; position < layer->positions; position++) {
        const float *in = layer->in + position * layer->step * channels;
        float *out = layer->out + position * channels;
        for (size_t c = 0; c < whole; c += LANES) {
            lanes sum = {0};
            for (size_t w = 0; w < layer->window; w++)
                sum += LOAD(in + w * channels + c) * LOAD(layer->weights + w * channels + c);
            *(lanes *)(out + c) = sum;
        }
        for (size_t c = whole; c < channels; c++) {
            float sum = 0;
            for (size_t w = 0; w < layer->window; w++)
                sum += in[w * channels + c] * layer->weights[w * channels + c];
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

AVX2 static void convolve_depthwise_avx2(const struct rue_depthwise *layer)
{
    convolve_depthwise(layer);
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
#    define convolve_depthwise_avx2 convolve_depthwise
#    define rectify_avx2            rectify

static bool has_avx2(void)
{
    return false;
}
#endif

void rue_host_convolve_depthwise(const struct rue_depthwise *layer)
{
    (has_avx2() ? convolve_depthwise_avx2 : convolve_depthwise)(layer);
}

void rue_host_rectify(const float *in, float *out, size_t count)
{
    (has_avx2() ? rectify_avx2 : rectify)(in, out, count);
}
