#include "resample.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "transform.h"

enum { PIXEL = RUE_PIXEL_BYTES, PLANE = RUE_IMAGE_SIZE * RUE_IMAGE_SIZE, VALUES = 3 * 384 * 384 };

static struct rue_geometry usual;
static int samples = 400; /* of a result: all of the pixels would take minutes */

static void set_usual(void)
{
    usual = rue_geometry_default();
}

TestSuite(resample, .init = set_usual);

struct image {
    uint32_t width, height;
    uint8_t *pixels; /* with the slack that a resampler wants */
};

static struct image image_make(uint32_t width, uint32_t height)
{
    return (struct image){width, height,
                          calloc(1, (size_t)width * height * PIXEL + RUE_RESAMPLE_SLACK_BYTES)};
}

static struct image image_noise(uint32_t width, uint32_t height)
{
    struct image image = image_make(width, height);
    uint64_t state = width * 65536 + height;
    for (size_t i = 0; i < (size_t)width * height * PIXEL; i++)
        image.pixels[i] = (uint8_t)rue_random_next(&state);
    return image;
}

static void add_rows(struct rue_resample *resampler, struct image image, uint8_t *levels)
{
    struct rue_span rows = rue_resample_rows(resampler);
    cr_assert(rows.count > 0 && rows.first + rows.count <= image.height);
    for (uint32_t y = rows.first; y < rows.first + rows.count; y++)
        rue_resample_row(resampler, y, image.pixels + (size_t)y * image.width * PIXEL, 0);
    rue_resample_end(resampler, RUE_UINT8, levels);
}

static void begin(struct rue_resample *resampler, uint32_t width, uint32_t height)
{
    cr_assert_eq(
        rue_resample_begin(resampler, width, height, 8, rue_resample_centre(&usual, width, height), NULL),
        RUE_OK);
}

static void resample(struct rue_resample *resampler, struct image image, uint8_t *levels)
{
    begin(resampler, image.width, image.height);
    add_rows(resampler, image, levels);
}

static struct rue_resample *open_resampler(const struct rue_kernels *kernels)
{
    struct rue_resample *resampler;
    cr_assert_eq(rue_resample_open(&usual, RUE_PILLOW, &resampler, NULL), RUE_OK);
    rue_resample_set_kernels(resampler, kernels);
    return resampler;
}

