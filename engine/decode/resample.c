#include "resample.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "units.h"

enum { SIDE_MAX = INT32_MAX / 2, LINES_BYTES_MAX = 1100000000 };

_Static_assert(RUE_RESAMPLE_SLACK_BYTES == (RUE_TAP_GROUP - 1) * RUE_PIXEL_BYTES, "what kernels read");

struct rue_resample {
    struct rue_geometry geometry;
    int pillow;
    const struct rue_kernels *kernels;
    struct rue_normal normal;
    uint32_t width, height; /* size of the image that the plan is for; width 0: no plan */
    unsigned eighths;
    struct rue_placement placement;
    struct rue_axis x, y;
    bool vertical_first;
    uint8_t *lines; /* the rows of `rue_resample_rows`: after the horizontal pass, or, if the vertical pass is
                       the first one, their columns of `rue_resample_columns`; one more for its result, and
                       one for a row of the crop */
    size_t line_bytes, lines_bytes;
};

/* A side of an output and the part of it that is the crop. */
struct side {
    uint32_t in, out;
    int32_t offset;
    uint32_t crop;
};

static uint32_t long_side(uint32_t shorter, uint32_t in_short, uint32_t in_long)
{
    /* Python divides doubles. The quotient of such small integers is never rounded up to the next integer. */
    uint64_t longer = (uint64_t)shorter * in_long / in_short;
    return longer < UINT32_MAX ? (uint32_t)longer : UINT32_MAX;
}

static int32_t centre_offset(uint32_t side, uint32_t crop)
{
    if (side < crop) return -(int32_t)((crop - side) / 2);
    uint32_t excess = side - crop, half = excess / 2;
    return (int32_t)(excess % 2 ? half + half % 2 : half);
}

