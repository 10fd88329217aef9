/* Products by cuBLASLt, which is opened at run time if it is installed. */
#ifndef RUE_CUDA_LIBRARY_CUH
#define RUE_CUDA_LIBRARY_CUH

#include <dlfcn.h>

#if __has_include(<cublasLt.h>)
#    include <cublasLt.h>
#    define HAVE_CUBLASLT 1
#endif

#include "cuda_failure.cuh"

namespace
{

constexpr size_t workspace_bytes = 32u << 20;

#ifdef HAVE_CUBLASLT
#    define LT_FUNCTIONS(X)                     \
        X(cublasLtCreate)                       \
        X(cublasLtMatmul)                       \
        X(cublasLtMatmulAlgoGetHeuristic)       \
        X(cublasLtMatmulDescCreate)             \
        X(cublasLtMatmulDescDestroy)            \
        X(cublasLtMatmulDescSetAttribute)       \
        X(cublasLtMatmulPreferenceCreate)       \
        X(cublasLtMatmulPreferenceDestroy)      \
        X(cublasLtMatmulPreferenceSetAttribute) \
        X(cublasLtMatrixLayoutCreate)           \
        X(cublasLtMatrixLayoutDestroy)          \
        X(cublasLtMatrixLayoutSetAttribute)

struct {
#    define X(name) decltype(&::name) name;
    LT_FUNCTIONS(X)
#    undef X
    cublasLtHandle_t handle;
} lt;
#endif

/* Whether cuBLASLt computes the products; else `slow_reason` says why not. Opened once, as it is large. */
struct {
    bool asked, found;
    char slow_reason[256];
} library;

bool open_library()
{
#ifdef HAVE_CUBLASLT
    char name[32];
    snprintf(name, sizeof name, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    void *opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        char path[96];
        snprintf(path, sizeof path, "/usr/local/cuda/lib64/%s", name);
        opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    bool found = opened != nullptr;
#    define X(symbol) \
        if (found) found = (*(void **)&lt.symbol = dlsym(opened, #symbol)) != nullptr;
    LT_FUNCTIONS(X)
#    undef X
    if (found && lt.cublasLtCreate(&lt.handle) == CUBLAS_STATUS_SUCCESS) return true;
    snprintf(library.slow_reason, sizeof library.slow_reason,
             "rue's own kernels compute the products, which is slower than cuBLASLt: %s %s", name,
             !opened ? "was not found"
             : found ? "did not start"
                     : "lacks a function");
#else
    snprintf(library.slow_reason, sizeof library.slow_reason,
             "rue's own kernels compute the products, which is slower than cuBLASLt: rue_cuda.so was built "
             "without it");
#endif
    return false;
}

bool has_library()
{
    if (!library.asked) library.found = open_library();
    library.asked = true;
    return library.found;
}

#ifdef HAVE_CUBLASLT
#    define TRY_LT(call)                                                                        \
        do {                                                                                    \
            const char *try_name = &#call[sizeof "lt." - 1];                                    \
            cublasStatus_t try_lt = (call);                                                     \
            if (try_lt == CUBLAS_STATUS_SUCCESS) break;                                         \
            snprintf(message, RUE_CUDA_MESSAGE_BYTES, "cuBLASLt: %.*s: status %d",              \
                     (int)strcspn(try_name, "("), try_name, (int)try_lt);                       \
            return try_lt == CUBLAS_STATUS_ALLOC_FAILED ? RUE_CUDA_NO_MEMORY : RUE_CUDA_FAILED; \
        } while (0)

/* The descriptors of a product, destroyed with it. */
struct Product {
    cublasLtMatmulDesc_t matmul = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;

    ~Product()
    {
        if (preference) lt.cublasLtMatmulPreferenceDestroy(preference);
        if (c) lt.cublasLtMatrixLayoutDestroy(c);
        if (b) lt.cublasLtMatrixLayoutDestroy(b);
        if (a) lt.cublasLtMatrixLayoutDestroy(a);
        if (matmul) lt.cublasLtMatmulDescDestroy(matmul);
    }
};

int create_layout(cublasLtMatrixLayout_t *out, cudaDataType_t type, uint64_t rows, uint64_t columns,
                  uint64_t count, uint64_t stride, char *message)
{
    int32_t times = (int32_t)count;
    int64_t offset = (int64_t)stride;
    TRY_LT(lt.cublasLtMatrixLayoutCreate(out, type, rows, columns, (int64_t)rows));
    TRY_LT(
        lt.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &times, sizeof times));
    TRY_LT(lt.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset,
                                               sizeof offset));
    return RUE_CUDA_OK;
}

/* Algorithms of products, in the order of the calls. cuBLASLt of CUDA 13.3 finds none while a stream is
 * captured, so the capture uses those that the run before it recorded. */
enum AlgorithmMode { FIND_ALGORITHMS, RECORD_ALGORITHMS, REPLAY_ALGORITHMS };

struct {
    AlgorithmMode mode;
    cublasLtMatmulAlgo_t *recorded;
    size_t count, room, next;
} algorithms;

int record_algorithm(const cublasLtMatmulAlgo_t *algorithm, char *message)
{
    if (algorithms.count == algorithms.room) {
        size_t room = algorithms.room * 2 + 64;
        void *recorded = realloc(algorithms.recorded, room * sizeof *algorithms.recorded);
        if (!recorded) return set_message(message, RUE_CUDA_FAILED, "out of memory");
        algorithms.recorded = (cublasLtMatmulAlgo_t *)recorded;
        algorithms.room = room;
    }
    algorithms.recorded[algorithms.count++] = *algorithm;
    return RUE_CUDA_OK;
}

int find_algorithm(const Product *product, cublasLtMatmulAlgo_t *out, char *message)
{
    size_t room = workspace_bytes;
    cublasLtMatmulHeuristicResult_t choice = {};
    int found = 0;
    if (algorithms.mode == REPLAY_ALGORITHMS && algorithms.next < algorithms.count)
        return *out = algorithms.recorded[algorithms.next++], RUE_CUDA_OK;
    TRY_LT(lt.cublasLtMatmulPreferenceSetAttribute(
        product->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room));
    TRY_LT(lt.cublasLtMatmulAlgoGetHeuristic(lt.handle, product->matmul, product->b, product->a, product->c,
                                             product->c, product->preference, 1, &choice, &found));
    if (!found) return set_message(message, RUE_CUDA_FAILED, "cuBLASLt does not support one of the products");
    *out = choice.algo;
    return algorithms.mode == RECORD_ALGORITHMS ? record_algorithm(out, message) : RUE_CUDA_OK;
}

/* Our matrices are row-major, cuBLASLt's are column-major, so the factors are exchanged: C^T = B A^T. */
int multiply_lt(const rue_cuda_step *step, cudaDataType_t type, const void *a, const void *b, void *c,
                void *workspace, cudaStream_t stream, char *message)
{
    Product product;
    bool tf32 = type == CUDA_R_32F && step->tf32;
    cublasOperation_t transposed = CUBLAS_OP_T;
    float one = 1, zero = 0;
    cublasLtMatmulAlgo_t algorithm;
    TRY_LT(lt.cublasLtMatmulDescCreate(&product.matmul,
                                       tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    TRY_LT(lt.cublasLtMatmulDescSetAttribute(product.matmul, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                             sizeof transposed));
    TRY_OURS(
        create_layout(&product.b, type, step->inner, step->columns, step->count, step->b_stride, message));
    TRY_OURS(create_layout(&product.a, type, step->inner, step->rows, step->count, step->a_stride, message));
    TRY_OURS(
        create_layout(&product.c, type, step->columns, step->rows, step->count, step->c_stride, message));
    TRY_LT(lt.cublasLtMatmulPreferenceCreate(&product.preference));
    TRY_OURS(find_algorithm(&product, &algorithm, message));
    TRY_LT(lt.cublasLtMatmul(lt.handle, product.matmul, &one, b, product.b, a, product.a, &zero, c, product.c,
                             c, product.c, &algorithm, workspace, workspace_bytes, stream));
    return RUE_CUDA_OK;
}
#endif

/* Records the algorithms of the following products, instead of earlier ones. */
void record_algorithms()
{
#ifdef HAVE_CUBLASLT
    algorithms.mode = RECORD_ALGORITHMS;
    algorithms.count = algorithms.next = 0;
#endif
}

void replay_algorithms()
{
#ifdef HAVE_CUBLASLT
    algorithms.mode = REPLAY_ALGORITHMS;
#endif
}

void free_algorithms()
{
#ifdef HAVE_CUBLASLT
    free(algorithms.recorded);
    algorithms = {};
#endif
}

} // namespace

#endif
