#include "transform.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "decoder.h"
#include "pixels.h"
#include "resample.h"

/* Rows decoded at once: few enough to stay in the cache until they are resampled. */
enum { STRIP_ROWS = 16 };

_Static_assert((int)RUE_IMAGE_PIXEL_BYTES == (int)RUE_PIXEL_BYTES, "the resampler takes decoded rows");

/* One of the images that are made of a decoded one. */
struct view {
    struct rue_resample *resample;
    const struct rue_recipe *recipe;
    struct rue_frame frame;
    struct rue_augmentation one;
};

struct rue_transform {
    struct rue_geometry geometry;
    struct rue_decoder *decoder;
    struct rue_views recipes;
    struct view *views; /* [view_count]; without recipes one */
    uint32_t view_count;
    struct rue_normal normal;
    const struct rue_kernels *kernels;
    uint8_t *strip;
    size_t strip_bytes;
    uint8_t *pixels, *scratch; /* of a crop, for training */
};

/* The short side that a decoded image must have at least, for RUE_DECODE_FAST; 0: all of its pixels. */
static uint32_t least_side(const struct rue_geometry *geometry)
{
    if (geometry->resize == RUE_RESIZE_NONE) return 0;
    return geometry->resize_height > geometry->resize_width ? geometry->resize_height
                                                            : geometry->resize_width;
}

