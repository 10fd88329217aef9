/* Profiles of models that compute on this machine's CPUs: "resnet18@host", "resnet18@host:2". */
#ifndef RUE_HOST_PROFILE_H
#define RUE_HOST_PROFILE_H

#include "architecture.h"
#include "error.h"
#include "profile.h"

/* Whether the text after a model's '@' names the host, with or without a number of cores. */
bool rue_host_profile_matches(const char *device);

/* Makes the profile of `model` on this machine. Its name contains the number of cores. Without a number in
 * `device` it uses all usable CPUs. Its times are estimated by a roofline. `out->name` is what the user
 * typed. RUE_USAGE: there are fewer CPUs, or OpenBLAS is not installed. */
rue_status rue_host_profile_make(const struct rue_architecture *model, const char *device,
                                 struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
