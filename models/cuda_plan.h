/* The work of the GPU for a batch: products and memory traffic of a model's layers (architecture.h), and the
 * memory that it needs. Works without CUDA. */
#ifndef RUE_CUDA_PLAN_H
#define RUE_CUDA_PLAN_H

#include <stdbool.h>

#include "architecture.h"
#include "cuda_module.h"
#include "device.h"
#include "error.h"

/* A convolution reads each of its activations several times. It becomes one call of several products whose
 * factors A overlap in memory, so that memory traffic and operations equal those of the convolution. Sides of
 * products are rounded up to multiples of 8, which tensor cores need.
 *
 * With `share_weights`, layers of the same shape share their weights, which saves memory. Batches are
 * float32; the caller may change `out->input.dtype`. RUE_MEMORY. */
rue_status rue_cuda_plan_open(const struct rue_architecture *architecture, enum rue_precision precision,
                              uint32_t images, bool share_weights, struct rue_cuda_plan *out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_cuda_plan_close(struct rue_cuda_plan *plan);

/* Bytes of GPU memory, without those of the driver and its libraries. */
uint64_t rue_cuda_plan_weight_bytes(const struct rue_cuda_plan *plan);
uint64_t rue_cuda_plan_activation_bytes(const struct rue_cuda_plan *plan);
uint64_t rue_cuda_plan_input_bytes(const struct rue_cuda_plan *plan);

#endif
