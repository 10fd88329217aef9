#include "transform.h"

#include <stdlib.h>

#include "jpeg.h"
#include "pixels.h"
#include "resample.h"

/* Rows decoded at once: few enough to stay in the cache until they are resampled. */
enum { STRIP_ROWS = 16, PIXELS_BYTES = RUE_PLANE * RUE_PIXEL_BYTES };

_Static_assert((int)RUE_JPEG_PIXEL_BYTES == (int)RUE_PIXEL_BYTES, "the resampler takes decoded rows");

struct rue_transform {
    struct rue_jpeg *jpeg;
    struct rue_resample *resample;
    uint8_t *strip;
    size_t strip_bytes;
    uint8_t *pixels; /* [2 * PIXELS_BYTES], for training */
};

rue_status rue_transform_open(uint64_t max_pixels, enum rue_decode decode, struct rue_transform **out,
                              rue_error *error)
{
    struct rue_transform *transform = calloc(1, sizeof *transform);
    if (!transform) return rue_fail_memory(error, "a transform", sizeof *transform);
    rue_status status =
        rue_jpeg_open(max_pixels, decode == RUE_DECODE_FAST ? RUE_RESIZE : 0, &transform->jpeg, error);
    if (status == RUE_OK) status = rue_resample_open(RUE_PILLOW, &transform->resample, error);
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
    rue_jpeg_close(transform->jpeg);
    rue_resample_close(transform->resample);
    free(transform->strip);
    free(transform->pixels);
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

/* Decodes the rows of the crop, each from column `column`, and resamples them. */
static rue_status resample_rows(struct rue_transform *transform, struct rue_span rows, uint32_t column,
                                size_t stride, rue_error *error)
{
    rue_status status = RUE_OK;
    for (uint32_t done = 0; status == RUE_OK && done < rows.count; done += STRIP_ROWS) {
        uint32_t count = rows.count - done < STRIP_ROWS ? rows.count - done : STRIP_ROWS;
        status = rue_jpeg_rows(transform->jpeg, count, transform->strip, stride, error);
        for (uint32_t i = 0; status == RUE_OK && i < count; i++)
            rue_resample_row(transform->resample, rows.first + done + i, transform->strip + i * stride,
                             column);
    }
    return status == RUE_OK ? rue_jpeg_end(transform->jpeg, error) : status;
}

/* Decodes what the plan of the resampler needs. */
static rue_status resample_image(struct rue_transform *transform, rue_error *error)
{
    struct rue_span columns = rue_resample_columns(transform->resample),
                    rows = rue_resample_rows(transform->resample);
    rue_status status = rue_jpeg_crop(transform->jpeg, &columns.first, &columns.count, rows.first, error);
    size_t stride = (size_t)columns.count * RUE_JPEG_PIXEL_BYTES;
    if (status == RUE_OK) status = reserve_strip(transform, stride, error);
    return status == RUE_OK ? resample_rows(transform, rows, columns.first, stride, error) : status;
}

rue_status rue_transform_jpeg(struct rue_transform *transform, const void *jpeg, size_t bytes,
                              enum rue_dtype dtype, void *out, rue_error *error)
{
    struct rue_jpeg_size size;
    rue_status status = rue_jpeg_begin(transform->jpeg, jpeg, bytes, &size, error);
    if (status == RUE_OK)
        status =
            rue_resample_begin(transform->resample, size.full_width, size.full_height, size.eighths, error);
    if (status == RUE_OK) status = resample_image(transform, error);
    if (status != RUE_OK) return status;
    rue_resample_end(transform->resample, dtype, out);
    return RUE_OK;
}

rue_status rue_transform_verify(struct rue_transform *transform, const void *jpeg, size_t bytes,
                                rue_error *error)
{
    return rue_jpeg_verify(transform->jpeg, jpeg, bytes, error);
}

static rue_status reserve_pixels(struct rue_transform *transform, rue_error *error)
{
    if (!transform->pixels) transform->pixels = malloc(2 * PIXELS_BYTES);
    return transform->pixels ? RUE_OK : rue_fail_memory(error, "an image", 2 * PIXELS_BYTES);
}

rue_status rue_transform_train(struct rue_transform *transform, const void *jpeg, size_t bytes,
                               const struct rue_training *training, enum rue_dtype dtype, void *out,
                               rue_error *error)
{
    struct rue_augmentation one;
    struct rue_jpeg_size size;
    rue_status status = reserve_pixels(transform, error);
    if (status == RUE_OK) status = rue_jpeg_begin(transform->jpeg, jpeg, bytes, &size, error);
    if (status != RUE_OK) return status;
    rue_augmentation_draw(training->recipe, &training->key, training->item, 1, &one, 1);
    status = rue_resample_begin_box(
        transform->resample,
        rue_augmentation_crop(training->recipe, &training->key, &one, size.full_width, size.full_height),
        error);
    if (status == RUE_OK) status = resample_image(transform, error);
    if (status != RUE_OK) return status;
    rue_resample_pixels(transform->resample, transform->pixels);
    rue_pixels_augment(&one, &training->key, RUE_CROP, RUE_CROP, transform->pixels,
                       transform->pixels + PIXELS_BYTES);
    rue_resample_planes(transform->resample, transform->pixels, dtype, out);
    return RUE_OK;
}

void rue_transform_copy(const void *from, size_t bytes, void *to)
{
    rue_kernels_best()->copy(from, bytes, to);
}

void rue_transform_normalize(const uint8_t *levels, float *out)
{
    const struct rue_kernels *kernels = rue_kernels_best();
    for (int c = 0; c < RUE_CHANNELS; c++)
        kernels->normalize(c, levels + (size_t)c * RUE_PLANE, RUE_PLANE, out + (size_t)c * RUE_PLANE);
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

void rue_transform_convert(const uint32_t shape[3], enum rue_dtype dtype, const void *from, float *out)
{
    size_t plane = (size_t)shape[1] * shape[2], count = shape[0] * plane;
    const uint8_t *levels = from;
    const uint16_t *halves = from;
    if (dtype == RUE_FLOAT32)
        rue_transform_copy(from, count * sizeof *out, out);
    else if (dtype == RUE_FLOAT16)
        for (size_t i = 0; i < count; i++) out[i] = widen_half(halves[i]);
    else if (shape[0] == RUE_CHANNELS)
        for (size_t c = 0; c < RUE_CHANNELS; c++)
            rue_kernels_best()->normalize((int)c, levels + c * plane, plane, out + c * plane);
    else
        for (size_t i = 0; i < count; i++) out[i] = (float)levels[i] / 255.0F;
}
