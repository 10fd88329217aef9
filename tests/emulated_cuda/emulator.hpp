/* What the parts of the emulator share. One thread at a time calls CUDA, as the module's contract says. */
#ifndef EMULATOR_HPP
#define EMULATOR_HPP

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "emulated_cuda.h"

/* Something that the device does once all of `after` is done. */
struct Operation {
    std::function<void()> work;
    std::vector<std::shared_ptr<Operation>> after;
    uint64_t cost_ns = 0, end_ns = 0;
    bool done = false;
    const void *reads_host = nullptr; /* memory of the host that must stay */
    size_t reads_bytes = 0;
};

using OperationPointer = std::shared_ptr<Operation>;

struct Node {
    std::function<void()> work;
    uint64_t cost_ns;
};

struct emulated_graph {
    std::vector<Node> nodes;
};

struct emulated_graph_exec {
    std::shared_ptr<std::vector<Node>> nodes;
};

struct emulated_stream {
    bool blocking = false; /* waits for the null stream, and that for it */
    OperationPointer last;
    emulated_graph *capturing = nullptr;
    bool invalidated = false; /* its capture */
};

struct emulated_event {
    OperationPointer recorded;
};

struct Allocation {
    char *at;
    size_t bytes;
};

/* All of the device's state. */
struct Device {
    uint64_t seed = 0, random = 0;
    size_t bytes = (size_t)1 << 34, used = 0;
    std::string kind;
    bool skip = false;
    uint64_t calls = 0, fail_first = UINT64_MAX, fail_count = 0;
    cudaError_t fail_error = cudaErrorUnknown, last_error = cudaSuccess;
    std::string failed;
    emulated_stream null_stream;
    std::vector<emulated_stream *> streams;
    std::vector<Allocation> allocations;
    std::map<char *, size_t> registrations;
    size_t events = 0, graphs = 0, library_objects = 0;
    std::vector<OperationPointer> pending;
    void (*graph_done)(void) = nullptr;
};

Device &device();

/* A violation that a GPU would not report, or would die of. */
[[noreturn]] void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From 0 to below `below`. */
size_t draw(size_t below);

/* What each call begins with: counts, fails where it is to, refuses what a capture forbids, and lets the
 * device get on. */
enum CallKind { PLAIN, FORBIDDEN_IN_CAPTURE };
cudaError_t enter(const char *name, CallKind kind);
/* Remembers an error as the last. */
cudaError_t give(cudaError_t error);

/* Appends to a stream, or to the graph that it captures. `after` beside what is in the stream may be NULL. */
OperationPointer enqueue(cudaStream_t stream, std::function<void()> work, uint64_t cost_ns,
                         OperationPointer after = nullptr);
void finish(const OperationPointer &operation);
void finish_all();
/* All that is pending is done without being done. */
void lose_work();

/* Whether all of it lies in one living allocation. */
bool is_device_memory(const void *memory, size_t bytes);

/* Runs all threads of all blocks. */
void run_grid(const std::function<void()> &thread, dim3 grid, dim3 block);

#define ENTER(kind)                                                      \
    do {                                                                 \
        if (cudaError_t entered = enter(__func__, kind)) return entered; \
    } while (0)

#endif
