/* What the GPU does with a batch, as the products and the traffic of a model's layers (architecture.h), and
 * how much of its memory that takes. No CUDA is needed to make one. */
#ifndef RUE_CUDA_PLAN_H
#define RUE_CUDA_PLAN_H

#include <stdbool.h>

#include "architecture.h"
#include "cuda_module.h"
#include "device.h"
#include "error.h"

/* A convolution reads each of its activations several times. It is one call of several products whose factors
 * A overlap in memory, so that as many bytes come from memory as the convolution itself would read, and as
 * many sums are made. Sides of products are rounded up to multiples of 8, which tensor cores want.
 *
 * With `share_weights` layers of one shape have the same weights, which takes less memory. Batches are of
 * float32 unless `out->input.dtype` is set to something else. RUE_MEMORY. */
rue_status rue_cuda_plan_open(const struct rue_architecture *architecture, enum rue_precision precision,
                              uint32_t images, bool share_weights, struct rue_cuda_plan *out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_cuda_plan_close(struct rue_cuda_plan *plan);

/* Bytes of the GPU's memory, the driver's own and its libraries' aside. */
uint64_t rue_cuda_plan_weight_bytes(const struct rue_cuda_plan *plan);
uint64_t rue_cuda_plan_activation_bytes(const struct rue_cuda_plan *plan);
uint64_t rue_cuda_plan_input_bytes(const struct rue_cuda_plan *plan);

#endif