static double weight_of(double x)
{
    x = fabs(x);
    if (usual.interpolation == RUE_BILINEAR) return fmax(0, 1 - x);
    return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

/* The definition, for one output and channel: `values` lie `step` bytes apart. */
static uint8_t filter(const uint8_t *values, size_t step, uint32_t in, uint32_t out, uint32_t at)
{
    double scale = (double)in / out, wide = scale > 1 ? scale : 1, center = (at + 0.5) * scale;
    double support = usual.interpolation == RUE_BILINEAR ? wide : 2 * wide;
    int first = (int)(center - support + 0.5), last = (int)(center + support + 0.5);
    if (first < 0) first = 0;
    if (last > (int)in) last = (int)in;
    double total = 0;
    for (int i = first; i < last; i++) total += weight_of((i - center + 0.5) * (1 / wide));
    int sum = 1 << 21;
    for (int i = first; i < last; i++) {
        double weight = weight_of((i - center + 0.5) * (1 / wide)) / total;
        sum += values[(size_t)i * step] * (int)((weight < 0 ? -0.5 : 0.5) + weight * (1 << 22));
    }
    sum >>= 22;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* The level of one pixel of the resized image, straight from the definition; black outside. */
static uint8_t expected(struct image image, struct rue_placement at, bool vertical_first, uint32_t channel,
                        uint32_t crop_x, uint32_t crop_y)
{
    const uint8_t *levels = image.pixels + channel;
    int64_t x = (int64_t)at.left + crop_x, y = (int64_t)at.top + crop_y;
    size_t stride = (size_t)image.width * PIXEL;
    if (x < 0 || x >= at.width || y < 0 || y >= at.height) return 0;
    uint8_t *between = malloc(image.width + image.height), level;
    if (vertical_first) {
        for (uint32_t i = 0; i < image.width; i++)
            between[i] = filter(levels + i * PIXEL, stride, image.height, at.height, (uint32_t)y);
        level = filter(between, 1, image.width, at.width, (uint32_t)x);
    } else {
        for (uint32_t i = 0; i < image.height; i++)
            between[i] = filter(levels + i * stride, PIXEL, image.width, at.width, (uint32_t)x);
        level = filter(between, 1, image.height, at.height, (uint32_t)y);
    }
    free(between);
    return level;
}

static size_t value_at(uint32_t channel, uint32_t x, uint32_t y)
{
    size_t pixel = (size_t)y * usual.width + x;
    return usual.layout == RUE_NHWC ? pixel * 3 + channel
                                    : (size_t)channel * usual.height * usual.width + pixel;
}

/* `levels` are the crop of the image, placed as that version of Pillow does. */
static void assert_as_defined(struct image image, struct rue_placement at, int pillow, const uint8_t *levels)
{
    int64_t rows = (int64_t)image.height - at.height, columns = (int64_t)image.width - at.width;
    bool vertical_first = pillow > 12 && rows > 0 && rows > 2 * columns;
    uint64_t state = 1;
    for (int i = 0; i < samples; i++) { /* corners first */
        uint32_t channel = (uint32_t)rue_random_below(&state, 3);
        uint32_t x =
            i < 4 ? (uint32_t)i % 2 * (usual.width - 1) : (uint32_t)rue_random_below(&state, usual.width);
        uint32_t y =
            i < 4 ? (uint32_t)i / 2 * (usual.height - 1) : (uint32_t)rue_random_below(&state, usual.height);
        uint8_t is = levels[value_at(channel, x, y)],
                should = expected(image, at, vertical_first, channel, x, y);
        cr_assert_eq(is, should, "Pillow %d: %u x %u to %u x %u, channel %u at %u,%u: %d, not %d", pillow,
                     image.width, image.height, usual.width, usual.height, channel, x, y, is, should);
    }
}

static const uint32_t sizes[][2] = {
    {500, 375},  {375, 500}, {300, 300}, {1, 1},     {2, 3},     {3, 2},     {224, 224}, {256, 256},
    {255, 257},  {257, 255}, {223, 400}, {300, 200}, {300, 599}, {300, 601}, {257, 515}, {400, 1000},
    {1500, 990}, {10, 1000}, {1000, 10}, {256, 391}, {1, 3000},  {3000, 1},  {128, 230}, {200, 280},
};

/* In the orders of passes of both versions, with all loops. */
static void assert_levels_of_size(uint32_t width, uint32_t height, int pillow,
                                  const struct rue_kernels *kernels)
{
    struct rue_resample *resampler;
    struct image image = image_noise(width, height);
    uint8_t *levels = malloc(VALUES);
    cr_assert_eq(rue_resample_open(&usual, pillow, &resampler, NULL), RUE_OK);
    rue_resample_set_kernels(resampler, kernels);
    resample(resampler, image, levels);
    assert_as_defined(image, rue_resample_centre(&usual, width, height), pillow, levels);
    cr_assert_eq(rue_resample_begin_box(resampler, (struct rue_crop){.width = width, .height = height}, NULL),
                 RUE_OK);
    add_rows(resampler, image, levels);
    assert_as_defined(image, (struct rue_placement){.width = usual.width, .height = usual.height}, pillow,
                      levels);
    free(levels);
    free(image.pixels);
    rue_resample_close(resampler);
}

/* Of every `step`-th size. */
static void assert_levels(size_t step)
{
    for (size_t k = 0; rue_kernels[k]; k++)
        for (size_t i = 0; rue_kernels[k]->usable() && i < sizeof sizes / sizeof *sizes; i += step)
            for (int pillow = 12; pillow <= 13; pillow++)
                assert_levels_of_size(sizes[i][0], sizes[i][1], pillow, rue_kernels[k]);
}

Test(resample, levels_are_those_of_the_definition)
{
    assert_levels(1);
}

Test(resample, other_sizes_are_those_of_the_definition)
{
    static const char *const cases[][2] = {
        {"96", "crop_pct"}, {"1", "exact"},  {"33x70", "40"},  {"384", "438"},
        {"31x5", "none"},   {"300", "none"}, {"97", "64x200"}, {"200", "100"},
    };
    samples = 40;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(rue_geometry_set_size(&usual, cases[i][0], NULL), RUE_OK);
        cr_assert_eq(rue_geometry_set_resize(&usual, cases[i][1], "0.875", NULL), RUE_OK);
        usual.interpolation = i % 2 ? RUE_BICUBIC : RUE_BILINEAR;
        usual.layout = i % 3 ? RUE_NCHW : RUE_NHWC;
        assert_levels(8);
    }
}

Test(resample, bicubic_levels_are_those_of_the_definition)
{
    usual.interpolation = RUE_BICUBIC;
    assert_levels(6);
}

/* The sanitizer knows where the memory ends. */
Test(resample, no_byte_after_the_slack_is_read)
{
    struct rue_resample *resampler = open_resampler(rue_kernels_best());
    for (uint32_t width = 1; width < 20000; width += 1 + width / 2) {
        uint8_t *row = calloc(1, (size_t)width * PIXEL + RUE_RESAMPLE_SLACK_BYTES);
        cr_assert_eq(rue_resample_begin_box(resampler, (struct rue_crop){.width = width, .height = 1}, NULL),
                     RUE_OK);
        rue_resample_row(resampler, 0, row, 0);
        free(row);
    }
    rue_resample_close(resampler);
}

static void assert_as_portable(const struct rue_kernels *kernels, struct image image)
{
    struct rue_resample *fast = open_resampler(kernels), *portable = open_resampler(&rue_kernels_portable);
    uint8_t *a = malloc(RUE_TENSOR_ITEMS), *b = malloc(RUE_TENSOR_ITEMS);
    float *c = malloc(RUE_TENSOR_ITEMS * sizeof *c), *d = malloc(RUE_TENSOR_ITEMS * sizeof *d);
    resample(fast, image, a);
    resample(portable, image, b);
    rue_resample_end(fast, RUE_FLOAT32, c);
    rue_resample_end(portable, RUE_FLOAT32, d);
    cr_assert_eq(memcmp(a, b, RUE_TENSOR_ITEMS), 0, "%s: %u x %u", kernels->name, image.width, image.height);
    cr_assert_eq(memcmp(c, d, RUE_TENSOR_ITEMS * sizeof *c), 0, "%s: %u x %u, normalised", kernels->name,
                 image.width, image.height);
    free(a);
    free(b);
    free(c);
    free(d);
    rue_resample_close(fast);
    rue_resample_close(portable);
}

static void compare_all_sizes(struct image (*make)(uint32_t width, uint32_t height))
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct image image = make(sizes[i][0], sizes[i][1]);
        for (size_t k = 0; rue_kernels[k]; k++)
            if (rue_kernels[k]->usable()) assert_as_portable(rue_kernels[k], image);
        free(image.pixels);
    }
}

