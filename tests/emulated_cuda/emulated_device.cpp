/* The device, its errors, and what tests tell and ask. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.hpp"

static uint64_t read_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, nullptr, 10) : otherwise;
}

static void read_environment(Device *device)
{
    const char *kind = getenv("EMULATED_CUDA_DEVICE");
    uint64_t fail = read_number("EMULATED_CUDA_FAIL", 0);
    device->seed = read_number("EMULATED_CUDA_SEED", device->seed);
    device->bytes = read_number("EMULATED_CUDA_BYTES", device->bytes);
    device->skip = read_number("EMULATED_CUDA_SKIP", 0);
    device->kind = kind ? kind : "";
    if (fail) device->fail_first = fail - 1, device->fail_count = 1;
}

Device &device()
{
    static Device *the = nullptr;
    if (!the) read_environment(the = new Device);
    return *the;
}

void violation(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("emulated CUDA: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

size_t draw(size_t below)
{
    uint64_t x = device().random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

cudaError_t give(cudaError_t error)
{
    if (error != cudaSuccess) device().last_error = error;
    return error;
}

/* What every call answers where there is no device to be had. */
static cudaError_t missing_device()
{
    static const struct {
        const char *kind;
        cudaError_t error;
    } kinds[] = {{"none", cudaErrorNoDevice},
                 {"no-driver", cudaErrorInsufficientDriver},
                 {"old-driver", cudaErrorInsufficientDriver},
                 {"stub", cudaErrorStubLibrary}};
    for (const auto &known : kinds)
        if (device().kind == known.kind) return known.error;
    return cudaSuccess;
}

static void get_on()
{
    size_t some = device().seed == 0   ? 0
                  : device().seed == 1 ? device().pending.size()
                                       : draw(device().pending.size() + 1);
    while (some--) {
        std::vector<OperationPointer> waiting = device().pending;
        if (waiting.empty()) return;
        finish(waiting[draw(waiting.size())]);
    }
}

cudaError_t enter(const char *name, CallKind kind)
{
    uint64_t call = device().calls++;
    get_on();
    if (cudaError_t missing = missing_device()) return give(missing);
    if (call >= device().fail_first && call - device().fail_first < device().fail_count) {
        device().failed = name;
        if (device().fail_count == UINT64_MAX) lose_work();
        return give(device().fail_error);
    }
    if (kind == PLAIN) return cudaSuccess;
    cudaError_t error = cudaSuccess;
    for (emulated_stream *stream : device().streams)
        if (stream->capturing) stream->invalidated = true, error = cudaErrorStreamCaptureUnsupported;
    return give(error);
}

/* ---- the runtime ---- */

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = device().kind == "no-driver" ? 0 : device().kind == "old-driver" ? 11080 : 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    ENTER(PLAIN);
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int number)
{
    ENTER(PLAIN);
    return give(number == 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int number)
{
    ENTER(PLAIN);
    if (number != 0) return give(cudaErrorInvalidValue);
    snprintf(out->name, sizeof out->name, "an emulated GPU");
    out->major = 9, out->minor = 0;
    return cudaSuccess;
}

cudaError_t emulated_attributes(cudaFuncAttributes *out)
{
    if (cudaError_t entered = enter("cudaFuncGetAttributes", PLAIN)) return entered;
    out->numRegs = 32;
    return give(device().kind == "other-kernels" ? cudaErrorNoKernelImageForDevice : cudaSuccess);
}

cudaError_t cudaGetLastError()
{
    return std::exchange(device().last_error, cudaSuccess);
}

const char *cudaGetErrorString(cudaError_t error)
{
    static char text[32];
    snprintf(text, sizeof text, "emulated error %d", (int)error);
    return text;
}

cudaError_t cudaDeviceSynchronize()
{
    ENTER(FORBIDDEN_IN_CAPTURE);
    finish_all();
    return cudaSuccess;
}

/* ---- tests ---- */

struct emulated_cuda_counts emulated_cuda_count(void)
{
    return {device().allocations.size(),   device().streams.size(),  device().events, device().graphs,
            device().registrations.size(), device().library_objects, device().calls};
}

void emulated_cuda_set_seed(uint64_t seed)
{
    device().seed = device().random = seed;
}

void emulated_cuda_set_device(const char *kind)
{
    device().kind = kind;
}

void emulated_cuda_skip(void)
{
    device().skip = true;
}

void emulated_cuda_set_bytes(size_t bytes)
{
    device().bytes = bytes;
}

void emulated_cuda_fail(uint64_t first, uint64_t count, int error)
{
    device().fail_first = device().calls + first;
    device().fail_count = count;
    device().fail_error = (cudaError_t)error;
    device().failed.clear();
}

const char *emulated_cuda_failed(void)
{
    return device().failed.c_str();
}

void *emulated_cuda_memory(size_t index, size_t *bytes)
{
    if (index >= device().allocations.size()) return nullptr;
    *bytes = device().allocations[index].bytes;
    return device().allocations[index].at;
}

void emulated_cuda_watch(void (*graph_done)(void))
{
    device().graph_done = graph_done;
}
