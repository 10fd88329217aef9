/* The GPUs that load and compute at the same time: "0,1", "0..7", or by what else CUDA_VISIBLE_DEVICES calls
 * them. */
#ifndef RUE_GPU_LIST_H
#define RUE_GPU_LIST_H

#include "error.h"
#include "gpu.h"

struct rue_gpu_list {
    size_t count;
    char names[RUE_GPU_MAX][RUE_GPU_NAME_BYTES]; /* [count] each as CUDA_VISIBLE_DEVICES takes it */
};

/* Numbers count those that the environment's CUDA_VISIBLE_DEVICES leaves, where it is set. RUE_USAGE,
 * beginning with `origin` ("--gpus"), for what is no list of at least one, or names one twice. */
rue_status rue_gpu_list_parse(const char *text, const char *origin, struct rue_gpu_list *out,
                              rue_error *error) RUE_MUST_CHECK;

#endif
