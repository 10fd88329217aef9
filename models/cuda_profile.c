#include "cuda_profile.h"

#include <stdio.h>
#include <string.h>

const char *rue_cuda_profile_options(const char *device)
{
    static const char name[] = "cuda";
    size_t length = sizeof name - 1;
    bool is = strncmp(device, name, length) == 0 && (device[length] == 0 || device[length] == ':');
    return is ? device + length : NULL;
}

rue_status rue_cuda_profile_make(const struct rue_architecture *model, const char *options,
                                 struct rue_profile *out, rue_error *error)
{
    out->consumer = RUE_CONSUMER_CUDA;
    out->architecture = model;
    int known = *options ? rue_word_find(rue_precision_names, RUE_PRECISION_COUNT, options + 1) : RUE_FP32;
    if (known < 0)
        return rue_fail(error, RUE_USAGE,
                        "model '%s': '%s' is not a precision; write %s@cuda:bf16, with fp32, fp16 or bf16",
                        out->name, options + 1, model->name);
    out->precision = (enum rue_precision)known;
    const char *precision = rue_precision_names[known];
    bool usual = known == RUE_FP32;
    snprintf(out->name, sizeof out->name, "%s@cuda%s%s", model->name, usual ? "" : ":",
             usual ? "" : precision);
    snprintf(out->device, sizeof out->device, "this machine's GPU (%s)", precision);
    return RUE_OK;
}
