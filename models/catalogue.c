#include "catalogue.h"

#include <stdio.h>
#include <string.h>

#include "suggest.h"
#include "units.h"

static const uint32_t measured_batch_sizes[] = {32, 128, 256, 512, 1024};
enum { MEASURED = sizeof measured_batch_sizes / sizeof *measured_batch_sizes };

/* Microseconds per image of pure inference on one NVIDIA RTX A5000, mean of 10 batches, PyTorch 2.2, at each
 * of measured_batch_sizes. Source: the published plots of hpides/alsatian, num_workers_and_batch_size, read
 * off. */
static const struct {
    const char *name;  /* torchvision's */
    const char *alias; /* (optional) */
    double us_per_image[MEASURED];
} measured[] = {
    {"resnet18", NULL, {236.740, 206.053, 200.847, 198.869, 200.070}},
    {"resnet34", NULL, {400.489, 351.375, 342.477, 338.681, 339.989}},
    {"resnet50", NULL, {716.393, 664.282, 652.421, 652.981, 647.031}},
    {"resnet101", NULL, {1159.984, 1076.902, 1048.954, 1060.774, 1040.338}},
    {"resnet152", NULL, {1644.405, 1528.973, 1491.718, 1511.058, 1481.241}},
    {"mobilenet_v2", "mobilenetv2", {296.453, 274.952, 274.021, 272.724, 271.924}},
    {"efficientnet_v2_s", "eff_net_v2_s", {804.090, 741.847, 732.354, 714.431, 712.904}},
    {"efficientnet_v2_l", "eff_net_v2_l", {2566.095, 2304.011, 2294.467, 2282.197, 2256.757}},
    {"vit_b_16", NULL, {3061.353, 3020.747, 3095.784, 3104.141, 3127.810}},
    {"vit_b_32", NULL, {767.428, 757.274, 756.524, 752.791, 755.167}},
    {"vit_l_16", NULL, {10390.442, 10296.151, 10129.415, 10381.106, 10475.283}},
    {"vit_l_32", NULL, {2565.097, 2585.509, 2470.427, 2489.888, 2430.937}},
};
enum { MODELS = sizeof measured / sizeof *measured };

static const char device[] = "an NVIDIA RTX A5000";

size_t rue_catalogue_count(void)
{
    return MODELS;
}

const char *rue_catalogue_name(size_t index)
{
    return measured[index].name;
}

/* Names are compared in small letters, '-' and '_' alike. */
static bool same_name(const char *typed, const char *name)
{
    for (; *typed && *name; typed++, name++) {
        char c = *typed == '-' ? '_' : *typed;
        if (c >= 'A' && c <= 'Z') c = (char)(c | 32);
        if (c != *name) return false;
    }
    return *typed == *name;
}

static struct rue_profile measured_profile(size_t index)
{
    struct rue_profile profile = {.points = MEASURED};
    snprintf(profile.name, sizeof profile.name, "%s", measured[index].name);
    snprintf(profile.device, sizeof profile.device, "%s", device);
    for (size_t i = 0; i < MEASURED; i++) {
        profile.batch_size[i] = measured_batch_sizes[i];
        profile.batch_ns[i] = measured[index].us_per_image[i] * 1e3 * measured_batch_sizes[i];
    }
    return profile;
}

/* "250ms/batch", "1.5ms/image+2ms": durations joined by '+', per batch unless they say per image. */
static rue_status parse_sleep(const char *spec, const char *terms, struct rue_profile *out, rue_error *error)
{
    for (const char *at = terms;;) {
        uint64_t ns;
        if (!rue_parse_duration_ns(at, &ns, &at)) goto bad;
        bool per_image = strncmp(at, "/image", 6) == 0;
        if (per_image || strncmp(at, "/batch", 6) == 0) at += 6;
        *(per_image ? &out->per_image_ns : &out->per_batch_ns) += (double)ns;
        if (!*at) return RUE_OK;
        if (*at++ != '+') goto bad;
    }
bad:
    return rue_fail(error, RUE_USAGE,
                    "model '%s': a sleeping model is written like sleep:250ms/batch or sleep:1.5ms/image+2ms",
                    spec);
}

static rue_status fail_unknown(const char *spec, rue_error *error)
{
    const char *names[MODELS + 2];
    for (size_t i = 0; i < MODELS; i++) names[i] = measured[i].name;
    names[MODELS] = "none";
    names[MODELS + 1] = "sleep:";
    char near[RUE_SUGGESTION_BYTES], list[512] = "";
    if (*rue_did_you_mean(spec, names, MODELS + 2, "", near))
        return rue_fail(error, RUE_USAGE, "unknown model '%s'%s", spec, near);
    for (size_t i = 0, used = 0; i < MODELS; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s, ", measured[i].name);
    return rue_fail(error, RUE_USAGE, "unknown model '%s': known are %snone, and sleep:TIME/image+TIME/batch",
                    spec, list);
}

rue_status rue_catalogue_find(const char *spec, struct rue_profile *out, rue_error *error)
{
    *out = (struct rue_profile){0};
    if (strlen(spec) >= sizeof out->name)
        return rue_fail(error, RUE_USAGE, "model name '%.40s...' is too long", spec);
    snprintf(out->name, sizeof out->name, "%s", spec);
    if (strcmp(spec, "none") == 0) return RUE_OK;
    if (strncmp(spec, "sleep:", 6) == 0) return parse_sleep(spec, spec + 6, out, error);
    for (size_t i = 0; i < MODELS; i++) {
        if (!same_name(spec, measured[i].name) && !(measured[i].alias && same_name(spec, measured[i].alias)))
            continue;
        *out = measured_profile(i);
        return RUE_OK;
    }
    return fail_unknown(spec, error);
}
