/* The profile of a model that computes on this machine's GPU: NAME@cuda, optionally with ":fp32" (the
 * default, as in device.h), ":fp16" or ":bf16". */
#ifndef RUE_CUDA_PROFILE_H
#define RUE_CUDA_PROFILE_H

#include "architecture.h"
#include "error.h"
#include "profile.h"

/* Returns the part of `device` after "cuda" (":bf16" or ""), or NULL if it is another device. */
const char *rue_cuda_profile_options(const char *device);

/* `options` is the result of that function. RUE_USAGE: unknown precision. */
rue_status rue_cuda_profile_make(const struct rue_architecture *model, const char *options,
                                 struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
