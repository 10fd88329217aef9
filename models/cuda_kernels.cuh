/* rue's own kernels: initial values, element-wise operations, and products without cuBLASLt. */
#ifndef RUE_CUDA_KERNELS_CUH
#define RUE_CUDA_KERNELS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "cuda_failure.cuh"
#include "cuda_module.h"

namespace
{

enum { THREADS = 256, TILE = 64, TILE_INNER = 16 };

/* Numbers from -scale to scale. Computing with zeros would need less power than a real model. */
template <typename T> __global__ void fill(T *out, uint64_t count, uint32_t seed, float scale)
{
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint32_t x = (uint32_t)i * 2654435761u ^ seed;
        x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15;
        out[i] = T(((float)(x & 0xffff) / 32767.5f - 1) * scale);
    }
}

/* Converts the images to the type of the products. */
template <typename T> __global__ void convert(const float *in, T *out, uint64_t count)
{
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x)
        out[i] = T(in[i]);
}

__device__ float normalized(uint8_t level, float mean, float std)
{
    return ((float)level / 255.0f - mean) / std;
}

/* Normalises 8-bit levels: 16 per thread if channels are multiples of 16, the rest one by one. Both sides are
 * aligned to 16 bytes. */
template <typename T>
__global__ void normalize(const uint8_t *levels, T *out, uint64_t count, rue_cuda_input input)
{
    constexpr int wide = 16;
    uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    uint64_t threads = (uint64_t)gridDim.x * blockDim.x;
    uint64_t sixteens = input.channel_elements % wide ? 0 : count / wide;
    for (uint64_t i = thread; i < sixteens; i += threads) {
        union {
            uint4 all;
            uint8_t one[wide];
        } in = {((const uint4 *)levels)[i]};
        union {
            uint4 all[sizeof(T)];
            T one[wide];
        } values = {};
        uint64_t channel = i * wide / input.channel_elements % 3;
        float mean = input.mean[channel], std = input.std[channel];
#pragma unroll
        for (int v = 0; v < wide; v++) values.one[v] = T(normalized(in.one[v], mean, std));
#pragma unroll
        for (int v = 0; v < (int)sizeof(T); v++) ((uint4 *)out)[i * sizeof(T) + v] = values.all[v];
    }
    for (uint64_t i = sixteens * wide + thread; i < count; i += threads) {
        uint64_t channel = i / input.channel_elements % 3;
        out[i] = T(normalized(levels[i], input.mean[channel], input.std[channel]));
    }
}

/* An operation that moves elements and computes little, such as an activation function, which also bounds the
 * values. 16 bytes per thread; `count` is a multiple of 8. */
template <typename T> __global__ void move(const T *in, T *out, uint64_t count)
{
    constexpr int wide = 16 / sizeof(T);
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count / wide;
         i += (uint64_t)gridDim.x * blockDim.x) {
        union {
            uint4 all;
            T one[wide];
        } values = {((const uint4 *)in)[i]};
#pragma unroll
        for (int v = 0; v < wide; v++) {
            float x = (float)values.one[v];
            values.one[v] = T(x / (1 + fabsf(x)));
        }
        ((uint4 *)out)[i] = values.all;
    }
}

template <typename T> __global__ void depthwise(rue_cuda_step step, const T *a, const T *b, T *c)
{
    uint64_t all = step.count * step.rows;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < all;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t time = i / step.rows, row = i - time * step.rows;
        const T *from = a + time * step.a_stride + row * step.a_stride / step.rows;
        const T *weights = b + time % step.b_count * step.b_stride;
        float sum = 0;
        for (uint64_t j = 0; j < step.inner; j++) sum += (float)from[j] * (float)weights[j];
        c[time * step.c_stride + row] = T(sum);
    }
}

/* A product without cuBLASLt: each block computes a tile of C, each thread 4 x 4 elements of it. */
template <typename T> __global__ void multiply_tiles(rue_cuda_step step, const T *a, const T *b, T *c)
{
    __shared__ float a_tile[TILE_INNER][TILE + 1], b_tile[TILE_INNER][TILE + 1];
    uint64_t row_tiles = (step.rows + TILE - 1) / TILE, column_tiles = (step.columns + TILE - 1) / TILE;
    uint64_t tile = blockIdx.x, time = tile / (row_tiles * column_tiles);
    uint64_t row = tile / column_tiles % row_tiles * TILE, column = tile % column_tiles * TILE;
    a += time * step.a_stride, b += time % step.b_count * step.b_stride, c += time * step.c_stride;
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sum[4][4] = {};
    for (uint64_t inner = 0; inner < step.inner; inner += TILE_INNER) {
        for (int i = threadIdx.x; i < TILE * TILE_INNER; i += THREADS) {
            int r = i / TILE_INNER, k = i % TILE_INNER;
            bool within = inner + k < step.inner;
            a_tile[k][r] = within && row + r < step.rows ? (float)a[(row + r) * step.inner + inner + k] : 0;
            b_tile[k][r] =
                within && column + r < step.columns ? (float)b[(column + r) * step.inner + inner + k] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE_INNER; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] += a_tile[k][y * 4 + i] * b_tile[k][x + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (row + y * 4 + i < step.rows && column + x + 16 * j < step.columns)
                c[(row + y * 4 + i) * step.columns + column + x + 16 * j] = T(sum[i][j]);
}

unsigned blocks_for(uint64_t count)
{
    uint64_t blocks = (count + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks > 16384 ? 16384 : blocks);
}

template <typename T> struct As {
    using type = T;
};

/* Without <<<>>>, so that tests can compile this file as C++. */
template <typename... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), uint64_t blocks, cudaStream_t stream,
                   typename As<Parameters>::type... given)
{
    void *arguments[] = {(void *)&given...};
    return cudaLaunchKernel(kernel, dim3((unsigned)blocks), dim3(THREADS), arguments, 0, stream);
}

#define TRY_LAUNCH(kernel, ...)                                                                      \
    do {                                                                                             \
        cudaError_t try_launch = launch(kernel, __VA_ARGS__);                                        \
        if (try_launch != cudaSuccess) return fail_cuda(message, try_launch, "the kernel " #kernel); \
    } while (0)

} // namespace

#endif
