/* What rue and its module of CUDA kernels, rue_cuda.so, say to each other: a table of functions, plain C, so
 * that one rue serves machines with and without a GPU. One thread at a time calls them. Functions that can
 * fail answer a rue_cuda_status and fill `message` [RUE_CUDA_MESSAGE_BYTES]. */
#ifndef RUE_CUDA_MODULE_H
#define RUE_CUDA_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define RUE_CUDA_MODULE_FILE   "rue_cuda.so"
#define RUE_CUDA_MODULE_SYMBOL "rue_cuda_module" /* const struct rue_cuda_module *(void) */

/* Grows with every change of what is below. */
enum { RUE_CUDA_MODULE_VERSION = 3 };

/* RUE_CUDA_IN_FLIGHT: batches that may be submitted before the first is waited for. */
enum { RUE_CUDA_MESSAGE_BYTES = 512, RUE_CUDA_IN_FLIGHT = 2 };

enum rue_cuda_status {
    RUE_CUDA_OK,
    RUE_CUDA_NO_DEVICE, /* no GPU to work on, or no driver for it */
    RUE_CUDA_NO_MEMORY, /* of the GPU's; another, smaller try may go well */
    RUE_CUDA_FAILED,
};

enum rue_cuda_step_kind {
    RUE_CUDA_PRODUCT, /* C[rows,columns] = A[rows,inner] B[columns,inner]^T, `count` times, all row by row */
    RUE_CUDA_DEPTHWISE, /* C[r] = sum over j < inner of A[r * a_stride / rows + j] B[j], `count` times */
    RUE_CUDA_MOVE,      /* reads rows * columns elements of C's side and writes as many of A's: all that is no
                           product */
};

/* Elements of A lie on one side of the activations and those of C on the other. */
struct rue_cuda_step {
    uint32_t kind;             /* rue_cuda_step_kind */
    uint32_t tf32;             /* 1: in fp32, the factors may be rounded to TF32 */
    uint32_t b_is_activations; /* 1: B, too, is activations, at `b_offset` of A's side; 0: weights, at
                                  `b_offset` */
    uint32_t b_count; /* so many of B are different, `b_stride` apart: time i takes number i % b_count */
    uint64_t rows, columns, inner, count;
    uint64_t a_stride, b_stride, c_stride; /* elements from one time to the next */
    uint64_t b_offset;                     /* elements */
};

/* What a batch holds, and what becomes of it on the GPU: values of three channels, one channel behind the
 * other, image by image. */
struct rue_cuda_input {
    uint32_t dtype;            /* rue_dtype: 0 float32, taken as it is; 1 uint8: (level / 255 - mean) / std,
                                  each rounded to float32 */
    uint32_t channel_elements; /* of an image */
    float mean[3], std[3];
};

/* The work on a batch. */
struct rue_cuda_plan {
    uint32_t precision; /* rue_precision: 0 fp32, 1 fp16, 2 bf16 */
    uint32_t images;
    uint64_t input_elements;     /* of the whole batch */
    struct rue_cuda_input input; /* the same in all plans of a run */
    uint64_t weight_elements;
    uint64_t from_elements, to_elements; /* of activations: A's side, C's side */
    uint64_t step_count;
    struct rue_cuda_step *steps; /* [step_count] */
};

/* Summed over all batches that were waited for. */
struct rue_cuda_times {
    uint64_t batches;
    uint64_t copy_ns;    /* from the host to the GPU */
    uint64_t compute_ns; /* of the kernels; copies of other batches may run meanwhile */
};

struct rue_cuda_device {
    char name[128]; /* "NVIDIA H100 80GB HBM3" */
    uint64_t free_bytes, bytes;
    char slow_reason[256]; /* why products are slower than they could be; "": they are not */
};

struct rue_cuda_run; /* a model with its buffers */

struct rue_cuda_module {
    uint32_t version; /* RUE_CUDA_MODULE_VERSION, first in every version */

    /* What would be worked on: the first GPU that CUDA_VISIBLE_DEVICES leaves. */
    int (*device)(struct rue_cuda_device *out, char *message);

    /* Makes room for batches of `plan`, the largest, and runs it once. `plan` is borrowed for the call. */
    int (*open)(const struct rue_cuda_plan *plan, struct rue_cuda_run **out, char *message);
    /* The same model with fewer images, which fits into the same room; once for each number of images. */
    int (*add_plan)(struct rue_cuda_run *run, const struct rue_cuda_plan *plan, char *message);
    /* Begins to copy and to compute a batch of as many images as one of the plans, and returns; the images
     * must stay until it was waited for. Tickets are waited for in their order. */
    int (*submit)(struct rue_cuda_run *run, const void *images, uint32_t count, uint64_t *ticket,
                  char *message);
    int (*wait)(struct rue_cuda_run *run, uint64_t ticket, char *message);
    void (*times)(const struct rue_cuda_run *run, struct rue_cuda_times *out);
    void (*close)(struct rue_cuda_run *run); /* waits for what is under way */

    /* Locks memory of the host, of whole pages, so that copies from it run beside all else. */
    int (*pin)(void *memory, size_t bytes, char *message);
    void (*unpin)(void *memory);
};

#endif
