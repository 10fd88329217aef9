/* Messages for errors of CUDA. */
#ifndef RUE_CUDA_FAILURE_CUH
#define RUE_CUDA_FAILURE_CUH

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_module.h"

namespace
{

int set_message(char *message, int status, const char *text)
{
    snprintf(message, RUE_CUDA_MESSAGE_BYTES, "%s", text);
    return status;
}

/* There is no driver, or it is older than the CUDA runtime of this module. */
int fail_driver(char *message)
{
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return set_message(
            message, RUE_CUDA_NO_DEVICE,
            "there is no NVIDIA driver here (libcuda.so.1): install one, or simulate a device such as h100");
    snprintf(message, RUE_CUDA_MESSAGE_BYTES,
             "the NVIDIA driver supports CUDA %d.%d, and rue_cuda.so needs %d.%d: install a newer driver, or "
             "build rue with an older CUDA toolkit",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return RUE_CUDA_NO_DEVICE;
}

int fail_no_device(char *message)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    snprintf(message, RUE_CUDA_MESSAGE_BYTES, "the NVIDIA driver finds no GPU%s%s%s",
             visible ? " with CUDA_VISIBLE_DEVICES='" : "", visible ? visible : "",
             visible ? "': change or unset it" : "");
    return RUE_CUDA_NO_DEVICE;
}

int fail_kernel_image(char *message)
{
    cudaDeviceProp device = {};
    cudaGetDeviceProperties(&device, 0);
    snprintf(message, RUE_CUDA_MESSAGE_BYTES,
             "rue_cuda.so was not built for %s: build rue with -DCMAKE_CUDA_ARCHITECTURES=%d%d", device.name,
             device.major, device.minor);
    return RUE_CUDA_NO_DEVICE;
}

int fail_cuda(char *message, cudaError_t error, const char *what)
{
    cudaGetLastError(); /* clears the error, so that the next call does not report it */
    switch (error) {
    case cudaErrorMemoryAllocation:
        return set_message(message, RUE_CUDA_NO_MEMORY, "out of GPU memory");
    case cudaErrorInsufficientDriver:
        return fail_driver(message);
    case cudaErrorNoDevice:
        return fail_no_device(message);
    case cudaErrorStubLibrary:
        return set_message(message, RUE_CUDA_NO_DEVICE,
                           "libcuda.so.1 is the stub of the CUDA toolkit, not a driver: remove its folder "
                           "from LD_LIBRARY_PATH");
    case cudaErrorNoKernelImageForDevice:
        return fail_kernel_image(message);
    default:
        snprintf(message, RUE_CUDA_MESSAGE_BYTES, "%.*s: %s", (int)strcspn(what, "("), what,
                 cudaGetErrorString(error));
        return RUE_CUDA_FAILED;
    }
}

#define TRY(call)                                                                  \
    do {                                                                           \
        cudaError_t try_error = (call);                                            \
        if (try_error != cudaSuccess) return fail_cuda(message, try_error, #call); \
    } while (0)

#define TRY_OURS(call)                                    \
    do {                                                  \
        int try_status = (call);                          \
        if (try_status != RUE_CUDA_OK) return try_status; \
    } while (0)

} // namespace

#endif
