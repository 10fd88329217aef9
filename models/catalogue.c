#include "catalogue.h"

#include <stdio.h>
#include <string.h>

#include "architecture.h"
#include "cuda_profile.h"
#include "device.h"
#include "host_profile.h"
#include "roofline.h"
#include "suggest.h"
#include "units.h"

static const uint32_t measured_batch_sizes[] = {32, 128, 256, 512, 1024};
enum { MEASURED = sizeof measured_batch_sizes / sizeof *measured_batch_sizes };

/* Microseconds per image of inference on an NVIDIA RTX A5000: mean of 10 batches, PyTorch 2.2, for each of
 * measured_batch_sizes. Read off the published plots of hpides/alsatian, num_workers_and_batch_size. */
static const struct {
    const char *name;  /* torchvision's name */
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
enum { MEASURED_MODELS = sizeof measured / sizeof *measured };

static const char usual_device[] = "rtx-a5000";

size_t rue_catalogue_count(void)
{
    size_t count = 0;
    while (rue_architecture_at(count)) count++;
    return count;
}

const char *rue_catalogue_name(size_t index)
{
    return rue_architecture_at(index)->name;
}

static char plain_letter(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c | 32);
    return c == '-' ? '_' : c;
}

/* Compares names; ignores case, and '-' equals '_'. */
static bool same_name(const char *typed, size_t length, const char *name)
{
    for (; length && *name; length--, typed++, name++)
        if (plain_letter(*typed) != plain_letter(*name)) return false;
    return !length && !*name;
}

static const struct rue_architecture *find_architecture(const char *typed, size_t length)
{
    const struct rue_architecture *at;
    for (size_t i = 0; i < MEASURED_MODELS; i++)
        if (measured[i].alias && same_name(typed, length, measured[i].alias))
            return rue_architecture_find(measured[i].name);
    for (size_t i = 0; (at = rue_architecture_at(i)); i++)
        if (same_name(typed, length, at->name)) return at;
    return NULL;
}

static bool measured_points(const char *name, struct rue_profile *out)
{
    size_t index = 0;
    while (index < MEASURED_MODELS && strcmp(measured[index].name, name) != 0) index++;
    if (index == MEASURED_MODELS) return false;
    out->measured = true;
    out->points = MEASURED;
    for (size_t i = 0; i < MEASURED; i++) {
        out->batch_size[i] = measured_batch_sizes[i];
        out->batch_ns[i] = measured[index].us_per_image[i] * 1e3 * measured_batch_sizes[i];
    }
    return true;
}

static rue_status profile_on(const struct rue_architecture *model, const struct rue_device *device,
                             enum rue_precision precision, struct rue_profile *out, rue_error *error)
{
    if (device->flops[precision] == 0)
        return rue_fail(error, RUE_USAGE,
                        "model '%s': the device %s does not support %s; choose another precision", out->name,
                        device->name, rue_precision_names[precision]);
    bool usual = strcmp(device->name, usual_device) == 0 && precision == RUE_FP32;
    snprintf(out->name, sizeof out->name,
             usual                   ? "%s"
             : precision == RUE_FP32 ? "%s@%s"
                                     : "%s@%s:%s",
             model->name, device->name, rue_precision_names[precision]);
    out->precision = precision;
    out->largest_batch = rue_roofline_largest_batch(model, device, precision);
    if (usual && measured_points(model->name, out))
        snprintf(out->device, sizeof out->device, "%s", device->title);
    else {
        rue_roofline_fill(model, device, precision, out);
        snprintf(out->device, sizeof out->device, "%s (%s, estimated)", device->title,
                 rue_precision_names[precision]);
    }
    return RUE_OK;
}

/* Parses "250ms/batch" or "1.5ms/image+2ms": durations joined by '+', per batch unless they end in /image. */
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
                    "model '%s': write a sleeping model as sleep:250ms/batch or sleep:1.5ms/image+2ms", spec);
}

enum { NAMES_MAX = 64 };

