#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rue_cache_names[] = {RUE_CACHE_WARM, RUE_CACHE_COLD, RUE_CACHE_AS_IS, NULL};
const char *const rue_transform_names[] = {RUE_TRANSFORM_EVAL, RUE_TRANSFORM_TRAIN, NULL};

#define RUE_FIELD_RECIPE   RUE_FIELD_TEXT
#define RUE_FIELD_GEOMETRY RUE_FIELD_TEXT
#define FIELD(name, member, kind, words, least, most, usual, times, written)               \
    {#name,                                                                                \
     RUE_FIELD_##kind,                                                                     \
     RUE_FIELD_AT(rue_workload, member),                                                   \
     RUE_FIELD_OPTIONAL | RUE_FIELD_OMIT * !(written) | RUE_FIELD_CHANGES_TIMES * (times), \
     least,                                                                                \
     most,                                                                                 \
     usual,                                                                                \
     words,                                                                                \
     NULL,                                                                                 \
     0,                                                                                    \
     0,                                                                                    \
     NULL},

const struct rue_field rue_workload_fields[] = {
#define X(at, member, kind, words, least, most, usual, times, written, option, argument, text, help) \
    FIELD(member, member, kind, words, least, most, usual, times, written)
    RUE_WORKLOAD_BY_OPTION(X, )
#undef X
#define X(at, member, kind, words, least, most, usual, times, written, option, argument, text, help) \
    FIELD(member, geometry.member, kind, words, least, most, usual, times, written)
        RUE_WORKLOAD_BY_GEOMETRY(X, )
#undef X
#define X(member, kind, words, least, most, usual, times, written) \
    FIELD(member, member, kind, words, least, most, usual, times, written)
            RUE_WORKLOAD_BY_PROGRAM(X)
#undef X
                {0}};

const char *const rue_workload_options[] = {
#define X(at, member, kind, words, least, most, usual, times, written, option, argument, text, help) option,
    RUE_WORKLOAD_BY_OPTION(X, ) RUE_WORKLOAD_BY_GEOMETRY(X, ) NULL};
#undef X

struct rue_workload rue_workload_default(void)
{
    struct rue_workload workload = {0};
    for (const struct rue_field *field = rue_workload_fields; field->name; field++)
        if (field->kind == RUE_FIELD_TEXT)
            snprintf((char *)&workload + field->offset, field->bytes, "%s",
                     field->words ? field->words[0] : "");
        else
            rue_field_set_number(field, &workload, field->fallback);
    return workload;
}

bool rue_workload_trains(const struct rue_workload *workload)
{
    return strcmp(workload->transform, RUE_TRANSFORM_TRAIN) == 0;
}

uint32_t rue_workload_views(const struct rue_workload *workload)
{
    uint32_t count = 0;
    bool own_size = strstr(workload->augment, "image_size ");
    for (const char *at = workload->augment; *at; at += strspn(at, "; ")) {
        count += strncmp(at, "views ", 6) == 0 ? (uint32_t)strtoul(at + 6, NULL, 10) : 1;
        at += strcspn(at, ";");
    }
    return count > 1 || own_size ? count : 0;
}

bool rue_workload_same_cost(const struct rue_workload *a, const struct rue_workload *b)
{
    bool equal = true;
    for (const struct rue_field *field = rue_workload_fields; field->name; field++) {
        if (!(field->flags & RUE_FIELD_CHANGES_TIMES)) continue;
        equal &= field->kind == RUE_FIELD_TEXT
                     ? strcmp((const char *)a + field->offset, (const char *)b + field->offset) == 0
                     : rue_field_number(field, a) == rue_field_number(field, b);
    }
    return equal;
}

static const char *text_or(const char *text, const char *usual)
{
    return *text ? text : usual;
}

static rue_status read_geometry(const struct rue_workload *workload, struct rue_geometry *out,
                                rue_error *error)
{
    const struct rue_workload_geometry *text = &workload->geometry;
    *out = rue_geometry_default();
    out->interpolation = text->interpolation;
    out->channels = text->channels;
    out->layout = text->layout;
    rue_status status =
        text->channels == 2
            ? rue_fail(error, RUE_USAGE, "channels 2: expected 3 (RGB) or 1 (grey)")
            : rue_geometry_set_size(out, text_or(text->image_size, RUE_USUAL_IMAGE_SIZE), error);
    if (status == RUE_OK)
        status = rue_geometry_set_resize(out, text_or(text->resize, RUE_USUAL_RESIZE),
                                         text_or(text->crop_pct, RUE_USUAL_CROP_PCT), error);
    if (status == RUE_OK && *text->resize && *text->crop_pct)
        return rue_fail(error, RUE_USAGE, "crop_pct %s has no effect with resize %s: give one of them",
                        text->crop_pct, text->resize);
    if (status == RUE_OK && !*text->mean != !*text->std)
        return rue_fail(error, RUE_USAGE,
                        "%s is missing: give mean and std together, or neither for ImageNet's",
                        *text->std ? "mean" : "std");
    if (status == RUE_OK)
        status = rue_geometry_set_normalize(out, text_or(text->mean, RUE_USUAL_NORMAL),
                                            text_or(text->std, RUE_USUAL_NORMAL), error);
    return status;
}

struct rue_geometry rue_workload_geometry(const struct rue_workload *workload)
{
    struct rue_geometry geometry;
    return read_geometry(workload, &geometry, NULL) == RUE_OK ? geometry : rue_geometry_default();
}

bool rue_workload_is_usual(const struct rue_workload *workload)
{
    const struct rue_geometry is = rue_workload_geometry(workload), usual = rue_geometry_default();
    return memcmp(&is, &usual, sizeof is) == 0;
}

static void clear_usual(char *text, const char *usual)
{
    if (strcmp(text, usual) == 0) *text = 0;
}

rue_status rue_workload_check_geometry(struct rue_workload *workload, rue_error *error)
{
    struct rue_geometry geometry;
    struct rue_workload_geometry *text = &workload->geometry;
    clear_usual(text->image_size, RUE_USUAL_IMAGE_SIZE);
    clear_usual(text->resize, RUE_USUAL_RESIZE);
    clear_usual(text->crop_pct, RUE_USUAL_CROP_PCT);
    clear_usual(text->mean, RUE_USUAL_NORMAL);
    clear_usual(text->std, RUE_USUAL_NORMAL);
    rue_status status = read_geometry(workload, &geometry, error);
    if (status != RUE_OK) return status;
    if (geometry.interpolation == RUE_INTERPOLATION_RANDOM && !rue_workload_trains(workload))
        return rue_fail(error, RUE_USAGE,
                        "interpolation random: expected bilinear or bicubic, unless transform is train");
    return RUE_OK;
}
