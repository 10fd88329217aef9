#include "geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"

const char *const rue_interpolation_names[] = {"bilinear", "bicubic", "random", NULL};
const char *const rue_layout_names[] = {"nchw", "nhwc", NULL};

struct normal {
    float mean[RUE_CHANNELS], std[RUE_CHANNELS];
};

/* ImageNet: torchvision's references. CLIP: openai/CLIP, clip.py. Inception: timm, data/constants.py. */
const char *const rue_normalize_names[] = {"imagenet", "clip", "inception", "none", NULL};
static const struct normal normals[] = {
    {RUE_MEAN, RUE_STD},
    {{0.48145466F, 0.4578275F, 0.40821073F}, {0.26862954F, 0.26130258F, 0.27577711F}},
    {{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}},
    {{0, 0, 0}, {1, 1, 1}},
};

struct rue_geometry rue_geometry_default(void)
{
    return (struct rue_geometry){.height = RUE_IMAGE_SIZE,
                                 .width = RUE_IMAGE_SIZE,
                                 .channels = RUE_CHANNELS,
                                 .resize_height = 256,
                                 .resize_width = 256,
                                 .mean = RUE_MEAN,
                                 .std = RUE_STD};
}

uint64_t rue_geometry_shape(const struct rue_geometry *geometry, uint32_t shape[3])
{
    bool pixels = geometry->layout == RUE_NHWC;
    shape[0] = pixels ? geometry->height : geometry->channels;
    shape[1] = pixels ? geometry->width : geometry->height;
    shape[2] = pixels ? geometry->channels : geometry->width;
    return (uint64_t)shape[0] * shape[1] * shape[2];
}

bool rue_geometry_has_channels(const struct rue_geometry *geometry, const uint32_t shape[3])
{
    return shape[geometry->layout == RUE_NHWC ? 2 : 0] == geometry->channels;
}

/* Reads a side of at least 1 at `*at`, and moves `*at` behind it. */
static bool read_side(const char **at, uint32_t *out)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    unsigned long side = strtoul(*at, &end, 10);
    *at = end;
    *out = (uint32_t)side;
    return side >= 1 && side <= RUE_IMAGE_SIZE_MAX;
}

/* Whether the text is "HEIGHTxWIDTH", or one side, which sets both. */
static bool read_size(const char *text, uint32_t *height, uint32_t *width)
{
    if (!read_side(&text, height)) return false;
    *width = *height;
    if (*text == 'x') return text++, read_side(&text, width) && !*text;
    return !*text;
}

rue_status rue_geometry_set_size(struct rue_geometry *geometry, const char *image_size, rue_error *error)
{
    if (read_size(image_size, &geometry->height, &geometry->width)) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "image_size '%.40s': expected a side, or height x width such as 160x224, each from 1 to "
                    "%d",
                    image_size, RUE_IMAGE_SIZE_MAX);
}

static rue_status set_crop_pct(struct rue_geometry *geometry, const char *text, rue_error *error)
{
    char *end;
    double share = strtod(text, &end);
    uint32_t side = geometry->height < geometry->width ? geometry->height : geometry->width;
    if (share > 0 && side / share > RUE_IMAGE_SIZE_MAX)
        return rue_fail(error, RUE_USAGE, "crop_pct %.40s makes a short side of more than %d pixels", text,
                        RUE_IMAGE_SIZE_MAX);
    if (end == text || *end || !(share > 0 && share <= 1))
        return rue_fail(error, RUE_USAGE,
                        "crop_pct '%.40s': expected a number above 0, up to 1, such as 0.875", text);
    geometry->resize = RUE_RESIZE_SHORT;
    geometry->resize_height = geometry->resize_width = (uint32_t)floor(side / share);
    return RUE_OK;
}

rue_status rue_geometry_set_resize(struct rue_geometry *geometry, const char *resize, const char *crop_pct,
                                   rue_error *error)
{
    if (strcmp(resize, "crop_pct") == 0) return set_crop_pct(geometry, crop_pct, error);
    geometry->resize_height = geometry->height;
    geometry->resize_width = geometry->width;
    if (strcmp(resize, "none") == 0) return geometry->resize = RUE_RESIZE_NONE, RUE_OK;
    if (strcmp(resize, "exact") == 0) return geometry->resize = RUE_RESIZE_EXACT, RUE_OK;
    geometry->resize = strchr(resize, 'x') ? RUE_RESIZE_EXACT : RUE_RESIZE_SHORT;
    if (read_size(resize, &geometry->resize_height, &geometry->resize_width)) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "resize '%.40s': expected the short side such as 256, height x width such as 256x320, "
                    "exact, none or crop_pct",
                    resize);
}

/* Sets `out` to the numbers of the text, one for each channel; with one channel the first. */
static bool read_numbers(const char *text, uint32_t channels, float out[RUE_CHANNELS])
{
    for (uint32_t c = channels; c < RUE_CHANNELS; c++) out[c] = 1; /* any: not used */
    for (uint32_t c = 0; c < channels; c++) {
        char *end;
        out[c] = strtof(text, &end);
        if (end == text || !isfinite(out[c]) || *end != (c + 1 < channels ? ',' : 0)) return false;
        text = end + 1;
    }
    return true;
}

static rue_status read_normal(const char *name, const char *text, uint32_t channels, struct normal *normal,
                              float *out, rue_error *error)
{
    for (int i = 0; rue_normalize_names[i]; i++)
        if (strcmp(rue_normalize_names[i], text) == 0) return *normal = normals[i], RUE_OK;
    if (read_numbers(text, channels, out)) return RUE_OK;
    char near[RUE_SUGGESTION_BYTES];
    rue_did_you_mean(text, rue_normalize_names, sizeof normals / sizeof *normals, "", near);
    return rue_fail(error, RUE_USAGE, "%s '%.60s': expected %s, or imagenet, clip, inception or none%s", name,
                    text, channels == 1 ? "a number" : "three numbers such as 0.5,0.5,0.5", near);
}

rue_status rue_geometry_set_normalize(struct rue_geometry *geometry, const char *mean, const char *std,
                                      rue_error *error)
{
    struct normal means, stds;
    rue_status status = read_normal("mean", mean, geometry->channels, &means, means.mean, error);
    if (status == RUE_OK) status = read_normal("std", std, geometry->channels, &stds, stds.std, error);
    if (status != RUE_OK) return status;
    for (uint32_t c = 0; c < geometry->channels; c++)
        if (stds.std[c] == 0) return rue_fail(error, RUE_USAGE, "std '%.60s': 0 cannot divide", std);
    memcpy(geometry->mean, means.mean, sizeof means.mean);
    memcpy(geometry->std, stds.std, sizeof stds.std);
    return RUE_OK;
}
