#include "roofline.h"

static const double convolution_efficiency = 0.60, product_efficiency = 0.45, memory_efficiency = 0.75;
static const uint64_t context_bytes =
    600000000; /* memory of the driver, its libraries and their workspaces */

static double layer_ns(const struct rue_layer *layer, const struct rue_device *device,
                       enum rue_precision precision, double images)
{
    double rate = layer->kind == RUE_CONVOLUTION && precision == RUE_FP32 ? device->convolution_flops
                                                                          : device->flops[precision];
    rate *= layer->kind == RUE_CONVOLUTION ? convolution_efficiency : product_efficiency;
    double flops = 2.0 * images * layer->m * layer->n * layer->k * layer->groups;
    double weights = layer->kind == RUE_ATTENTION ? 0 : (double)layer->n * layer->k * layer->groups;
    double activations = images * (layer->read_elements + (double)layer->m * layer->n * layer->groups);
    double bytes = (weights + activations) * (double)rue_precision_bytes(precision);
    double compute_s = flops / rate, memory_s = bytes / (device->memory_bytes_per_s * memory_efficiency);
    return layer->repeats * ((compute_s > memory_s ? compute_s : memory_s) * 1e9 + device->launch_ns);
}

double rue_roofline_batch_ns(const struct rue_architecture *architecture, const struct rue_device *device,
                             enum rue_precision precision, uint64_t images)
{
    double bytes =
        (double)images * (double)architecture->moved_elements * (double)rue_precision_bytes(precision);
    double ns = bytes / (device->memory_bytes_per_s * memory_efficiency) * 1e9 +
                architecture->moves * device->launch_ns;
    for (size_t i = 0; i < architecture->layer_count; i++)
        ns += layer_ns(&architecture->layers[i], device, precision, (double)images);
    return ns;
}

void rue_roofline_fill(const struct rue_architecture *architecture, const struct rue_device *device,
                       enum rue_precision precision, struct rue_profile *out)
{
    out->points = 12;
    for (size_t i = 0; i < out->points; i++) {
        out->batch_size[i] = UINT32_C(1) << i;
        out->batch_ns[i] = rue_roofline_batch_ns(architecture, device, precision, out->batch_size[i]);
    }
}

uint64_t rue_roofline_largest_batch(const struct rue_architecture *architecture,
                                    const struct rue_device *device, enum rue_precision precision)
{
    uint64_t occupied = context_bytes + architecture->parameters * rue_precision_bytes(precision);
    if (occupied >= device->memory_bytes) return 0;
    return (device->memory_bytes - occupied) / (architecture->peak_elements * rue_precision_bytes(precision));
}
