/* The interface of rue_cuda.so, the module of CUDA kernels: a table of plain C functions, so that one rue
 * serves machines with and without a GPU. Only one thread at a time may call them. Functions that can fail
 * return a rue_cuda_status and set `message` [RUE_CUDA_MESSAGE_BYTES]. */
#ifndef RUE_CUDA_MODULE_H
#define RUE_CUDA_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define RUE_CUDA_MODULE_FILE   "rue_cuda.so"
#define RUE_CUDA_MODULE_SYMBOL "rue_cuda_module" /* const struct rue_cuda_module *(void) */

/* Increase it with every change below. */
enum { RUE_CUDA_MODULE_VERSION = 3 };

/* RUE_CUDA_IN_FLIGHT: batches that may be submitted before the first `wait`. */
enum { RUE_CUDA_MESSAGE_BYTES = 512, RUE_CUDA_IN_FLIGHT = 2 };

enum rue_cuda_status {
    RUE_CUDA_OK,
    RUE_CUDA_NO_DEVICE, /* there is no GPU, or no driver for it */
    RUE_CUDA_NO_MEMORY, /* not enough GPU memory; a smaller batch may fit */
    RUE_CUDA_FAILED,
};

enum rue_cuda_step_kind {
    RUE_CUDA_PRODUCT,   /* C[rows,columns] = A[rows,inner] B[columns,inner]^T, row-major, `count` times */
    RUE_CUDA_DEPTHWISE, /* C[r] = sum over j < inner of A[r * a_stride / rows + j] B[j], `count` times */
    RUE_CUDA_MOVE,      /* reads rows * columns elements of C's buffer and writes as many to A's: all other
                           operations */
};

/* A and C are in different buffers of activations. */
struct rue_cuda_step {
    uint32_t kind; /* rue_cuda_step_kind */
    uint32_t tf32; /* 1: in fp32, the factors may be rounded to TF32 */
    uint32_t
        b_is_activations; /* 1: B is activations, at `b_offset` of A's buffer; 0: weights, at `b_offset` */
    uint32_t b_count;     /* number of different B, `b_stride` apart: product i uses B number i % b_count */
    uint64_t rows, columns, inner, count;
    uint64_t a_stride, b_stride, c_stride; /* elements from one product to the next */
    uint64_t b_offset;                     /* elements */
};

/* The values of a batch and their conversion on the GPU. Shape: [images][3][channel_elements]. */
struct rue_cuda_input {
    uint32_t dtype; /* rue_dtype: 0 float32, unchanged; 1 uint8: (level / 255 - mean) / std, each rounded to
                       float32 */
    uint32_t channel_elements; /* of one image */
    float mean[3], std[3];
};

/* The work on a batch. */
struct rue_cuda_plan {
    uint32_t precision; /* rue_precision: 0 fp32, 1 fp16, 2 bf16 */
    uint32_t images;
    uint64_t input_elements;     /* of the whole batch */
    struct rue_cuda_input input; /* the same in all plans of a run */
    uint64_t weight_elements;
    uint64_t from_elements, to_elements; /* activations: A's buffer, C's buffer */
    uint64_t step_count;
    struct rue_cuda_step *steps; /* [step_count] */
};

/* Sums over all batches that were waited for. */
struct rue_cuda_times {
    uint64_t batches;
    uint64_t copy_ns;    /* from the host to the GPU */
    uint64_t compute_ns; /* kernels; copies of other batches may overlap */
};

struct rue_cuda_device {
    char name[128]; /* "NVIDIA H100 80GB HBM3" */
    uint64_t free_bytes, bytes;
    char slow_reason[256]; /* why products are slower than they could be; "": they are not */
};

struct rue_cuda_run; /* a model with its buffers */

struct rue_cuda_module {
    uint32_t version; /* RUE_CUDA_MODULE_VERSION, first in every version */

    /* Describes the GPU that will be used: the first of CUDA_VISIBLE_DEVICES. */
    int (*device)(struct rue_cuda_device *out, char *message);

    /* Allocates memory for batches of `plan`, which must be the largest, and runs it once. `plan` is used
     * only during the call. */
    int (*open)(const struct rue_cuda_plan *plan, struct rue_cuda_run **out, char *message);
    /* Adds a smaller batch size of the same model, in the same memory. Once per batch size. */
    int (*add_plan)(struct rue_cuda_run *run, const struct rue_cuda_plan *plan, char *message);
    /* Begins to copy and compute a batch whose size is that of a plan, and returns at once. `images` must
     * stay valid until `wait`, which is called in the order of the tickets. */
    int (*submit)(struct rue_cuda_run *run, const void *images, uint32_t count, uint64_t *ticket,
                  char *message);
    int (*wait)(struct rue_cuda_run *run, uint64_t ticket, char *message);
    void (*times)(const struct rue_cuda_run *run, struct rue_cuda_times *out);
    void (*close)(struct rue_cuda_run *run); /* waits for batches in flight */

    /* Page-locks host memory of whole pages, so that copies from it run in parallel. */
    int (*pin)(void *memory, size_t bytes, char *message);
    void (*unpin)(void *memory);
};

#endif
