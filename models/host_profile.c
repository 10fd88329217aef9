#include "host_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "machine.h"
#include "matrix_product.h"
#include "roofline.h"

static const char host[] = "host";
enum { HOST_LENGTH = sizeof host - 1, CATALOGUE_CORES = 16 /* cores of the device "cpu" */ };

/* Largest memory bandwidth of one core. */
static const double core_bytes_per_s = 12e9;

bool rue_host_profile_matches(const char *device)
{
    return strncmp(device, host, HOST_LENGTH) == 0 && (device[HOST_LENGTH] == ':' || !device[HOST_LENGTH]);
}

/* Returns 0 unless `text` is a number from 1 to `most`. */
static int parse_cores(const char *text, int most)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 6 || text[digits]) return 0;
    int cores = atoi(text);
    return cores <= most ? cores : 0;
}

/* Multiplications per cycle relative to AVX2, which the device "cpu" has. */
static double vector_ratio(void)
{
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx2")) return 0.25;
    return __builtin_cpu_supports("avx512f") ? 2 : 1;
#else
    return 0.5;
#endif
}

static struct rue_device describe_cpus(int cores, uint64_t memory_bytes)
{
    struct rue_device device = *rue_device_find("cpu");
    double share = (double)cores / CATALOGUE_CORES * vector_ratio();
    device.flops[RUE_FP32] *= share;
    device.convolution_flops *= share;
    if (device.memory_bytes_per_s > cores * core_bytes_per_s)
        device.memory_bytes_per_s = cores * core_bytes_per_s;
    device.memory_bytes = memory_bytes;
    return device;
}

rue_status rue_host_profile_make(const struct rue_architecture *model, const char *device,
                                 struct rue_profile *out, rue_error *error)
{
    struct rue_machine machine = rue_machine_read();
    const char *text = device + HOST_LENGTH;
    int cores = *text ? parse_cores(text + 1, machine.usable_cpus) : machine.usable_cpus;
    if (cores == 0)
        return rue_fail(error, RUE_USAGE,
                        "model '%s': host:N needs a number of usable CPUs, 1 to %d; %s@host uses all of them",
                        out->name, machine.usable_cpus, model->name);
    struct rue_matrix_product product;
    rue_status status = rue_matrix_product_open(RUE_OPENBLAS, &product, error);
    if (status != RUE_OK) return status;
    struct rue_device estimated = describe_cpus(cores, machine.memory_bytes);
    out->consumer = RUE_CONSUMER_HOST;
    out->architecture = model;
    out->cores = cores;
    snprintf(out->name, sizeof out->name, "%s@%s:%d", model->name, host, cores);
    snprintf(out->products, sizeof out->products, "%s", product.name);
    snprintf(out->device, sizeof out->device, "this machine's CPUs (%d core%s, %s)", cores,
             cores == 1 ? "" : "s", product.name);
    out->largest_batch = rue_roofline_largest_batch(model, &estimated, RUE_FP32);
    rue_roofline_fill(model, &estimated, RUE_FP32, out);
    return RUE_OK;
}