/* Black and white squares of 3 pixels: bicubic sums of them pass both ends of the range. */
static struct image image_squares(uint32_t width, uint32_t height)
{
    struct image image = image_make(width, height);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            memset(image.pixels + (y * width + x) * PIXEL, (x / 3 + y / 3) % 2 ? 255 : 0, PIXEL);
    return image;
}

Test(resample, fast_loops_equal_the_portable_ones)
{
    compare_all_sizes(image_noise);
    usual.interpolation = RUE_BICUBIC;
    compare_all_sizes(image_noise);
    compare_all_sizes(image_squares);
}

/* With so many weights, of which many are negative, sums of their parts wrap around. */
Test(resample, thousands_of_white_pixels_make_white_ones)
{
    enum { WIDTH = 70000, SIDE = 32 };
    uint8_t levels[SIDE * SIDE * 3];
    cr_assert_eq(rue_geometry_set_size(&usual, "32", NULL), RUE_OK);
    usual.interpolation = RUE_BICUBIC;
    struct image image = image_make(WIDTH, 1);
    memset(image.pixels, 255, (size_t)WIDTH * PIXEL);
    for (size_t k = 0; rue_kernels[k]; k++) {
        if (!rue_kernels[k]->usable()) continue;
        struct rue_resample *resampler = open_resampler(rue_kernels[k]);
        cr_assert_eq(rue_resample_begin_box(resampler, (struct rue_crop){.width = WIDTH, .height = 1}, NULL),
                     RUE_OK);
        add_rows(resampler, image, levels);
        for (size_t i = 0; i < sizeof levels; i++)
            cr_assert_eq(levels[i], 255, "%s: %d", rue_kernels[k]->name, levels[i]);
        rue_resample_close(resampler);
    }
    free(image.pixels);
}

