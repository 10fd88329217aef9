/* The GPUs that load and compute at the same time: "0,1", "0..7", or other names in CUDA_VISIBLE_DEVICES. */
#ifndef RUE_GPU_LIST_H
#define RUE_GPU_LIST_H

#include <stdbool.h>

#include "error.h"
#include "gpu.h"

struct rue_gpu_list {
    size_t count;
    char names[RUE_GPU_MAX][RUE_GPU_NAME_BYTES]; /* [count] in the form of CUDA_VISIBLE_DEVICES */
};

/* Numbers are indices of CUDA_VISIBLE_DEVICES in the environment, if it is set. RUE_USAGE, beginning with
 * `origin` ("--gpus"): `text` is not a list of at least one GPU, or names one twice. */
rue_status rue_gpu_list_parse(const char *text, const char *origin, struct rue_gpu_list *out,
                              rue_error *error) RUE_MUST_CHECK;

/* Copies the name of GPU `index` of CUDA_VISIBLE_DEVICES to `out`; its number, if the variable is not set.
 * False: there are fewer. */
bool rue_gpu_list_visible(unsigned index, char out[RUE_GPU_NAME_BYTES]);

#endif
