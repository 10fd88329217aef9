/* CUDA on the CPU, for tests: models/model_cuda.cu is compiled as C++ with the headers in this folder, and
 * this library does what it asks for. Work that is put into streams is done when somebody waits for it, in an
 * order that the seed draws and that keeps to nothing but what streams and events demand: where one that is
 * needed is missing, results are wrong. What a GPU would not bear, or would do wrong in silence, ends the
 * process with a sentence. Memory of the device is that of the process, so that AddressSanitizer sees where
 * kernels reach.
 *
 * The environment sets, for a whole process: EMULATED_CUDA_SEED, EMULATED_CUDA_BYTES of memory,
 * EMULATED_CUDA_DEVICE (none, no-driver, old-driver, stub, other-kernels), EMULATED_CUDA_SKIP=1 (kernels do
 * nothing, as large models would take minutes), EMULATED_CUDA_FAIL=N (the Nth call fails). */
#ifndef EMULATED_CUDA_H
#define EMULATED_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What there is at present, and how many calls there were so far. */
struct emulated_cuda_counts {
    size_t allocations, streams, events, graphs, registrations, library_objects;
    uint64_t calls;
};

/* Virtual time: a copy takes a ns for each 16 bytes, a kernel KERNEL_NS, all else nothing. */
enum { EMULATED_CUDA_COPY_BYTES_PER_NS = 16, EMULATED_CUDA_KERNEL_NS = 2000 };

struct emulated_cuda_counts emulated_cuda_count(void);

/* 0: as late as possible. 1: at once. Others: at random. */
void emulated_cuda_set_seed(uint64_t seed);
void emulated_cuda_set_bytes(size_t bytes);
void emulated_cuda_set_device(const char *kind);
/* Kernels do nothing, and memory is left as it is. */
void emulated_cuda_skip(void);

/* Of the calls from now on, number `first` (0 is the next) and those after it, `count` in all, fail with
 * `error`; UINT64_MAX: the device is lost, and with it the work that was put into streams. */
void emulated_cuda_fail(uint64_t first, uint64_t count, int error);
/* The name of the call that failed so last, "": none did. */
const char *emulated_cuda_failed(void);

/* The living allocations in the order in which they were made; NULL past the last. */
void *emulated_cuda_memory(size_t index, size_t *bytes);

/* Calls that, on the device's time line, at the end of each graph. NULL: no more. */
void emulated_cuda_watch(void (*graph_done)(void));

#ifdef __cplusplus
}
#endif

#endif
