#include "resample.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

struct rue_resample {
    int pillow;
    const struct rue_kernels *kernels;
    uint32_t width, height; /* size of the image that the plan is for; width 0: no plan */
    unsigned eighths;
    struct rue_axis x, y;
    bool vertical_first;
    uint8_t *lines; /* the rows of `rue_resample_rows`: after the horizontal pass, or, if the vertical pass is
                       the first one, their columns of `rue_resample_columns`; one more for its result */
    size_t line_bytes, lines_bytes;
};

void rue_resize_size(uint32_t width, uint32_t height, uint32_t *resized_width, uint32_t *resized_height)
{
    bool tall = width <= height;
    uint64_t shorter = tall ? width : height, longer = tall ? height : width;
    /* Python divides doubles. The quotient of such small integers is never rounded up to the next integer. */
    uint32_t resized = (uint32_t)(RUE_RESIZE * longer / shorter);
    *resized_width = tall ? RUE_RESIZE : resized;
    *resized_height = tall ? resized : RUE_RESIZE;
}

uint32_t rue_crop_offset(uint32_t side)
{
    uint32_t excess = side - RUE_CROP, half = excess / 2;
    return excess % 2 ? half + half % 2 : half;
}

/* Returns `memory` if it is large enough, else new memory, or NULL. The content is lost. */
static void *reserve_bytes(void *memory, size_t *capacity_bytes, size_t bytes)
{
    if (bytes <= *capacity_bytes) return memory;
    free(memory);
    memory = calloc(1, bytes);
    *capacity_bytes = memory ? bytes : 0;
    return memory;
}

/* Not inlined, like `triangle`: fused multiply-adds across them would round differently. */
__attribute__((noinline)) static double output_center(uint32_t output, double scale)
{
    return (output + 0.5) * scale;
}

