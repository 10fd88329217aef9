#include "gpu.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in nvml.h, so that the build does not need it. */
typedef void *device;
struct utilization {
    unsigned gpu, memory; /* percent */
};
struct memory {
    unsigned long long total, free, used;
};

/* X(member, symbol, arguments): each returns 0 on success. */
#define FUNCTIONS(X)                                                                \
    X(init, "nvmlInit_v2", (void))                                                  \
    X(shutdown, "nvmlShutdown", (void))                                             \
    X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                 \
    X(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned, device *))                \
    X(utilization, "nvmlDeviceGetUtilizationRates", (device, struct utilization *)) \
    X(memory, "nvmlDeviceGetMemoryInfo", (device, struct memory *))

struct rue_gpu {
    void *library;
#define X(member, symbol, arguments) int(*member) arguments;
    FUNCTIONS(X)
#undef X
    size_t device_count;
    device devices[RUE_GPU_MAX];
};

static bool find_functions(struct rue_gpu *gpu)
{
    gpu->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!gpu->library) return false;
    bool found = true;
#define X(member, symbol, arguments) found &= (*(void **)&gpu->member = dlsym(gpu->library, symbol)) != NULL;
    FUNCTIONS(X)
#undef X
    return found;
}

static void find_devices(struct rue_gpu *gpu)
{
    unsigned count = 0;
    if (gpu->count(&count) != 0) return;
    for (unsigned i = 0; i < count && i < RUE_GPU_MAX; i++) {
        if (gpu->handle(i, &gpu->devices[gpu->device_count]) == 0) gpu->device_count++;
    }
}

struct rue_gpu *rue_gpu_open(void)
{
    struct rue_gpu *gpu = calloc(1, sizeof *gpu);
    bool ready = gpu && find_functions(gpu) && gpu->init() == 0;
    if (ready) find_devices(gpu);
    if (ready && gpu->device_count) return gpu;
    if (ready) gpu->shutdown();
    if (gpu && gpu->library) dlclose(gpu->library);
    free(gpu);
    return NULL;
}

void rue_gpu_close(struct rue_gpu *gpu)
{
    if (!gpu) return;
    gpu->shutdown();
    dlclose(gpu->library);
    free(gpu);
}

void rue_gpu_read(const struct rue_gpu *gpu, struct rue_gpu_usage *out)
{
    *out = (struct rue_gpu_usage){.busy_percent = NAN, .memory_bytes = NAN};
    for (size_t i = 0; gpu && i < gpu->device_count; i++) {
        struct utilization busy;
        struct memory memory;
        if (gpu->utilization(gpu->devices[i], &busy) == 0)
            out->busy_percent = fmax(out->busy_percent, busy.gpu);
        if (gpu->memory(gpu->devices[i], &memory) == 0)
            out->memory_bytes = fmax(out->memory_bytes, 0) + (double)memory.used;
    }
}

/* The text after "Model:" in the file. */
static bool read_model(const char *path, char out[RUE_GPU_NAME_BYTES])
{
    char line[256];
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "Model: %95[^\r\n]", out) == 1;
    if (file) fclose(file);
    return found;
}

size_t rue_gpu_driver_models(const char *folder, char out[][RUE_GPU_NAME_BYTES], size_t most)
{
    char pattern[PATH_MAX];
    glob_t files = {0};
    size_t count = 0;
    snprintf(pattern, sizeof pattern, "%s/*/information", folder);
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && count < most; i++)
            count += read_model(files.gl_pathv[i], out[count]);
    globfree(&files);
    return count;
}
