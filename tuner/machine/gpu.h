/* Usage of the GPUs, from NVIDIA's management library if it is installed. One thread at a time. */
#ifndef RUE_GPU_H
#define RUE_GPU_H

#include <stddef.h>
#include <stdint.h>

struct rue_gpu;

enum { RUE_GPU_MAX = 64, RUE_GPU_NAME_BYTES = 96 };

/* NULL: no library, no driver or no GPU. Takes up to a second. */
struct rue_gpu *rue_gpu_open(void);
void rue_gpu_close(struct rue_gpu *gpu);

struct rue_gpu_usage {
    double busy_percent; /* of the busiest GPU; NaN: unknown */
    double memory_bytes; /* used by all processes on all GPUs; NaN: unknown */
};
/* `gpu` is nullable. */
void rue_gpu_read(const struct rue_gpu *gpu, struct rue_gpu_usage *out);

/* The models of the GPUs ("NVIDIA H100 80GB HBM3") from the files of NVIDIA's driver, in the order of their
 * bus addresses. Needs no library. Returns their number, at most `most`; 0: none. `folder` has a subfolder
 * per GPU, with a line "Model: ..." in its file "information". */
#define RUE_GPU_DRIVER_FOLDER "/proc/driver/nvidia/gpus"
size_t rue_gpu_driver_models(const char *folder, char out[][RUE_GPU_NAME_BYTES], size_t most);

#endif
