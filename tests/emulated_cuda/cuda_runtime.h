/* In place of NVIDIA's header of this name: what models/model_cuda.cu needs of CUDA, as plain C++. Names,
 * numbers and meanings are NVIDIA's. The rest is in emulated_cuda.h: who emulates what, and how. */
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <tuple>
#include <utility>

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorStubLibrary = 34,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorUnknown = 999,
};

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal };
enum { cudaStreamNonBlocking = 1, cudaHostRegisterDefault = 0 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* A load of one that is not aligned fails on a GPU, and under UBSan. */
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

struct cudaDeviceProp {
    char name[256];
    int major, minor;
};

struct cudaFuncAttributes {
    int numRegs;
};

typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_graph *cudaGraph_t;
typedef struct emulated_graph_exec *cudaGraphExec_t;

/* ---- inside of kernels ---- */

#define __global__
#define __device__
#define __host__
/* One block runs at a time. */
#define __shared__ static

extern dim3 threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();

/* ---- the runtime ---- */

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *bytes);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *memory);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

/* ---- kernels ---- */

/* `thread` is what one thread of the kernel does. */
cudaError_t emulated_launch(std::function<void()> thread, dim3 grid, dim3 block, size_t shared,
                            cudaStream_t stream);
cudaError_t emulated_attributes(cudaFuncAttributes *out);

template <typename... Taken, size_t... I>
std::function<void()> emulated_bind(void (*kernel)(Taken...), void **arguments, std::index_sequence<I...>)
{
    std::tuple<Taken...> values(*(Taken *)arguments[I]...);
    return [kernel, values] { std::apply(kernel, values); };
}

/* As with the real one `arguments` point to values of just the types that the kernel takes, copied at the
 * call. */
template <typename... Taken>
cudaError_t cudaLaunchKernel(void (*kernel)(Taken...), dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream)
{
    return emulated_launch(emulated_bind(kernel, arguments, std::index_sequence_for<Taken...>()), grid, block,
                           shared, stream);
}

template <typename... Taken> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, void (*)(Taken...))
{
    return emulated_attributes(out);
}

#endif
