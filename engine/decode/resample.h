/* Resize(256) and CenterCrop(224) of 8-bit RGBX rows, bit-identical to Pillow's antialiased bilinear filter,
 * of which only the pixels inside the crop are computed. Rows come in top down, one at a time, so that a
 * decoder can feed them as they appear; memory is bounded by the crop and the rows that it covers, whatever
 * the shape of the image.
 *
 * Source of the arithmetic: Pillow, src/libImaging/Resample.c (ImagingResample, 8 bits a channel), and
 * torchvision, transforms.functional (resize, center_crop). Horizontally first, rounded to 8 bits, then
 * vertically. A resampler belongs to one thread. */
#ifndef RUE_RESAMPLE_H
#define RUE_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "kernels.h"

enum { RUE_RESAMPLE_SLACK_BYTES = 64 /* readable bytes, of any value, that must follow an input row */ };

struct rue_resample;

struct rue_span {
    uint32_t first, count;
};

/* The size after Resize: the short side becomes RUE_RESIZE, the long one int(RUE_RESIZE * long / short). */
void rue_resize_size(uint32_t width, uint32_t height, uint32_t *resized_width, uint32_t *resized_height);

/* Where CenterCrop begins: int(round((side - RUE_CROP) / 2.0)), a half rounded to even as Python does. */
uint32_t rue_crop_offset(uint32_t side);

rue_status rue_resample_open(struct rue_resample **out, rue_error *error) RUE_MUST_CHECK;
void rue_resample_close(struct rue_resample *resample);

/* From now on runs these loops instead of the fastest ones of this machine: the result is the same. */
void rue_resample_set_kernels(struct rue_resample *resample, const struct rue_kernels *kernels);

/* Prepares for an image of this size, both sides at least 1, whose rows come at `eighths` (1 to 8) of it,
 * each side rounded up; costs nothing while that stays the same. RUE_MEMORY. */
rue_status rue_resample_begin(struct rue_resample *resample, uint32_t width, uint32_t height,
                              unsigned eighths, rue_error *error) RUE_MUST_CHECK;

/* The input columns and rows that the crop depends on; valid after `begin`. */
struct rue_span rue_resample_columns(const struct rue_resample *resample);
struct rue_span rue_resample_rows(const struct rue_resample *resample);

/* Takes row `y` of the input from column `column` on, which is at most the first that the crop depends on.
 * Every row of `rue_resample_rows` must have been given before `end`, in any order; other rows are not
 * needed.
 */
void rue_resample_row(struct rue_resample *resample, uint32_t y, const uint8_t *row, uint32_t column);

/* Writes the crop, CHW, RGB, RUE_TENSOR_ITEMS values: the levels (RUE_UINT8), or what ToTensor and Normalize
 * make of them (RUE_FLOAT32). */
void rue_resample_end(struct rue_resample *resample, enum rue_dtype dtype, void *out);

#endif
