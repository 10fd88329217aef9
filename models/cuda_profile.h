/* The profile of a model that computes on the GPU at hand, and how it is written: NAME@cuda, and behind that
 * ":fp32" (PyTorch's default, as device.h has it, where nothing is said), ":fp16" or ":bf16". */
#ifndef RUE_CUDA_PROFILE_H
#define RUE_CUDA_PROFILE_H

#include "architecture.h"
#include "error.h"
#include "profile.h"

/* What follows "@cuda" in `device` ("cuda:bf16"), or NULL where that is another one. */
const char *rue_cuda_profile_options(const char *device);

/* `options` is what that answered. RUE_USAGE for an unknown one. */
rue_status rue_cuda_profile_make(const struct rue_architecture *model, const char *options,
                                 struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
