#include "device.h"

#include <string.h>

const char *const rue_precision_names[RUE_PRECISION_COUNT] = {"fp32", "fp16", "bf16"};

#define T  *1e12
#define GB *UINT64_C(1000000000)

/* Sources: NVIDIA's data sheets of RTX A5000, A100, H100, H200, L4 and T4, and the white paper of the Ada
 * architecture for the RTX 4090. The CPU has 16 cores at 2.5 GHz, each with two AVX2 units, and four channels
 * of DDR4-3200. The launch time fits the measured table of the RTX A5000 (roofline.h). */
static const struct rue_device devices[] = {
    {"rtx-a5000", "an NVIDIA RTX A5000", {27.8 T, 111.1 T, 111.1 T}, 55.6 T, 768e9, 24 GB, 4000},
    {"a100", "an NVIDIA A100 SXM 80 GB", {19.5 T, 312 T, 312 T}, 156 T, 2039e9, 80 GB, 4000},
    {"h100", "an NVIDIA H100 SXM", {66.9 T, 989.4 T, 989.4 T}, 494.7 T, 3350e9, 80 GB, 4000},
    {"h200", "an NVIDIA H200", {66.9 T, 989.4 T, 989.4 T}, 494.7 T, 4800e9, 141 GB, 4000},
    {"l4", "an NVIDIA L4", {30.3 T, 121 T, 121 T}, 60 T, 300e9, 24 GB, 4000},
    {"t4", "an NVIDIA T4", {8.1 T, 65 T, 0}, 8.1 T, 320e9, 16 GB, 4000},
    {"rtx4090", "an NVIDIA GeForce RTX 4090", {82.6 T, 165.2 T, 165.2 T}, 82.6 T, 1008e9, 24 GB, 4000},
    {"cpu", "a CPU of 16 cores", {1.28 T, 0, 0}, 1.28 T, 102e9, 64 GB, 4000},
};

const struct rue_device *rue_device_at(size_t index)
{
    return index < sizeof devices / sizeof *devices ? &devices[index] : NULL;
}

const struct rue_device *rue_device_find(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcmp(devices[i].name, name) == 0) return &devices[i];
    return NULL;
}

size_t rue_precision_bytes(enum rue_precision precision)
{
    return precision == RUE_FP32 ? 4 : 2;
}
