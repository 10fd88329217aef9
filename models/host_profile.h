/* Profiles of models that are computed on this machine's CPUs: "resnet18@host", "resnet18@host:2". */
#ifndef RUE_HOST_PROFILE_H
#define RUE_HOST_PROFILE_H

#include "architecture.h"
#include "error.h"
#include "profile.h"

/* Whether what stands behind a model's '@' names the host, with a number of cores or without. */
bool rue_host_profile_matches(const char *device);

/* The profile of `model` there: named with its cores, which are all that this process may use where `device`
 * does not say, and with times that a roofline of such a CPU estimates. RUE_USAGE for cores that there are
 * not and where OpenBLAS is not installed; `out->name` is what was typed. */
rue_status rue_host_profile_make(const struct rue_architecture *model, const char *device,
                                 struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