static uint8_t mean_level(float mean)
{
    float level = rintf(255 * mean);
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

/* As timm: geometric operations use the filter of the crop, and show the mean outside. */
static struct rue_frame make_frame(const struct rue_geometry *geometry)
{
    static const enum rue_sampling samplings[] = {[RUE_BILINEAR] = RUE_SAMPLING_BILINEAR,
                                                  [RUE_BICUBIC] = RUE_SAMPLING_BICUBIC,
                                                  [RUE_INTERPOLATION_RANDOM] = RUE_SAMPLING_RANDOM};
    struct rue_frame frame = {geometry->width, geometry->height, samplings[geometry->interpolation], {0}};
    for (uint32_t c = 0; c < RUE_CHANNELS; c++)
        frame.fill[c] = mean_level(geometry->mean[geometry->channels == 1 ? 0 : c]);
    return frame;
}

static rue_status open_views(struct rue_transform *transform, rue_error *error)
{
    const struct rue_views *recipes = &transform->recipes;
    uint32_t count = recipes->count ? recipes->count : 1;
    rue_status status = RUE_OK;
    transform->views = calloc(count, sizeof *transform->views);
    if (!transform->views) return rue_fail_memory(error, "views", count * sizeof *transform->views);
    for (; status == RUE_OK && transform->view_count < count; transform->view_count++) {
        const struct rue_view *view = &recipes->at[transform->view_count];
        const struct rue_geometry geometry = rue_view_geometry(view, &transform->geometry);
        struct view *into = &transform->views[transform->view_count];
        into->recipe = &view->recipe;
        into->frame = make_frame(&geometry);
        status = rue_resample_open(&geometry, RUE_PILLOW, &into->resample, error);
    }
    return status;
}

rue_status rue_transform_open(const struct rue_transform_options *options, struct rue_transform **out,
                              rue_error *error)
{
    struct rue_transform *transform = calloc(1, sizeof *transform);
    if (!transform) return rue_fail_memory(error, "a transform", sizeof *transform);
    const struct rue_geometry *geometry = &transform->geometry;
    transform->geometry = options->geometry;
    if (options->views) transform->recipes = *options->views;
    transform->kernels = rue_kernels_normal(geometry->mean, geometry->std, &transform->normal);
    uint32_t side = options->decode == RUE_DECODE_FAST ? least_side(geometry) : 0;
    rue_status status =
        rue_decoder_open(options->max_pixels, side, options->orientation, &transform->decoder, error);
    if (status == RUE_OK) status = open_views(transform, error);
    if (status != RUE_OK) {
        rue_transform_close(transform);
        return status;
    }
    *out = transform;
    return RUE_OK;
}

void rue_transform_close(struct rue_transform *transform)
{
    if (!transform) return;
    rue_decoder_close(transform->decoder);
    for (uint32_t v = 0; v < transform->view_count; v++) rue_resample_close(transform->views[v].resample);
    free(transform->views);
    free(transform->strip);
    free(transform->pixels);
    free(transform->scratch);
    free(transform);
}

static rue_status reserve_strip(struct rue_transform *transform, size_t stride, rue_error *error)
{
    size_t bytes = STRIP_ROWS * stride + RUE_RESAMPLE_SLACK_BYTES;
    if (bytes <= transform->strip_bytes) return RUE_OK;
    free(transform->strip);
    transform->strip_bytes = 0;
    transform->strip = calloc(1, bytes); /* zeros, because the slack is read before it is written */
    if (!transform->strip) return rue_fail_memory(error, "decoded rows", bytes);
    transform->strip_bytes = bytes;
    return RUE_OK;
}

/* Pillow's convert("L"), in all channels. */
static void make_grey(uint8_t *pixels, size_t count)
{
    for (uint8_t *p = pixels; p < pixels + count * RUE_PIXEL_BYTES; p += RUE_PIXEL_BYTES)
        p[0] = p[1] = p[2] = (uint8_t)((p[0] * 19595U + p[1] * 38470U + p[2] * 7471U + 0x8000) >> 16);
}

/* The smallest span with both. */
static struct rue_span join_spans(struct rue_span a, struct rue_span b)
{
    uint32_t first = a.first < b.first ? a.first : b.first, end = a.first + a.count,
             other = b.first + b.count;
    return (struct rue_span){first, (end > other ? end : other) - first};
}

/* Resamples `count` decoded rows from row `first` on, as far as the view needs them. */
static void resample_strip(struct rue_resample *resample, uint32_t first, uint32_t count,
                           const uint8_t *strip, size_t stride, uint32_t column)
{
    struct rue_span needs = rue_resample_rows(resample);
    uint32_t begin = first < needs.first ? needs.first - first : 0, end = needs.first + needs.count;
    for (uint32_t i = begin; i < count && first + i < end; i++)
        rue_resample_row(resample, first + i, strip + i * stride, column);
}

/* Decodes the rows that the views need, each from column `column`, and resamples them. */
static rue_status resample_rows(struct rue_transform *transform, uint32_t views, struct rue_span rows,
                                uint32_t column, size_t stride, rue_error *error)
{
    rue_status status = RUE_OK;
    for (uint32_t done = 0; status == RUE_OK && done < rows.count; done += STRIP_ROWS) {
        uint32_t count = rows.count - done < STRIP_ROWS ? rows.count - done : STRIP_ROWS;
        status = rue_decoder_rows(transform->decoder, count, transform->strip, stride, error);
        if (transform->geometry.channels == 1) make_grey(transform->strip, count * stride / RUE_PIXEL_BYTES);
        for (uint32_t v = 0; status == RUE_OK && v < views; v++)
            resample_strip(transform->views[v].resample, rows.first + done, count, transform->strip, stride,
                           column);
    }
    return status == RUE_OK ? rue_decoder_end(transform->decoder, error) : status;
}

/* Decodes what the plans of the first `views` resamplers need. */
static rue_status resample_image(struct rue_transform *transform, uint32_t views, rue_error *error)
{
    const struct view *view = transform->views;
    struct rue_span columns = rue_resample_columns(view->resample), rows = rue_resample_rows(view->resample);
    for (uint32_t v = 1; v < views; v++) {
        columns = join_spans(columns, rue_resample_columns(view[v].resample));
        rows = join_spans(rows, rue_resample_rows(view[v].resample));
    }
    rue_status status =
        rue_decoder_crop(transform->decoder, &columns.first, &columns.count, rows.first, error);
    size_t stride = (size_t)columns.count * RUE_IMAGE_PIXEL_BYTES;
    if (status == RUE_OK) status = reserve_strip(transform, stride, error);
    return status == RUE_OK ? resample_rows(transform, views, rows, columns.first, stride, error) : status;
}

rue_status rue_transform_jpeg(struct rue_transform *transform, const void *jpeg, size_t bytes,
                              enum rue_dtype dtype, void *out, rue_error *error)
{
    struct rue_image_size size;
    struct rue_resample *resample = transform->views->resample;
    rue_status status = rue_decoder_begin(transform->decoder, jpeg, bytes, &size, error);
    if (status != RUE_OK) return status;
    status = rue_resample_begin(resample, size.full_width, size.full_height, size.eighths,
                                rue_resample_centre(&transform->geometry, size.full_width, size.full_height),
                                error);
    if (status == RUE_OK) status = resample_image(transform, 1, error);
    if (status != RUE_OK) return status;
    rue_resample_end(resample, dtype, out);
    return RUE_OK;
}

rue_status rue_transform_verify(struct rue_transform *transform, const void *jpeg, size_t bytes,
                                rue_error *error)
{
    return rue_decoder_verify(transform->decoder, jpeg, bytes, error);
}

static rue_status reserve_pixels(struct rue_transform *transform, rue_error *error)
{
    size_t most = 0;
    for (uint32_t v = 0; v < transform->view_count; v++) {
        size_t pixels = (size_t)transform->views[v].frame.width * transform->views[v].frame.height;
        if (pixels > most) most = pixels;
    }
    size_t bytes = most * RUE_PIXEL_BYTES + RUE_LINE_BLOCK_BYTES;
    if (!transform->pixels) transform->pixels = malloc(bytes);
    if (!transform->scratch) transform->scratch = malloc(bytes);
    if (transform->pixels && transform->scratch) return RUE_OK;
    return rue_fail_memory(error, "an image", 2 * bytes);
}

/* Where RandomCrop begins; `u` is uniform in [0, 1). A side that is too short with its border gets as much on
 * both sides as it lacks, as with pad_if_needed. */
static int32_t random_offset(uint32_t side, uint32_t crop, float padding, float u)
{
    int64_t border = (int64_t)padding, whole = side + 2 * border;
    if (whole < crop) {
        border += crop - whole;
        whole += 2 * (crop - whole);
    }
    return (int32_t)((int64_t)((double)u * (double)(whole - crop + 1)) - border);
}

static struct rue_augmentation_key view_key(const struct rue_training *training, uint32_t view)
{
    struct rue_augmentation_key key = training->key;
    key.stream += view;
    return key;
}

/* Draws the parameters of view `v`, and plans its crop. */
static rue_status plan_view(struct rue_transform *transform, uint32_t v, const struct rue_training *training,
                            const struct rue_image_size *size, rue_error *error)
{
    struct view *view = &transform->views[v];
    const struct rue_recipe *recipe = view->recipe;
    const struct rue_augmentation_key key = view_key(training, v);
    struct rue_augmentation *one = &view->one;
    uint32_t width = size->full_width, height = size->full_height;
    rue_augmentation_draw(recipe, &key, training->item, 1, one, 1);
    if (transform->geometry.interpolation == RUE_INTERPOLATION_RANDOM)
        rue_resample_set_interpolation(view->resample, rue_augmentation_interpolation(&key, training->item));
    if (recipe->random_crop[0] == 0)
        return rue_resample_begin_box(view->resample, rue_augmentation_crop(recipe, &key, one, width, height),
                                      error);
    const struct rue_geometry geometry = rue_view_geometry(&transform->recipes.at[v], &transform->geometry);
    struct rue_placement at = rue_resample_centre(&geometry, width, height);
    at.left = random_offset(at.width, geometry.width, recipe->random_crop[1], one->x);
    at.top = random_offset(at.height, geometry.height, recipe->random_crop[1], one->y);
    return rue_resample_begin(view->resample, width, height, size->eighths, at, error);
}

rue_status rue_transform_train(struct rue_transform *transform, const void *jpeg, size_t bytes,
                               const struct rue_training *training, enum rue_dtype dtype, void *const out[],
                               rue_error *error)
{
    struct rue_image_size size;
    uint32_t count = transform->recipes.count;
    assert(count > 0);
    rue_status status = reserve_pixels(transform, error);
    if (status == RUE_OK) status = rue_decoder_begin(transform->decoder, jpeg, bytes, &size, error);
    for (uint32_t v = 0; status == RUE_OK && v < count; v++)
        status = plan_view(transform, v, training, &size, error);
    if (status == RUE_OK) status = resample_image(transform, count, error);
    for (uint32_t v = 0; status == RUE_OK && v < count; v++) {
        const struct view *view = &transform->views[v];
        const struct rue_augmentation_key key = view_key(training, v);
        rue_resample_pixels(view->resample, transform->pixels);
        rue_pixels_augment(view->recipe, &view->one, &key, &view->frame, transform->pixels,
                           transform->scratch);
        rue_resample_planes(view->resample, transform->pixels, dtype, out[v]);
    }
    return status;
}

void rue_transform_copy(const void *from, size_t bytes, void *to)
{
    rue_kernels_best()->copy(from, bytes, to);
}

/* The multiplication moves the exponent, also of subnormal values. */
static float widen_half(uint16_t half)
{
    union {
        uint32_t bits;
        float value;
    } wide = {(uint32_t)(half & 0x7FFF) << 13};
    wide.value *= 0x1p112F;
    if ((half & 0x7C00) == 0x7C00) wide.bits |= UINT32_C(0xFF) << 23; /* infinite, or not a number */
    wide.bits |= (uint32_t)(half & 0x8000) << 16;
    return wide.value;
}

static void normalize_levels(const struct rue_transform *transform, const uint8_t *levels, size_t count,
                             float *out)
{
    size_t channels = transform->geometry.channels, plane = count / channels;
    if (transform->geometry.layout == RUE_NHWC)
        for (size_t i = 0; i < count; i++) out[i] = transform->normal.value[i % channels][levels[i]];
    else
        for (size_t c = 0; c < channels; c++)
            transform->kernels->normalize(&transform->normal, (int)c, levels + c * plane, plane,
                                          out + c * plane);
}

void rue_transform_convert(const struct rue_transform *transform, const uint32_t shape[3],
                           enum rue_dtype dtype, const void *from, float *out)
{
    size_t count = (size_t)shape[0] * shape[1] * shape[2];
    const uint8_t *levels = from;
    const uint16_t *halves = from;
    if (dtype == RUE_FLOAT32)
        rue_transform_copy(from, count * sizeof *out, out);
    else if (dtype == RUE_FLOAT16)
        for (size_t i = 0; i < count; i++) out[i] = widen_half(halves[i]);
    else if (rue_geometry_has_channels(&transform->geometry, shape))
        normalize_levels(transform, levels, count, out);
    else
        for (size_t i = 0; i < count; i++) out[i] = (float)levels[i] / 255.0F;
}