Test(resample, columns_before_the_crop_need_not_be_given)
{
    struct image image = image_noise(700, 300);
    uint8_t *whole = malloc(RUE_TENSOR_ITEMS), *part = malloc(RUE_TENSOR_ITEMS);
    for (size_t k = 0; rue_kernels[k]; k++) {
        if (!rue_kernels[k]->usable()) continue;
        struct rue_resample *resampler = open_resampler(rue_kernels[k]);
        resample(resampler, image, whole);
        struct rue_span rows = rue_resample_rows(resampler);
        uint32_t column = rue_resample_columns(resampler).first;
        cr_assert_gt(column, 0);
        for (uint32_t y = rows.first; y < rows.first + rows.count; y++)
            rue_resample_row(resampler, y, image.pixels + ((size_t)y * image.width + column) * PIXEL, column);
        rue_resample_end(resampler, RUE_UINT8, part);
        cr_assert_eq(memcmp(whole, part, RUE_TENSOR_ITEMS), 0, "%s", rue_kernels[k]->name);
        rue_resample_close(resampler);
    }
    free(whole);
    free(part);
    free(image.pixels);
}

Test(resample, halving_weighs_an_edge_by_eighths)
{
    struct rue_resample *resampler = open_resampler(rue_kernels_best());
    struct image image = image_make(512, 512);
    for (size_t y = 0; y < 512; y++) image.pixels[(y * 512 + 200) * PIXEL] = 255; /* one red column */
    uint8_t *levels = malloc(RUE_TENSOR_ITEMS);
    resample(resampler, image, levels);
    /* Input column 200 is half a column right of the centre of output 99.5, so outputs 99, 100 and their
     * neighbours see it with 1/8 and 3/8 of their weight; the crop begins at 16. */
    cr_assert_eq(levels[99 - 16], 32, "%d", levels[99 - 16]);
    cr_assert_eq(levels[100 - 16], 96, "%d", levels[100 - 16]);
    cr_assert_eq(levels[98 - 16], 0);
    cr_assert_eq(levels[101 - 16], 0);
    cr_assert_eq(levels[PLANE + 100 - 16], 0, "green is not red");
    free(levels);
    free(image.pixels);
    rue_resample_close(resampler);
}

Test(resample, flat_images_stay_flat)
{
    struct rue_resample *resampler = open_resampler(rue_kernels_best());
    uint8_t *levels = malloc(RUE_TENSOR_ITEMS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int level = 0; level < 256; level += 51) {
            struct image image = image_make(sizes[i][0], sizes[i][1]);
            memset(image.pixels, level, (size_t)image.width * image.height * PIXEL);
            resample(resampler, image, levels);
            for (size_t k = 0; k < RUE_TENSOR_ITEMS; k++) cr_assert_eq(levels[k], level);
            free(image.pixels);
        }
    free(levels);
    rue_resample_close(resampler);
}

