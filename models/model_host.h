/* A model that is computed on this machine's CPUs, so that inference and loading compete for them as they do
 * where there is no GPU: the products of all its layers in fp32, depthwise convolutions as the loops that
 * memory bounds, and the traffic of what is no product (norms, activation functions, sums).
 *
 * It is the work of the model and not its answer. Every layer reads as many activations and writes as many
 * as the model's own would, of all images, but what it reads is what was there: outputs do not become inputs.
 * A convolution's window is not laid out (im2col): rows of the right length are multiplied, into which the
 * activations of that part of the image are copied. One array of weights, the largest, serves all layers. The
 * images of the batch are the first layer's input; 8-bit levels are normalised first, image by image.
 *
 * The consumer's thread computes, with cores - 1 threads beside it; rows are dealt out evenly, and each layer
 * ends when all are done. */
#ifndef RUE_MODEL_HOST_H
#define RUE_MODEL_HOST_H

#include "matrix_product.h"
#include "model.h"
#include "profile.h"

/* `profile` has an architecture and cores, both arguments are copied. RUE_MEMORY; RUE_INFEASIBLE when the
 * system refuses threads. */
rue_status rue_model_host_open(const struct rue_profile *profile, const struct rue_matrix_product *product,
                               struct rue_model *out, rue_error *error) RUE_MUST_CHECK;

#endif
