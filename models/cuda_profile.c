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

/* One of ":bf16:pageable"; false where there is no such. */
static bool take_option(const char *option, size_t length, struct rue_profile *out)
{
    static const char pageable[] = "pageable";
    for (size_t p = 0; p < RUE_PRECISION_COUNT; p++)
        if (strlen(rue_precision_names[p]) == length && strncmp(option, rue_precision_names[p], length) == 0)
            return out->precision = p, true;
    out->pageable = length == sizeof pageable - 1 && strncmp(option, pageable, length) == 0;
    return out->pageable;
}

rue_status rue_cuda_profile_make(const struct rue_architecture *model, const char *options,
                                 struct rue_profile *out, rue_error *error)
{
    out->consumer = RUE_CONSUMER_CUDA;
    out->architecture = model;
    for (const char *at = options; *at;) {
        size_t length = strcspn(at + 1, ":");
        if (!take_option(at + 1, length, out))
            return rue_fail(
                error, RUE_USAGE,
                "model '%s': '%.*s' is no option of a GPU's; write %s@cuda:bf16, with one of fp32, "
                "fp16 and bf16, and ':pageable' behind it for batches that are not pinned",
                out->name, (int)length, at + 1, model->name);
        at += 1 + length;
    }
    const char *precision = rue_precision_names[out->precision];
    bool usual = out->precision == RUE_FP32;
    snprintf(out->name, sizeof out->name, "%s@cuda%s%s%s", model->name, usual ? "" : ":",
             usual ? "" : precision, out->pageable ? ":pageable" : "");
    snprintf(out->device, sizeof out->device, "this machine's GPU (%s)", precision);
    return RUE_OK;
}
