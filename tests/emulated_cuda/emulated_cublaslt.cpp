/* In place of libcublasLt: products by loops, column by column as the real one takes them, and checks of all
 * that it is told. */
#include <stdint.h>
#include <string.h>

#include "cublasLt.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "emulator.hpp"

/* What the preference promises of pointers where nothing else is said. */
static constexpr uintptr_t alignment = 256;

struct emulated_lt {
};

struct emulated_matmul {
    cublasComputeType_t compute;
    cublasOperation_t a_operation, b_operation;
};

struct emulated_layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t leading;
    int32_t count;
    int64_t stride;
};

struct emulated_preference {
    uint64_t workspace_bytes;
};

static cublasStatus_t enter_library(const char *name)
{
    cudaError_t error = enter(name, PLAIN);
    cudaGetLastError(); /* the library's errors are its own */
    return error == cudaSuccess                 ? CUBLAS_STATUS_SUCCESS
           : error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

#define ENTER_LIBRARY()                                                       \
    do {                                                                      \
        if (cublasStatus_t entered = enter_library(__func__)) return entered; \
    } while (0)

template <typename T> static cublasStatus_t make(T **out, T value)
{
    *out = new T(value);
    device().library_objects++;
    return CUBLAS_STATUS_SUCCESS;
}

template <typename T> static cublasStatus_t destroy(T *object)
{
    delete object;
    device().library_objects--;
    return CUBLAS_STATUS_SUCCESS;
}

/* Attributes have a size, which the library checks. */
template <typename T> static cublasStatus_t set(T *out, const void *value, size_t bytes)
{
    if (bytes != sizeof *out) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(out, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- what describes a product ---- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    static emulated_lt the;
    ENTER_LIBRARY();
    *out = &the;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    ENTER_LIBRARY();
    if (scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
    return make(out, emulated_matmul{compute, CUBLAS_OP_N, CUBLAS_OP_N});
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmul)
{
    return destroy(matmul);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmul,
                                              cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t bytes)
{
    ENTER_LIBRARY();
    if (attribute != CUBLASLT_MATMUL_DESC_TRANSA) return CUBLAS_STATUS_INVALID_VALUE;
    return set(&matmul->a_operation, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t leading)
{
    ENTER_LIBRARY();
    return make(out, emulated_layout{type, rows, columns, leading, 1, 0});
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t bytes)
{
    ENTER_LIBRARY();
    return attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? set(&layout->count, value, bytes)
                                                           : set(&layout->stride, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    ENTER_LIBRARY();
    return make(out, emulated_preference{0});
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t, const void *value,
                                                    size_t bytes)
{
    ENTER_LIBRARY();
    return set(&preference->workspace_bytes, value, bytes);
}

/* ---- products ---- */

/* A product: D[m,n] = op(A)[m,k] op(B)[k,n], column by column. */
struct Problem {
    emulated_matmul matmul;
    emulated_layout a, b, d;

    uint64_t m() const { return d.rows; }
    uint64_t n() const { return d.columns; }
    uint64_t k() const { return matmul.a_operation == CUBLAS_OP_T ? a.rows : a.columns; }

    /* What the library refuses. */
    bool fits() const
    {
        bool a_turned = matmul.a_operation == CUBLAS_OP_T, b_turned = matmul.b_operation == CUBLAS_OP_T;
        bool sides = (a_turned ? a.columns : a.rows) == m() && (b_turned ? b.rows : b.columns) == n() &&
                     (b_turned ? b.columns : b.rows) == k();
        bool leads =
            a.leading >= (int64_t)a.rows && b.leading >= (int64_t)b.rows && d.leading >= (int64_t)d.rows;
        bool counts = a.count == d.count && b.count == d.count && d.count >= 1 && d.count <= 65535;
        bool small = m() <= INT32_MAX && n() <= INT32_MAX && k() <= INT32_MAX && m() && n() && k();
        return sides && leads && counts && small && a.type == d.type && b.type == d.type;
    }

    /* Ways are for one problem only. */
    cublasLtMatmulAlgo_t way(uint64_t workspace_bytes) const
    {
        return {{m(), n(), k(), (uint64_t)d.count, (uint64_t)a.stride, (uint64_t)b.stride, (uint64_t)d.stride,
                 workspace_bytes}};
    }
};

static bool same(const emulated_layout &one, const emulated_layout &other)
{
    return one.type == other.type && one.rows == other.rows && one.columns == other.columns &&
           one.leading == other.leading && one.count == other.count && one.stride == other.stride;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t matmul,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t out[], int *found)
{
    ENTER_LIBRARY();
    /* So that of CUDA 13.3 answers. */
    for (emulated_stream *stream : device().streams)
        if (stream->capturing) return CUBLAS_STATUS_INTERNAL_ERROR;
    Problem problem{*matmul, *a, *b, *d};
    if (!problem.fits() || !same(*c, *d) || asked < 1) return CUBLAS_STATUS_INVALID_VALUE;
    out[0] = {
        problem.way(preference->workspace_bytes), preference->workspace_bytes, CUBLAS_STATUS_SUCCESS, 1, {}};
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static float to_tf32(float value)
{
    uint32_t all;
    memcpy(&all, &value, sizeof all);
    if ((all & 0x7f800000) == 0x7f800000) return value;
    all = (all + 0x1000) & ~0x1fffu;
    memcpy(&value, &all, sizeof value);
    return value;
}

template <typename T> static void multiply_all(const Problem &problem, const T *a, const T *b, T *d)
{
    bool tf32 = problem.matmul.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    auto at = [](const emulated_layout &layout, bool turned, uint64_t row, uint64_t column) {
        return turned ? column + row * (uint64_t)layout.leading : row + column * (uint64_t)layout.leading;
    };
    bool a_turned = problem.matmul.a_operation == CUBLAS_OP_T,
         b_turned = problem.matmul.b_operation == CUBLAS_OP_T;
    for (int64_t i = 0; i < problem.d.count; i++)
        for (uint64_t column = 0; column < problem.n(); column++)
            for (uint64_t row = 0; row < problem.m(); row++) {
                float sum = 0;
                for (uint64_t j = 0; j < problem.k(); j++) {
                    float x = (float)a[i * problem.a.stride + (int64_t)at(problem.a, a_turned, row, j)];
                    float y = (float)b[i * problem.b.stride + (int64_t)at(problem.b, b_turned, j, column)];
                    sum += tf32 ? to_tf32(x) * to_tf32(y) : x * y;
                }
                d[i * problem.d.stride + (int64_t)at(problem.d, false, row, column)] = T(sum);
            }
}

static void multiply_any(const Problem &problem, const void *a, const void *b, void *d)
{
    if (problem.d.type == CUDA_R_32F)
        multiply_all(problem, (const float *)a, (const float *)b, (float *)d);
    else if (problem.d.type == CUDA_R_16F)
        multiply_all(problem, (const __half *)a, (const __half *)b, (__half *)d);
    else
        multiply_all(problem, (const __nv_bfloat16 *)a, (const __nv_bfloat16 *)b, (__nv_bfloat16 *)d);
}

static size_t layout_bytes(const emulated_layout &layout)
{
    uint64_t last = (uint64_t)(layout.count - 1) * (uint64_t)layout.stride +
                    (layout.columns - 1) * (uint64_t)layout.leading + layout.rows;
    return last * (layout.type == CUDA_R_32F ? 4 : 2);
}

static void check_memory(const char *name, const emulated_layout &layout, const void *memory)
{
    if (!is_device_memory(memory, layout_bytes(layout)))
        violation("cublasLtMatmul: %s leaves its memory", name);
    if ((uintptr_t)memory % alignment) violation("cublasLtMatmul: %s is not aligned as was promised", name);
}

static void check_apart(const emulated_layout &layout, const void *memory, const emulated_layout &d_layout,
                        const void *d)
{
    const char *begin = (const char *)memory, *d_begin = (const char *)d;
    if (begin < d_begin + layout_bytes(d_layout) && d_begin < begin + layout_bytes(layout))
        violation("cublasLtMatmul: the result overlaps a factor");
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t matmul, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                              const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algorithm,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    ENTER_LIBRARY();
    Problem problem{*matmul, *a_layout, *b_layout, *d_layout};
    if (!problem.fits() || !same(*c_layout, *d_layout) || !algorithm) return CUBLAS_STATUS_INVALID_VALUE;
    cublasLtMatmulAlgo_t way = problem.way(algorithm->data[7]);
    if (memcmp(&way, algorithm, sizeof way) != 0)
        violation("cublasLtMatmul: a way that is for another product");
    if (*(const float *)alpha != 1 || *(const float *)beta != 0 || c != d)
        violation("cublasLtMatmul: more than a product is not emulated");
    check_memory("A", *a_layout, a);
    check_memory("B", *b_layout, b);
    check_memory("D", *d_layout, d);
    check_apart(*a_layout, a, *d_layout, d);
    check_apart(*b_layout, b, *d_layout, d);
    if (problem.d.count > 1 && (uint64_t)problem.d.stride < problem.m() * problem.n())
        violation("cublasLtMatmul: results overlap");
    if (workspace_bytes < algorithm->data[7] || !is_device_memory(workspace, workspace_bytes))
        violation("cublasLtMatmul: the workspace is smaller than was promised");
    enqueue(
        stream,
        [=] {
            memset(workspace, 0xff, 256); /* it is the product's alone */
            memset((char *)workspace + workspace_bytes - 256, 0xff, 256);
            if (!device().skip) multiply_any(problem, a, b, d);
        },
        EMULATED_CUDA_KERNEL_NS);
    return CUBLAS_STATUS_SUCCESS;
}
