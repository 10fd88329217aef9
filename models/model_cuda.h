/* A model that computes the products of its layers on this machine's GPU (cuda_module.h). The kernels are in
 * a module, which is opened once and stays open. It is searched for in RUE_CUDA_MODULE, beside the program,
 * and where it is installed. */
#ifndef RUE_MODEL_CUDA_H
#define RUE_MODEL_CUDA_H

#include "model.h"
#include "profile.h"

/* `profile` has consumer RUE_CONSUMER_CUDA. RUE_USAGE: there is no module, it has another version, or there
 * is no usable GPU; the message says which. RUE_MEMORY. */
rue_status rue_model_cuda_open(const struct rue_profile *profile, struct rue_model *out,
                               rue_error *error) RUE_MUST_CHECK;

#endif