struct rue_placement rue_resample_centre(const struct rue_geometry *geometry, uint32_t width, uint32_t height)
{
    struct rue_placement out = {.width = width, .height = height};
    uint32_t shorter = geometry->resize_height;
    if (geometry->resize == RUE_RESIZE_EXACT) {
        out.width = geometry->resize_width;
        out.height = geometry->resize_height;
    } else if (geometry->resize == RUE_RESIZE_SHORT) {
        out.width = width <= height ? shorter : long_side(shorter, height, width);
        out.height = width <= height ? long_side(shorter, width, height) : shorter;
    }
    out.left = centre_offset(out.width, geometry->width);
    out.top = centre_offset(out.height, geometry->height);
    return out;
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

/* Not inlined, like the filters: fused multiply-adds across them would round differently. */
__attribute__((noinline)) static double output_center(int64_t output, double scale)
{
    return ((double)output + 0.5) * scale;
}

__attribute__((noinline)) static double triangle(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

__attribute__((noinline)) static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
}

static const struct {
    double (*weight)(double x);
    double support;
} filters[] = {[RUE_BILINEAR] = {triangle, 1.0}, [RUE_BICUBIC] = {cubic, 2.0}};

/* Which part of the input each output needs; none outside the image. */
static void axis_bounds(struct rue_axis *axis, const struct side *side, double scale, double support)
{
    uint32_t lowest = UINT32_MAX, end = 0;
    size_t most = 1;
    for (uint32_t i = 0; i < axis->outputs; i++) {
        int64_t output = (int64_t)side->offset + i;
        axis->count[i] = 0;
        if (i >= side->crop || output < 0 || output >= side->out) continue;
        double center = output_center(output, scale);
        int64_t first = (int64_t)(center - support + 0.5), last = (int64_t)(center + support + 0.5);
        if (first < 0) first = 0;
        if (last > axis->in) last = axis->in;
        axis->first[i] = (uint32_t)first;
        axis->count[i] = (uint32_t)(last - first);
        if (axis->count[i] > most) most = axis->count[i];
        if (axis->first[i] < lowest) lowest = axis->first[i];
        if (last > end) end = (uint32_t)last;
    }
    axis->span = end ? (struct rue_span){lowest, end - lowest} : (struct rue_span){0, 1};
    axis->taps = (most + RUE_TAP_GROUP - 1) / RUE_TAP_GROUP * RUE_TAP_GROUP;
}

/* Kernels read `taps` values for each output. By how much output `i` must begin earlier, with weights of 0,
 * to read none past the last tap. */
static size_t axis_overrun(const struct rue_axis *axis, uint32_t i)
{
    size_t before = axis->first[i] - axis->span.first, end = before + axis->taps;
    size_t over = end > axis->span.count ? end - axis->span.count : 0;
    return over < before ? over : before;
}

/* Weights of one output, computed in the same order of operations as in Pillow. */
static void axis_set_weights(enum rue_interpolation interpolation, int32_t *weights, uint32_t first,
                             uint32_t count, double center, double scale)
{
    double (*filter)(double) = filters[interpolation].weight;
    double inverse = 1.0 / scale, sum = 0.0;
    for (uint32_t t = 0; t < count; t++) sum += filter((t + first - center + 0.5) * inverse);
    for (uint32_t t = 0; t < count; t++) {
        double weight = filter((t + first - center + 0.5) * inverse);
        if (sum != 0.0) weight /= sum;
        weights[t] = (int32_t)((weight < 0 ? -0.5 : 0.5) + weight * (1 << RUE_WEIGHT_BITS));
    }
}

static rue_status reserve_bounds(struct rue_axis *axis, uint32_t crop, rue_error *error)
{
    axis->outputs = (crop + RUE_OUTPUT_GROUP - 1) / RUE_OUTPUT_GROUP * RUE_OUTPUT_GROUP;
    size_t bytes = 2 * axis->outputs * sizeof *axis->first;
    axis->first = reserve_bytes(axis->first, &axis->bounds_bytes, bytes);
    if (!axis->first) return rue_fail_memory(error, "the plan of a resampler", bytes);
    axis->count = axis->first + axis->outputs;
    return RUE_OK;
}

static rue_status axis_set_all_weights(struct rue_axis *axis, enum rue_interpolation interpolation,
                                       int32_t offset, double scale, rue_error *error)
{
    size_t bytes = axis->outputs * axis->taps * sizeof *axis->weights;
    axis->weights = reserve_bytes(axis->weights, &axis->weights_bytes, bytes);
    if (!axis->weights) return rue_fail_memory(error, "the weights of a resampler", bytes);
    memset(axis->weights, 0, bytes);
    for (uint32_t i = 0; i < axis->outputs; i++) {
        if (axis->count[i] == 0) {
            axis->first[i] = axis->span.first;
            axis->count[i] = 1;
            continue;
        }
        size_t early = axis_overrun(axis, i);
        axis_set_weights(interpolation, axis->weights + i * axis->taps + early, axis->first[i],
                         axis->count[i], output_center((int64_t)offset + i, scale),
                         scale < 1.0 ? 1.0 : scale);
        axis->first[i] -= (uint32_t)early;
        axis->count[i] += (uint32_t)early;
    }
    return RUE_OK;
}

/* The input has `eighths` / 8 of the side, rounded up to whole pixels. */
static rue_status axis_plan(struct rue_axis *axis, enum rue_interpolation interpolation,
                            const struct side *side, unsigned eighths, rue_error *error)
{
    double scale = (double)side->in * eighths / 8 / side->out;
    double support = filters[interpolation].support * (scale < 1.0 ? 1.0 : scale);
    axis->in = (uint32_t)(((uint64_t)side->in * eighths + 7) / 8);
    rue_status status = reserve_bounds(axis, side->crop, error);
    if (status != RUE_OK) return status;
    axis_bounds(axis, side, scale, support);
    return axis_set_all_weights(axis, interpolation, side->offset, scale, error);
}

static void spread_weight(struct rue_axis *axis, size_t i, size_t t)
{
    int32_t weight = axis->weights[i * axis->taps + t];
    size_t groups = axis->taps / RUE_TAP_GROUP, group = i / 2 * groups + t / RUE_TAP_GROUP;
    int16_t *at = axis->spread + group * RUE_SPREAD_GROUP + t % RUE_TAP_GROUP / 2 * RUE_SPREAD_LAST +
                  i % 2 * 2 * RUE_PIXEL_BYTES + t % 2;
    for (size_t c = 0; c < RUE_PIXEL_BYTES; c++, at += 2) {
        at[0] = (int16_t)(weight >> RUE_WEIGHT_LOWER_BITS);
        at[RUE_SPREAD_LOWER] = (int16_t)(weight & ((1 << RUE_WEIGHT_LOWER_BITS) - 1));
    }
}

static rue_status spread_weights(struct rue_axis *axis, rue_error *error)
{
    size_t groups = axis->outputs / 2 * axis->taps / RUE_TAP_GROUP,
           bytes = groups * RUE_SPREAD_GROUP * sizeof *axis->spread;
    axis->spread = reserve_bytes(axis->spread, &axis->spread_bytes, bytes);
    if (!axis->spread) return rue_fail_memory(error, "the weights of a resampler", bytes);
    for (size_t i = 0; i < axis->outputs; i++)
        for (size_t t = 0; t < axis->taps; t++) spread_weight(axis, i, t);
    return RUE_OK;
}

rue_status rue_resample_open(const struct rue_geometry *geometry, int pillow, struct rue_resample **out,
                             rue_error *error)
{
    struct rue_resample *resample = calloc(1, sizeof *resample);
    if (!resample) return rue_fail_memory(error, "a resampler", sizeof *resample);
    resample->geometry = *geometry;
    if (geometry->interpolation == RUE_INTERPOLATION_RANDOM) resample->geometry.interpolation = RUE_BILINEAR;
    resample->pillow = pillow;
    resample->kernels = rue_kernels_normal(geometry->mean, geometry->std, &resample->normal);
    *out = resample;
    return RUE_OK;
}

void rue_resample_set_kernels(struct rue_resample *resample, const struct rue_kernels *kernels)
{
    resample->kernels = kernels;
}

void rue_resample_set_interpolation(struct rue_resample *resample, enum rue_interpolation interpolation)
{
    if (interpolation != resample->geometry.interpolation) resample->width = 0; /* no plan */
    resample->geometry.interpolation = interpolation;
}

static void free_axis(struct rue_axis *axis)
{
    free(axis->first);
    free(axis->weights);
    free(axis->spread);
}

void rue_resample_close(struct rue_resample *resample)
{
    if (!resample) return;
    free_axis(&resample->x);
    free_axis(&resample->y);
    free(resample->lines);
    free(resample);
}

/* Plans both passes. */
static rue_status plan_passes(struct rue_resample *resample, const struct side *x, const struct side *y,
                              unsigned eighths, rue_error *error)
{
    enum rue_interpolation interpolation = resample->geometry.interpolation;
    int64_t columns = (int64_t)x->in - x->out, rows = (int64_t)y->in - y->out; /* that are removed */
    resample->vertical_first = resample->pillow >= 13 && rows > 0 && rows > 2 * columns;
    resample->width = 0; /* no plan until this one is complete */
    rue_status status = axis_plan(&resample->x, interpolation, x, eighths, error);
    if (status == RUE_OK) status = axis_plan(&resample->y, interpolation, y, eighths, error);
    if (status == RUE_OK) status = spread_weights(&resample->x, error);
    return status;
}

static size_t whole_blocks(size_t bytes)
{
    return (bytes + RUE_LINE_BLOCK_BYTES - 1) / RUE_LINE_BLOCK_BYTES * RUE_LINE_BLOCK_BYTES;
}

static size_t crop_line_bytes(const struct rue_resample *resample)
{
    return whole_blocks((size_t)resample->geometry.width * RUE_PIXEL_BYTES);
}

static rue_status reserve_lines(struct rue_resample *resample, rue_error *error)
{
    size_t columns = (size_t)rue_resample_columns(resample).count * RUE_PIXEL_BYTES;
    resample->line_bytes = resample->vertical_first ? whole_blocks(columns + RUE_RESAMPLE_SLACK_BYTES)
                                                    : crop_line_bytes(resample);
    size_t bytes =
        (rue_resample_rows(resample).count + (size_t)1) * resample->line_bytes + crop_line_bytes(resample);
    if (bytes > LINES_BYTES_MAX) {
        char needs[RUE_UNIT_TEXT_BYTES], limit[RUE_UNIT_TEXT_BYTES];
        return rue_fail(error, RUE_DATA,
                        "needs %s of memory to be resized, and the limit is %s: make it smaller",
                        rue_format_bytes(bytes, needs, sizeof needs),
                        rue_format_bytes(LINES_BYTES_MAX, limit, sizeof limit));
    }
    resample->lines = reserve_bytes(resample->lines, &resample->lines_bytes, bytes);
    return resample->lines ? RUE_OK : rue_fail_memory(error, "resampled rows", bytes);
}

static bool is_planned(const struct rue_resample *resample, uint32_t width, uint32_t height, unsigned eighths,
                       const struct rue_placement *placement)
{
    const struct rue_placement *is = &resample->placement;
    return resample->width == width && resample->height == height && resample->eighths == eighths &&
           is->width == placement->width && is->height == placement->height && is->left == placement->left &&
           is->top == placement->top;
}

rue_status rue_resample_begin(struct rue_resample *resample, uint32_t width, uint32_t height,
                              unsigned eighths, struct rue_placement placement, rue_error *error)
{
    assert(width > 0 && height > 0 && eighths >= 1 && eighths <= 8);
    if (is_planned(resample, width, height, eighths, &placement)) return RUE_OK;
    if (placement.width > SIDE_MAX || placement.height > SIDE_MAX)
        return rue_fail(error, RUE_DATA,
                        "has %u x %u pixels, a side too long to be resized: cut it into parts", width,
                        height);
    const struct side x = {width, placement.width, placement.left, resample->geometry.width},
                      y = {height, placement.height, placement.top, resample->geometry.height};
    rue_status status = plan_passes(resample, &x, &y, eighths, error);
    if (status == RUE_OK) status = reserve_lines(resample, error);
    if (status != RUE_OK) return status;
    resample->width = width;
    resample->height = height;
    resample->eighths = eighths;
    resample->placement = placement;
    return RUE_OK;
}

static void shift_axis(struct rue_axis *axis, uint32_t by)
{
    for (uint32_t i = 0; i < axis->outputs; i++) axis->first[i] += by;
    axis->span.first += by;
}

rue_status rue_resample_begin_box(struct rue_resample *resample, struct rue_crop box, rue_error *error)
{
    const struct rue_geometry *geometry = &resample->geometry;
    const struct side x = {box.width, geometry->width, 0, geometry->width},
                      y = {box.height, geometry->height, 0, geometry->height};
    rue_status status = plan_passes(resample, &x, &y, 8, error);
    if (status != RUE_OK) return status;
    shift_axis(&resample->x, box.left);
    shift_axis(&resample->y, box.top);
    return reserve_lines(resample, error);
}

struct rue_span rue_resample_columns(const struct rue_resample *resample)
{
    return resample->x.span;
}

struct rue_span rue_resample_rows(const struct rue_resample *resample)
{
    return resample->y.span;
}

static uint8_t *line_of_row(const struct rue_resample *resample, uint32_t y)
{
    return resample->lines + (size_t)(y - resample->y.span.first) * resample->line_bytes;
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
        resample->kernels->horizontal(&resample->x, combined, resample->x.span.first, line);
}

static bool is_split(const struct rue_geometry *geometry)
{
    return geometry->layout == RUE_NCHW && geometry->channels == RUE_CHANNELS;
}

/* Grey, or the channels of a pixel beside each other. */
static void put_values(const struct rue_resample *resample, size_t y, const uint8_t *line,
                       enum rue_dtype dtype, void *out)
{
    size_t width = resample->geometry.width, channels = resample->geometry.channels;
    size_t at = y * width * channels;
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < channels; c++, at++) {
            uint8_t level = line[x * RUE_PIXEL_BYTES + c];
            if (dtype == RUE_UINT8)
                ((uint8_t *)out)[at] = level;
            else
                ((float *)out)[at] = resample->normal.value[c][level];
        }
}

