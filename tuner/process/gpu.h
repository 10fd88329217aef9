/* What the GPUs of the machine do, by NVIDIA's management library, which is loaded where it is installed. One
 * thread at a time. */
#ifndef RUE_GPU_H
#define RUE_GPU_H

#include <stddef.h>
#include <stdint.h>

struct rue_gpu;

enum { RUE_GPU_MAX = 64, RUE_GPU_NAME_BYTES = 96 };

/* NULL where there is no library, no driver or no GPU. Takes up to a second. */
struct rue_gpu *rue_gpu_open(void);
void rue_gpu_close(struct rue_gpu *gpu);

struct rue_gpu_usage {
    double busy_percent; /* of the busiest one; NaN where none tells */
    double memory_bytes; /* in use on all of them that tell, by whomever; NaN where none tells */
};
/* `gpu` is nullable. */
void rue_gpu_read(const struct rue_gpu *gpu, struct rue_gpu_usage *out);

/* The GPUs of this machine as NVIDIA's driver tells of them: no library is needed, and nothing is started.
 * Their models ("NVIDIA H100 80GB HBM3"), in the order of their bus addresses; answers how many, `most` at
 * most. `folder` has a folder for each with a file "information" in it, which says "Model: ..."; 0 where
 * there is none. */
#define RUE_GPU_DRIVER_FOLDER "/proc/driver/nvidia/gpus"
size_t rue_gpu_driver_models(const char *folder, char out[][RUE_GPU_NAME_BYTES], size_t most);

#endif
