/* The model that computes: its layers' products, as real kernels, on the GPU at hand (cuda_module.h). The
 * kernels are in a module of their own, which is looked for in RUE_CUDA_MODULE, beside the program, and where
 * it is installed; it is opened once and stays open. */
#ifndef RUE_MODEL_CUDA_H
#define RUE_MODEL_CUDA_H

#include "model.h"
#include "profile.h"

/* `profile` is one of RUE_CONSUMER_CUDA. RUE_USAGE where there is no module, or one of another version, or no
 * GPU that it can work on: a sentence that says which; RUE_MEMORY. */
rue_status rue_model_cuda_open(const struct rue_profile *profile, struct rue_model *out,
                               rue_error *error) RUE_MUST_CHECK;

#endif
