/* The GPUs of this machine, as NVIDIA's driver tells of them: no library is needed, and nothing is started.
 */
#ifndef RUE_GPU_DRIVER_H
#define RUE_GPU_DRIVER_H

#include <stddef.h>

#define RUE_GPU_DRIVER_FOLDER "/proc/driver/nvidia/gpus"

enum { RUE_GPU_MODEL_BYTES = 96 };

/* Their models ("NVIDIA H100 80GB HBM3"), in the order of their bus addresses; answers how many, `most` at
 * most. `folder` has a folder for each with a file "information" in it, which says "Model: ..."; 0 where
 * there is none. */
size_t rue_gpu_driver_models(const char *folder, char out[][RUE_GPU_MODEL_BYTES], size_t most);

#endif