__attribute__((noinline)) static double triangle(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static void axis_bounds(struct rue_axis *axis, uint32_t offset, double scale, double support)
{
    size_t most = 0;
    for (uint32_t i = 0; i < RUE_CROP; i++) {
        double center = output_center(offset + i, scale);
        int64_t first = (int64_t)(center - support + 0.5), last = (int64_t)(center + support + 0.5);
        if (first < 0) first = 0;
        if (last > axis->in) last = axis->in;
        axis->first[i] = (uint32_t)first;
        axis->count[i] = (uint32_t)(last - first);
        if (axis->count[i] > most) most = axis->count[i];
    }
    axis->taps = (most + RUE_TAP_GROUP - 1) / RUE_TAP_GROUP * RUE_TAP_GROUP;
}

static struct rue_span axis_span(const struct rue_axis *axis)
{
    uint32_t end = axis->first[RUE_CROP - 1] + axis->count[RUE_CROP - 1];
    return (struct rue_span){axis->first[0], end - axis->first[0]};
}

/* Kernels read `taps` values for each output. By how much output `i` must begin earlier, with weights of 0,
 * to read none past the last tap. */
static size_t axis_overrun(const struct rue_axis *axis, uint32_t i)
{
    struct rue_span span = axis_span(axis);
    size_t before = axis->first[i] - span.first, end = before + axis->taps;
    size_t over = end > span.count ? end - span.count : 0;
    return over < before ? over : before;
}

/* Weights of one output, computed in the same order of operations as in Pillow. */
static void axis_set_weights(int32_t *weights, uint32_t first, uint32_t count, double center, double support)
{
    double inverse = 1.0 / support, sum = 0.0;
    for (uint32_t t = 0; t < count; t++) sum += triangle((t + first - center + 0.5) * inverse);
    for (uint32_t t = 0; t < count; t++) {
        double weight = triangle((t + first - center + 0.5) * inverse);
        if (sum != 0.0) weight /= sum;
        weights[t] = (int32_t)(0.5 + weight * (1 << RUE_WEIGHT_BITS));
    }
}

/* The input has `eighths` / 8 of the side, rounded up to whole pixels. */
static rue_status axis_plan(struct rue_axis *axis, uint32_t side, unsigned eighths, uint32_t out,
                            rue_error *error)
{
    double scale = (double)side * eighths / 8 / out, support = scale < 1.0 ? 1.0 : scale;
    uint32_t offset = rue_crop_offset(out);
    axis->in = (uint32_t)(((uint64_t)side * eighths + 7) / 8);
    axis_bounds(axis, offset, scale, support);
    size_t bytes = RUE_CROP * axis->taps * sizeof *axis->weights;
    axis->weights = reserve_bytes(axis->weights, &axis->weights_bytes, bytes);
    if (!axis->weights) return rue_fail_memory(error, "the weights of a resampler", bytes);
    memset(axis->weights, 0, bytes);
    for (uint32_t i = 0; i < RUE_CROP; i++) {
        size_t early = axis_overrun(axis, i);
        axis_set_weights(axis->weights + i * axis->taps + early, axis->first[i], axis->count[i],
                         output_center(offset + i, scale), support);
        axis->first[i] -= (uint32_t)early;
        axis->count[i] += (uint32_t)early;
    }
    return RUE_OK;
}

static rue_status spread_weights(struct rue_axis *axis, rue_error *error)
{
    size_t count = RUE_CROP * axis->taps * RUE_PIXEL_BYTES, bytes = count * sizeof *axis->spread;
    axis->spread = reserve_bytes(axis->spread, &axis->spread_bytes, bytes);
    if (!axis->spread) return rue_fail_memory(error, "the weights of a resampler", bytes);
    for (size_t i = 0; i < count; i++) axis->spread[i] = axis->weights[i / RUE_PIXEL_BYTES];
    return RUE_OK;
}

rue_status rue_resample_open(int pillow, struct rue_resample **out, rue_error *error)
{
    struct rue_resample *resample = calloc(1, sizeof *resample);
    if (!resample) return rue_fail_memory(error, "a resampler", sizeof *resample);
    resample->pillow = pillow;
    resample->kernels = rue_kernels_best();
    *out = resample;
    return RUE_OK;
}

void rue_resample_set_kernels(struct rue_resample *resample, const struct rue_kernels *kernels)
{
    resample->kernels = kernels;
}

void rue_resample_close(struct rue_resample *resample)
{
    if (!resample) return;
    free(resample->x.weights);
    free(resample->y.weights);
    free(resample->x.spread);
    free(resample->lines);
    free(resample);
}

/* Plans both passes from an image of this size. */
static rue_status plan_passes(struct rue_resample *resample, uint32_t width, uint32_t height,
                              unsigned eighths, uint32_t out_width, uint32_t out_height, rue_error *error)
{
    int64_t columns = (int64_t)width - out_width, rows = (int64_t)height - out_height; /* that are removed */
    resample->vertical_first = resample->pillow >= 13 && rows > 0 && rows > 2 * columns;
    resample->width = 0; /* no plan until this one is complete */
    rue_status status = axis_plan(&resample->x, width, eighths, out_width, error);
    if (status == RUE_OK) status = axis_plan(&resample->y, height, eighths, out_height, error);
    if (status == RUE_OK) status = spread_weights(&resample->x, error);
    return status;
}

static rue_status reserve_lines(struct rue_resample *resample, rue_error *error)
{
    size_t row_bytes = rue_resample_columns(resample).count * RUE_PIXEL_BYTES + RUE_RESAMPLE_SLACK_BYTES;
    size_t blocks = (row_bytes + RUE_LINE_BLOCK_BYTES - 1) / RUE_LINE_BLOCK_BYTES;
    resample->line_bytes = resample->vertical_first ? blocks * RUE_LINE_BLOCK_BYTES : RUE_LINE_BYTES;
    size_t bytes = (rue_resample_rows(resample).count + (size_t)1) * resample->line_bytes;
    resample->lines = reserve_bytes(resample->lines, &resample->lines_bytes, bytes);
    return resample->lines ? RUE_OK : rue_fail_memory(error, "resampled rows", bytes);
}

rue_status rue_resample_begin(struct rue_resample *resample, uint32_t width, uint32_t height,
                              unsigned eighths, rue_error *error)
{
    assert(width > 0 && height > 0 && eighths >= 1 && eighths <= 8);
    if (resample->width == width && resample->height == height && resample->eighths == eighths) return RUE_OK;
    uint32_t resized_width, resized_height;
    rue_resize_size(width, height, &resized_width, &resized_height);
    rue_status status = plan_passes(resample, width, height, eighths, resized_width, resized_height, error);
    if (status == RUE_OK) status = reserve_lines(resample, error);
    if (status != RUE_OK) return status;
    resample->width = width;
    resample->height = height;
    resample->eighths = eighths;
    return RUE_OK;
}

static void shift_axis(struct rue_axis *axis, uint32_t by)
{
    for (int i = 0; i < RUE_CROP; i++) axis->first[i] += by;
}

rue_status rue_resample_begin_box(struct rue_resample *resample, struct rue_crop box, rue_error *error)
{
    rue_status status = plan_passes(resample, box.width, box.height, 8, RUE_CROP, RUE_CROP, error);
    if (status != RUE_OK) return status;
    shift_axis(&resample->x, box.left);
    shift_axis(&resample->y, box.top);
    return reserve_lines(resample, error);
}

struct rue_span rue_resample_columns(const struct rue_resample *resample)
{
    return axis_span(&resample->x);
}

struct rue_span rue_resample_rows(const struct rue_resample *resample)
{
    return axis_span(&resample->y);
}

static uint8_t *line_of_row(const struct rue_resample *resample, uint32_t y)
{
    return resample->lines + (size_t)(y - resample->y.first[0]) * resample->line_bytes;
}

void rue_resample_row(struct rue_resample *resample, uint32_t y, const uint8_t *row, uint32_t column)
{
    struct rue_span rows = rue_resample_rows(resample), columns = rue_resample_columns(resample);
    (void)rows; /* without assertions */
    assert(y >= rows.first && y - rows.first < rows.count && column <= columns.first);
    uint8_t *line = line_of_row(resample, y);
    if (resample->vertical_first)
        memcpy(line, row + (size_t)(columns.first - column) * RUE_PIXEL_BYTES,
               (size_t)columns.count * RUE_PIXEL_BYTES);
    else
        resample->kernels->horizontal(&resample->x, row, column, line);
}

/* Row `y` of the crop. */
static void resample_line(const struct rue_resample *resample, size_t y, uint8_t *line)
{
    const struct rue_axis *axis = &resample->y;
    struct rue_span rows = rue_resample_rows(resample);
    uint8_t *combined = resample->vertical_first ? line_of_row(resample, rows.first + rows.count) : line;
    resample->kernels->vertical(axis->weights + y * axis->taps, axis->count[y],
                                line_of_row(resample, axis->first[y]), resample->line_bytes, combined);
    if (resample->vertical_first)
        resample->kernels->horizontal(&resample->x, combined, resample->x.first[0], line);
}

static void put_line(const struct rue_resample *resample, size_t y, const uint8_t *line, enum rue_dtype dtype,
                     void *out)
{
    if (dtype == RUE_UINT8)
        resample->kernels->planes(line, (uint8_t *)out + y * RUE_CROP);
    else
        resample->kernels->normalized_planes(line, (float *)out + y * RUE_CROP);
}

void rue_resample_end(struct rue_resample *resample, enum rue_dtype dtype, void *out)
{
    uint8_t line[RUE_LINE_BYTES];
    for (size_t y = 0; y < RUE_CROP; y++) {
        resample_line(resample, y, line);
        put_line(resample, y, line, dtype, out);
    }
}

void rue_resample_pixels(struct rue_resample *resample, uint8_t *pixels)
{
    for (size_t y = 0; y < RUE_CROP; y++) resample_line(resample, y, pixels + y * RUE_LINE_BYTES);
}

void rue_resample_planes(const struct rue_resample *resample, const uint8_t *pixels, enum rue_dtype dtype,
                         void *out)
{
    for (size_t y = 0; y < RUE_CROP; y++) put_line(resample, y, pixels + y * RUE_LINE_BYTES, dtype, out);
}
