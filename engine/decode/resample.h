/* Resize and crop of 8-bit RGBX rows, bit-identical to Pillow's antialiased filters. Only pixels inside the
 * crop are computed. Rows are passed one at a time, as a decoder produces them. Memory is bounded by the crop
 * and the rows that it needs, for every shape of image.
 *
 * Arithmetic: Pillow, src/libImaging/Resample.c (ImagingResample, 8 bits per channel), and torchvision,
 * transforms.functional (resize, center_crop). Two passes, each rounded to 8 bits: first horizontally, then
 * vertically. From version 13 on, Pillow begins vertically if that removes rows, and more than twice as many
 * as the horizontal pass removes columns. Such images differ by one level between the versions; here the
 * decoded pixels of the crop are then kept in memory. A resampler belongs to one thread. */
#ifndef RUE_RESAMPLE_H
#define RUE_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "augmentation.h"
#include "error.h"
#include "kernels.h"
#include "variant.h"

enum {
    RUE_RESAMPLE_SLACK_BYTES = 12, /* bytes after an input row that must be readable; any value */
    /* The version of Pillow that has the same pixels: 12 stands for those up to 12.1, 13 for 13 and later.
       12.2 and 12.3 begin vertically only with images over 100 times as tall as wide. docs/data.md names it,
       too. */
    RUE_PILLOW = 12
};

struct rue_resample;

/* The image after resizing, and the place of the crop in it, which may lie partly outside: pixels there are
 * black. */
struct rue_placement {
    uint32_t width, height;
    int32_t left, top;
};

/* Resize and CenterCrop of an image of this size: the long side becomes int(short side * long / short); the
 * crop begins at int(round((side - crop) / 2.0)), halves rounded to even as in Python. */
struct rue_placement rue_resample_centre(const struct rue_geometry *geometry, uint32_t width,
                                         uint32_t height);

/* `pillow`: RUE_PILLOW, or another version in tests. */
rue_status rue_resample_open(const struct rue_geometry *geometry, int pillow, struct rue_resample **out,
                             rue_error *error) RUE_MUST_CHECK;
void rue_resample_close(struct rue_resample *resample);

/* Uses these loops instead of the fastest ones of this machine. The result is the same. For tests. */
void rue_resample_set_kernels(struct rue_resample *resample, const struct rue_kernels *kernels);

/* Uses this filter from the next plan on, instead of that of the geometry: bilinear or bicubic. */
void rue_resample_set_interpolation(struct rue_resample *resample, enum rue_interpolation interpolation);

/* Prepares for an image of this size, both sides at least 1, decoded at `eighths` / 8 (1 to 8) of it, each
 * side rounded up. Costs nothing if the arguments are the same as before. RUE_MEMORY; RUE_DATA: it would need
 * too much memory. */
rue_status rue_resample_begin(struct rue_resample *resample, uint32_t width, uint32_t height,
                              unsigned eighths, struct rue_placement placement,
                              rue_error *error) RUE_MUST_CHECK;

/* The same for Pillow's crop() to `box`, which lies in the image, and resize() to the size of the result. */
rue_status rue_resample_begin_box(struct rue_resample *resample, struct rue_crop box,
                                  rue_error *error) RUE_MUST_CHECK;

/* The input columns and rows that the crop needs; valid after rue_resample_begin. */
struct rue_span rue_resample_columns(const struct rue_resample *resample);
struct rue_span rue_resample_rows(const struct rue_resample *resample);

/* Adds row `y` of the input, which begins with column `column`, at most the first that the crop needs. All
 * rows of rue_resample_rows must be added before rue_resample_end, in any order. */
void rue_resample_row(struct rue_resample *resample, uint32_t y, const uint8_t *row, uint32_t column);

/* Writes the crop as the values of an image, in the order of the layout: levels (RUE_UINT8) or normalised
 * values. */
void rue_resample_end(struct rue_resample *resample, enum rue_dtype dtype, void *out);

/* Writes the crop as rows of RGBX without gaps, and up to RUE_LINE_BLOCK_BYTES more; and such rows as
 * rue_resample_end does. */
void rue_resample_pixels(struct rue_resample *resample, uint8_t *pixels);
void rue_resample_planes(const struct rue_resample *resample, const uint8_t *pixels, enum rue_dtype dtype,
                         void *out);

#endif
