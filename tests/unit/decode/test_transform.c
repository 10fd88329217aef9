#include "transform.h"

#include <criterion/criterion.h>
#include <string.h>

#include "jpeg_fixture.h"

enum { PLANE = RUE_IMAGE_SIZE * RUE_IMAGE_SIZE };

static struct rue_transform *transform;
static uint8_t levels[RUE_TENSOR_ITEMS], levels_again[RUE_TENSOR_ITEMS];
static float values[RUE_TENSOR_ITEMS], values_again[RUE_TENSOR_ITEMS];

static void setup(void)
{
    cr_assert_eq(rue_transform_open(&(struct rue_transform_options){RUE_MAX_PIXELS_DEFAULT, RUE_DECODE_EXACT,
                                                                    .geometry = rue_geometry_default()},
                                    &transform, NULL),
                 RUE_OK);
}

static void teardown(void)
{
    rue_transform_close(transform);
}

TestSuite(transform, .init = setup, .fini = teardown);

static void run(struct jpeg_file file, enum rue_dtype dtype, void *out)
{
    rue_error error = {0};
    rue_status status = rue_transform_jpeg(transform, file.data, file.bytes, dtype, out, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
}

static void convert(const uint8_t *from, float *to)
{
    static const uint32_t shape[] = {RUE_CHANNELS, RUE_IMAGE_SIZE, RUE_IMAGE_SIZE};
    rue_transform_convert(transform, shape, RUE_UINT8, from, to);
}

static bool same_values(void)
{
    for (size_t i = 0; i < RUE_TENSOR_ITEMS; i++)
        if (values[i] != values_again[i]) return false;
    return true;
}

Test(transform, normalize_rounds_every_step_to_float32)
{
    static const float mean[] = {0.485F, 0.456F, 0.406F}, std[] = {0.229F, 0.224F, 0.225F};
    for (size_t i = 0; i < RUE_TENSOR_ITEMS; i++) levels[i] = (uint8_t)(i % 256);
    convert(levels, values);
    for (size_t i = 0; i < RUE_TENSOR_ITEMS; i++) {
        volatile float value = (float)levels[i] / 255.0F; /* volatile: no step may be fused with the next */
        value = value - mean[i / PLANE];
        value = value / std[i / PLANE];
        cr_assert_eq(values[i], value, "level %d of channel %zu", levels[i], i / PLANE);
    }
}

Test(transform, float32_is_the_normalized_uint8)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 500, .height = 375});
    run(file, RUE_UINT8, levels);
    run(file, RUE_FLOAT32, values);
    convert(levels, values_again);
    cr_assert(same_values());
    free(file.data);
}

Test(transform, grey_channels_are_equal)
{
    struct jpeg_file file =
        jpeg_make((struct jpeg_recipe){.width = 301, .height = 401, .colours = JCS_GRAYSCALE});
    run(file, RUE_UINT8, levels);
    cr_assert_eq(memcmp(levels, levels + PLANE, PLANE), 0);
    cr_assert_eq(memcmp(levels, levels + 2 * PLANE, PLANE), 0);
    free(file.data);
}

Test(transform, one_pixel_fills_the_crop)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 1, .height = 1});
    run(file, RUE_UINT8, levels);
    for (size_t i = 0; i < RUE_TENSOR_ITEMS; i++) cr_assert_eq(levels[i], levels[i / PLANE * PLANE]);
    free(file.data);
}

Test(transform, longest_strips_stay_within_memory)
{
    static const unsigned sizes[][2] = {{65500, 1}, {1, 65500}, {65500, 20}, {20, 65500}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = sizes[i][0], .height = sizes[i][1]});
        run(file, RUE_FLOAT32, values);
        free(file.data);
    }
}

Test(transform, result_does_not_depend_on_the_image_before)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 500, .height = 333});
    struct jpeg_file other =
        jpeg_make((struct jpeg_recipe){.width = 1600, .height = 70, .progressive = true});
    run(file, RUE_FLOAT32, values);
    run(other, RUE_FLOAT32, values_again);
    cr_assert_not(same_values());
    rue_error error = {0};
    cr_assert_eq(rue_transform_jpeg(transform, other.data, other.bytes / 2, RUE_UINT8, levels, &error),
                 RUE_DATA);
    cr_assert(strstr(error.message, "truncated"), "%s", error.message);
    run(file, RUE_FLOAT32, values_again);
    cr_assert(same_values());
    free(other.data);
    free(file.data);
}

