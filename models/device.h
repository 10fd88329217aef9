/* Devices to simulate, with the figures of their data sheets, without sparsity. */
#ifndef RUE_DEVICE_H
#define RUE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* fp32 is PyTorch's default: TF32 for convolutions if the device supports it, but not for other products. */
enum rue_precision { RUE_FP32, RUE_FP16, RUE_BF16, RUE_PRECISION_COUNT };
extern const char *const rue_precision_names[RUE_PRECISION_COUNT];

/* Bytes of one value. */
size_t rue_precision_bytes(enum rue_precision precision);

struct rue_device {
    const char *name;                  /* "h100" */
    const char *title;                 /* "an NVIDIA H100 SXM" */
    double flops[RUE_PRECISION_COUNT]; /* operations per second; a multiply-add counts as two; 0: not
                                          supported */
    double convolution_flops; /* operations per second of convolutions in fp32, with TF32 if supported */
    double memory_bytes_per_s;
    uint64_t memory_bytes;
    double launch_ns; /* start-up time of each operation */
};

/* The device at `index`, from 0; NULL after the last. */
const struct rue_device *rue_device_at(size_t index);

/* Finds a device by its name; NULL: unknown. */
const struct rue_device *rue_device_find(const char *name);

#endif
