/* Memory of the device and of the host, and copies between them. */
#include <stdlib.h>
#include <string.h>

#include "emulator.hpp"

/* As much as cudaMalloc promises. */
static constexpr size_t alignment = 256, poisoned_bytes = 4 << 20;

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    ENTER(FORBIDDEN_IN_CAPTURE);
    *out = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > device().bytes - device().used) return give(cudaErrorMemoryAllocation);
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes) != 0) return give(cudaErrorMemoryAllocation);
    /* No number in any precision; of what is large, like a workspace, the beginning will do. */
    if (!device().skip) memset(memory, 0xff, bytes < poisoned_bytes ? bytes : poisoned_bytes);
    device().allocations.push_back({(char *)memory, bytes});
    device().used += bytes;
    *out = memory;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    cudaError_t entered = enter(__func__, FORBIDDEN_IN_CAPTURE);
    if (!memory) return entered;
    finish_all();
    auto &all = device().allocations;
    for (size_t i = 0; i < all.size(); i++)
        if (all[i].at == memory) {
            device().used -= all[i].bytes;
            all.erase(all.begin() + (ptrdiff_t)i);
            free(memory);
            return entered;
        }
    violation("cudaFree of what was not allocated, or is free already");
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *bytes)
{
    ENTER(PLAIN);
    *bytes = device().bytes;
    *free_bytes = device().bytes - device().used;
    return cudaSuccess;
}

bool is_device_memory(const void *memory, size_t bytes)
{
    const char *begin = (const char *)memory;
    for (const Allocation &allocation : device().allocations)
        if (begin >= allocation.at && begin + bytes <= allocation.at + allocation.bytes) return true;
    return false;
}

/* ---- memory of the host ---- */

static bool overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned)
{
    ENTER(FORBIDDEN_IN_CAPTURE);
    if (!memory || bytes == 0) return give(cudaErrorInvalidValue);
    for (const auto &known : device().registrations)
        if (overlap(known.first, known.second, (char *)memory, bytes))
            return give(cudaErrorHostMemoryAlreadyRegistered);
    device().registrations[(char *)memory] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    cudaError_t entered = enter(__func__, FORBIDDEN_IN_CAPTURE);
    auto found = device().registrations.find((char *)memory);
    if (found == device().registrations.end()) return give(cudaErrorHostMemoryNotRegistered);
    for (const OperationPointer &operation : device().pending)
        if (!operation->done && operation->reads_host &&
            overlap((const char *)operation->reads_host, operation->reads_bytes, found->first, found->second))
            violation("memory of the host is unpinned while a copy from it is under way");
    device().registrations.erase(found);
    return entered;
}

/* Whether it is pinned, all of it. */
static bool is_pinned(const void *memory, size_t bytes)
{
    for (const auto &known : device().registrations)
        if ((const char *)memory >= known.first && (const char *)memory + bytes <= known.first + known.second)
            return true;
    return false;
}

static uint64_t hash_memory(const void *memory, size_t bytes)
{
    uint64_t hash = 14695981039346656037u, word = 0;
    for (size_t i = 0; i < bytes; i += sizeof word) {
        memcpy(&word, (const char *)memory + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        hash = (hash ^ word) * 1099511628211u;
    }
    return hash;
}

/* ---- copies ---- */

/* From memory that is not pinned the driver takes a copy of its own before it comes back. */
static std::function<void()> copy_from_host(void *to, const void *from, size_t bytes)
{
    if (!is_pinned(from, bytes)) {
        auto kept = std::make_shared<std::vector<char>>((const char *)from, (const char *)from + bytes);
        return [=] { memcpy(to, kept->data(), bytes); };
    }
    uint64_t before = hash_memory(from, bytes);
    return [=] {
        if (hash_memory(from, bytes) != before)
            violation("memory of the host was changed while a copy from it was under way");
        memcpy(to, from, bytes);
    };
}

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                        OperationPointer *out)
{
    bool to_device = kind == cudaMemcpyHostToDevice;
    const void *host = to_device ? from : to;
    if (!is_device_memory(to_device ? to : from, bytes) || is_device_memory(host, 1))
        return give(cudaErrorInvalidValue);
    *out = enqueue(
        stream, to_device ? copy_from_host(to, from, bytes) : [=] { memcpy(to, from, bytes); },
        bytes / EMULATED_CUDA_COPY_BYTES_PER_NS);
    if (*out && is_pinned(host, bytes)) (*out)->reads_host = host, (*out)->reads_bytes = bytes;
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    ENTER(FORBIDDEN_IN_CAPTURE);
    OperationPointer copied;
    cudaError_t error = copy(to, from, bytes, kind, nullptr, &copied);
    if (copied) finish(copied);
    return error;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    ENTER(PLAIN);
    OperationPointer copied;
    return copy(to, from, bytes, kind, stream, &copied);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    ENTER(PLAIN);
    if (!is_device_memory(memory, bytes)) return give(cudaErrorInvalidValue);
    enqueue(
        stream, [=] { memset(memory, value, bytes); }, EMULATED_CUDA_KERNEL_NS);
    return cudaSuccess;
}