static void put_line(const struct rue_resample *resample, size_t y, const uint8_t *line, enum rue_dtype dtype,
                     void *out)
{
    const struct rue_geometry *geometry = &resample->geometry;
    size_t width = geometry->width, plane = width * geometry->height;
    if (!is_split(geometry))
        put_values(resample, y, line, dtype, out);
    else if (dtype == RUE_UINT8)
        resample->kernels->planes(line, width, plane, (uint8_t *)out + y * width);
    else
        resample->kernels->normalized_planes(&resample->normal, line, width, plane, (float *)out + y * width);
}

void rue_resample_end(struct rue_resample *resample, enum rue_dtype dtype, void *out)
{
    struct rue_span rows = rue_resample_rows(resample);
    uint8_t *line = line_of_row(resample, rows.first + rows.count + 1);
    for (size_t y = 0; y < resample->geometry.height; y++) {
        resample_line(resample, y, line);
        put_line(resample, y, line, dtype, out);
    }
}

void rue_resample_pixels(struct rue_resample *resample, uint8_t *pixels)
{
    size_t row_bytes = (size_t)resample->geometry.width * RUE_PIXEL_BYTES;
    for (size_t y = 0; y < resample->geometry.height; y++) resample_line(resample, y, pixels + y * row_bytes);
}

void rue_resample_planes(const struct rue_resample *resample, const uint8_t *pixels, enum rue_dtype dtype,
                         void *out)
{
    size_t row_bytes = (size_t)resample->geometry.width * RUE_PIXEL_BYTES;
    for (size_t y = 0; y < resample->geometry.height; y++)
        put_line(resample, y, pixels + y * row_bytes, dtype, out);
}
