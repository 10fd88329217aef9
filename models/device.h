/* Devices that models are simulated on: what their makers' data sheets say, without sparsity. */
#ifndef RUE_DEVICE_H
#define RUE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* fp32 is PyTorch's default: convolutions take TF32 where the device has it, other products do not. */
enum rue_precision { RUE_FP32, RUE_FP16, RUE_BF16, RUE_PRECISION_COUNT };
extern const char *const rue_precision_names[RUE_PRECISION_COUNT];

/* Bytes of an element. */
size_t rue_precision_bytes(enum rue_precision precision);

struct rue_device {
    const char *name;  /* "h100" */
    const char *title; /* "an NVIDIA H100 SXM" */
    double
        flops[RUE_PRECISION_COUNT]; /* a second, a multiplication with addition counting two; 0: it cannot */
    double convolution_flops;       /* of fp32, with TF32 where there is any */
    double memory_bytes_per_s;
    uint64_t memory_bytes;
    double launch_ns; /* what each operation costs however small it is */
};

/* All of them, index 0 upwards; NULL past the last. */
const struct rue_device *rue_device_at(size_t index);

/* By its name, or NULL. */
const struct rue_device *rue_device_find(const char *name);

#endif