/* Reports that `typed` is not in the table of `name_at`, nor in `more`. */
static rue_status fail_unknown(const char *kind, const char *typed, const char *(*name_at)(size_t),
                               const char *const extra[2], rue_error *error)
{
    const char *names[NAMES_MAX];
    char near[RUE_SUGGESTION_BYTES], list[1024] = "";
    size_t count = 0, used = 0;
    while (count < NAMES_MAX - 2 && (names[count] = name_at(count))) count++;
    for (size_t i = 0; i < 2 && extra[i]; i++) names[count++] = extra[i];
    if (*rue_did_you_mean(typed, names, count, "", near))
        return rue_fail(error, RUE_USAGE, "unknown %s '%s'%s", kind, typed, near);
    for (size_t i = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    return rue_fail(error, RUE_USAGE, "unknown %s '%s'; known: %s", kind, typed, list);
}

static const char *model_name(size_t index)
{
    const struct rue_architecture *model = rue_architecture_at(index);
    return model ? model->name : NULL;
}

/* The message names only the part before the device. */
static rue_status fail_unknown_model(const char *spec, int length, rue_error *error)
{
    char name[RUE_MODEL_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", length, spec);
    const char *const anywhere[2] = {"none", "sleep:TIME/image+TIME/batch"}, *const on_a_device[2] = {NULL};
    return fail_unknown("model", name, model_name, spec[length] ? on_a_device : anywhere, error);
}

static const char *device_name(size_t index)
{
    const struct rue_device *device = rue_device_at(index);
    return device ? device->name : NULL;
}

static const char *precision_name(size_t index)
{
    return index < RUE_PRECISION_COUNT ? rue_precision_names[index] : NULL;
}

static const struct rue_device *find_device(const char *typed)
{
    const struct rue_device *device;
    for (size_t i = 0; (device = rue_device_at(i)); i++)
        if (same_name(typed, strlen(typed), device->name)) return device;
    return NULL;
}

/* Parses "h100", "h100:bf16" or "". */
static rue_status parse_device(const char *typed, const struct rue_device **device,
                               enum rue_precision *precision, rue_error *error)
{
    char name[RUE_MODEL_NAME_BYTES];
    *precision = RUE_FP32;
    *device = rue_device_find(usual_device);
    if (!*typed) return RUE_OK;
    const char *colon = strchrnul(typed, ':');
    snprintf(name, sizeof name, "%.*s", (int)(colon - typed), typed);
    *device = find_device(name);
    if (!*device)
        return fail_unknown("device", name, device_name, (const char *const[2]){"host", "cuda"}, error);
    if (!*colon) return RUE_OK;
    for (size_t i = 0; i < RUE_PRECISION_COUNT; i++)
        if (strcmp(rue_precision_names[i], colon + 1) == 0) return *precision = i, RUE_OK;
    return fail_unknown("precision", colon + 1, precision_name, (const char *const[2]){NULL}, error);
}

rue_status rue_catalogue_find(const char *spec, struct rue_profile *out, rue_error *error)
{
    *out = (struct rue_profile){0};
    if (strlen(spec) >= sizeof out->name)
        return rue_fail(error, RUE_USAGE, "model name '%.40s...' is too long", spec);
    snprintf(out->name, sizeof out->name, "%s", spec);
    if (strcmp(spec, "none") == 0) return RUE_OK;
    if (strncmp(spec, "sleep:", 6) == 0) return parse_sleep(spec, spec + 6, out, error);
    const char *at = strchrnul(spec, '@');
    const struct rue_architecture *model = find_architecture(spec, (size_t)(at - spec));
    if (!model) return fail_unknown_model(spec, (int)(at - spec), error);
    const struct rue_device *device;
    enum rue_precision precision;
    if (*at && !at[1])
        return rue_fail(error, RUE_USAGE,
                        "model '%s': no device after '@'; write resnet50@h100 or resnet50@h100:bf16", spec);
    if (*at && rue_host_profile_matches(at + 1)) return rue_host_profile_make(model, at + 1, out, error);
    const char *options = *at ? rue_cuda_profile_options(at + 1) : NULL;
    if (options) return rue_cuda_profile_make(model, options, out, error);
    rue_status status = parse_device(*at ? at + 1 : "", &device, &precision, error);
    return status == RUE_OK ? profile_on(model, device, precision, out, error) : status;
}
