/* A model that computes on this machine's CPUs, so that it competes with loading, as on a machine without
 * GPU. It computes the products of all layers in fp32, depthwise convolutions, and the memory traffic of
 * other operations (norms, activation functions, sums).
 *
 * It does the work of the model, but the result has no meaning: the output of a layer is not the input of the
 * next. Every layer reads and writes as many activations of all images as the real one. Windows of
 * convolutions are not laid out (im2col): activations are copied into rows of the right length, which are
 * multiplied. All layers share one array of weights. The images of the batch are the input of the first
 * layer; 8-bit levels are normalised first.
 *
 * The consumer's thread computes together with cores - 1 other threads. Rows are divided evenly, and each
 * layer ends when all threads are done. */
#ifndef RUE_MODEL_HOST_H
#define RUE_MODEL_HOST_H

#include "matrix_product.h"
#include "model.h"
#include "profile.h"

/* `profile` has an architecture and cores. Both arguments are copied. RUE_MEMORY. RUE_INFEASIBLE: the threads
 * could not be started. */
rue_status rue_model_host_open(const struct rue_profile *profile, const struct rue_matrix_product *product,
                               struct rue_model *out, rue_error *error) RUE_MUST_CHECK;

#endif