Test(transform, pixel_limit_is_the_caller_s)
{
    struct rue_transform *small;
    cr_assert_eq(rue_transform_open(&(struct rue_transform_options){500 * 375 - 1, RUE_DECODE_EXACT,
                                                                    .geometry = rue_geometry_default()},
                                    &small, NULL),
                 RUE_OK);
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 500, .height = 375});
    rue_error error = {0};
    cr_assert_eq(rue_transform_jpeg(small, file.data, file.bytes, RUE_UINT8, levels, &error), RUE_DATA);
    cr_assert(strstr(error.message, "187,500 pixels (500 x 375)") && strstr(error.message, "187,499"), "%s",
              error.message);
    run(file, RUE_UINT8, levels_again);
    rue_transform_close(small);
    free(file.data);
}

/* Files that are cut at any place. With an end marker after it, only decoding can find what is missing. */
Test(transform, verify_agrees_with_decoding_unless_an_end_marker_hides_the_damage)
{
    const struct jpeg_recipe recipes[] = {{.width = 90, .height = 70},
                                          {.width = 90, .height = 70, .progressive = true},
                                          {.width = 300, .height = 260, .restart_rows = 2}};
    size_t refused = 0, accepted = 0;
    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
        struct jpeg_file file = jpeg_make(recipes[r]);
        unsigned char *cut = malloc(file.bytes + 2);
        for (size_t step = 0; step < 400; step++) {
            size_t bytes = file.bytes * (step / 2 + 1) / 200;
            memcpy(cut, file.data, bytes);
            if (step % 2) memcpy(cut + bytes, "\xFF\xD9", 2), bytes += 2;
            rue_status decoded = rue_transform_jpeg(transform, cut, bytes, RUE_UINT8, levels, NULL),
                       verified = rue_transform_verify(transform, cut, bytes, NULL);
            bool agrees = step % 2 ? verified == RUE_OK || decoded != RUE_OK : verified == decoded;
            cr_assert(agrees, "recipe %zu, %zu bytes of %lu", r, bytes, file.bytes);
            refused += decoded != RUE_OK;
            accepted += decoded == RUE_OK;
        }
        free(cut);
        free(file.data);
    }
    cr_assert(refused > 100 && accepted > 100, "%zu refused, %zu accepted", refused, accepted);
}

Test(transform, close_accepts_null)
{
    rue_transform_close(NULL);
}

/* The mean difference of the levels that `decode` gives from the exact ones. */
static double mean_difference(struct jpeg_file file, enum rue_decode decode)
{
    struct rue_transform *other;
    double sum = 0;
    cr_assert_eq(rue_transform_open(&(struct rue_transform_options){RUE_MAX_PIXELS_DEFAULT, decode,
                                                                    .geometry = rue_geometry_default()},
                                    &other, NULL),
                 RUE_OK);
    run(file, RUE_UINT8, levels);
    cr_assert_eq(rue_transform_jpeg(other, file.data, file.bytes, RUE_UINT8, levels_again, NULL), RUE_OK);
    for (size_t i = 0; i < RUE_TENSOR_ITEMS; i++) sum += abs(levels[i] - levels_again[i]);
    rue_transform_close(other);
    return sum / RUE_TENSOR_ITEMS;
}

Test(transform, fast_decoding_is_exact_below_512_pixels_and_close_above)
{
    static const unsigned sides[][2] = {{511, 511}, {511, 900},   {1400, 511},  {512, 512},
                                        {600, 513}, {1024, 1100}, {1501, 2051}, {2100, 2049}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = sides[i][0], .height = sides[i][1]});
        bool small = sides[i][0] < 512 || sides[i][1] < 512;
        double difference = mean_difference(file, RUE_DECODE_FAST);
        cr_assert(small ? difference == 0 : difference > 0 && difference < 4, "%u x %u: %.3f levels",
                  sides[i][0], sides[i][1], difference);
        cr_assert_eq(mean_difference(file, RUE_DECODE_EXACT), 0);
        free(file.data);
    }
}