Test(resample, short_side_of_256_is_only_cropped)
{
    struct rue_resample *resampler = open_resampler(rue_kernels_best());
    struct image image = image_noise(300, 256);
    uint8_t *levels = malloc(RUE_TENSOR_ITEMS);
    resample(resampler, image, levels);
    for (size_t y = 0; y < RUE_IMAGE_SIZE; y++)
        for (size_t x = 0; x < RUE_IMAGE_SIZE; x++)
            for (size_t c = 0; c < 3; c++)
                cr_assert_eq(levels[c * PLANE + y * RUE_IMAGE_SIZE + x],
                             image.pixels[((y + 16) * 300 + x + 38) * PIXEL + c]);
    free(levels);
    free(image.pixels);
    rue_resample_close(resampler);
}

Test(resample, result_does_not_depend_on_the_image_before)
{
    static const uint32_t in_turn[][2] = {{333, 500}, {1200, 500}, {333, 500},
                                          {333, 40},  {1200, 40},  {333, 500}};
    struct rue_resample *used = open_resampler(rue_kernels_best());
    uint8_t *a = malloc(RUE_TENSOR_ITEMS), *b = malloc(RUE_TENSOR_ITEMS);
    for (size_t i = 0; i < sizeof in_turn / sizeof *in_turn; i++) {
        struct rue_resample *fresh = open_resampler(rue_kernels_best());
        struct image image = image_noise(in_turn[i][0], in_turn[i][1]);
        resample(used, image, a);
        resample(fresh, image, b);
        cr_assert_eq(memcmp(a, b, RUE_TENSOR_ITEMS), 0, "image %zu", i);
        free(image.pixels);
        rue_resample_close(fresh);
    }
    free(a);
    free(b);
    rue_resample_close(used);
}

Test(resample, long_side_is_cut_to_an_integer)
{
    static const uint32_t cases[][4] = {
        {500, 375, 341, 256},      {375, 500, 256, 341}, {1, 1, 256, 256},
        {10, 4000, 256, 102400},   {257, 255, 258, 256}, {256, 391, 256, 391},
        {65500, 1, 16768000, 256}, {500, 333, 384, 256}, {224, 224, 256, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_placement at = rue_resample_centre(&usual, cases[i][0], cases[i][1]);
        cr_assert(at.width == cases[i][2] && at.height == cases[i][3], "%u x %u became %u x %u", cases[i][0],
                  cases[i][1], at.width, at.height);
    }
}

Test(resample, crop_rounds_halves_to_even_and_may_begin_outside)
{
    static const int32_t cases[][2] = {{224, 0},  {225, 0},  {226, 1},  {227, 2}, {229, 2},  {231, 4},
                                       {256, 16}, {341, 58}, {343, 60}, {223, 0}, {222, -1}, {219, -2}};
    usual.resize = RUE_RESIZE_NONE;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(rue_resample_centre(&usual, (uint32_t)cases[i][0], 224).left, cases[i][1], "side %d",
                     cases[i][0]);
}

Test(resample, only_the_crop_of_a_strip_is_needed)
{
    struct rue_resample *resampler = open_resampler(rue_kernels_best());
    begin(resampler, 10, 4000);
    struct rue_span rows = rue_resample_rows(resampler);
    cr_assert(rows.count <= 12 && rows.first > 1980 && rows.first < 2000, "%u rows from %u", rows.count,
              rows.first);
    begin(resampler, 65500, 1);
    struct rue_span columns = rue_resample_columns(resampler);
    cr_assert(columns.count <= 4 && columns.first > 32740, "%u columns from %u", columns.count,
              columns.first);
    rue_resample_close(resampler);
}
