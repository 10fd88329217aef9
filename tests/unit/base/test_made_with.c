#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "made_with.h"

TestSuite(made_with, .timeout = 30);

static const struct rue_geometry small = {
    .height = 48,
    .width = 64,
    .channels = 1,
    .resize = RUE_RESIZE_EXACT,
    .resize_height = 50,
    .resize_width = 70,
    .interpolation = RUE_BICUBIC,
    .layout = RUE_NHWC,
    .mean = {0.48145466F},
    .std = {0.5F},
};

static const char *describe(const struct rue_geometry *geometry, enum rue_orientation orientation)
{
    static char recorded[RUE_MADE_WITH_BYTES], items[RUE_MADE_WITH_BYTES];
    uint32_t shape[3];
    recorded[0] = 0;
    rue_made_with_add_pixels(recorded, geometry, orientation);
    rue_made_with_add_normal(recorded, geometry);
    rue_geometry_shape(geometry, shape);
    rue_made_with_items(shape, recorded, items);
    return items;
}

Test(made_with, the_text_has_the_names_and_values_of_options)
{
    struct rue_geometry usual = rue_geometry_default();
    cr_assert_str_eq(describe(&usual, RUE_ORIENTATION_IGNORE),
                     "shape 3x224x224 resize 256 interpolation bilinear layout nchw "
                     "orientation ignore mean 0.485,0.456,0.406 std 0.229,0.224,0.225");
    cr_assert_str_eq(describe(&small, RUE_ORIENTATION_APPLY),
                     "shape 48x64x1 resize 50x70 interpolation bicubic layout nhwc "
                     "orientation apply mean 0.48145467 std 0.5");
    usual.resize = RUE_RESIZE_NONE;
    cr_assert(strstr(describe(&usual, RUE_ORIENTATION_IGNORE), "224 resize none layout nchw"));
}

Test(made_with, the_longest_text_is_whole)
{
    struct rue_geometry longest = rue_geometry_default();
    longest.height = longest.width = longest.resize_height = longest.resize_width = RUE_IMAGE_SIZE_MAX;
    longest.resize = RUE_RESIZE_EXACT;
    for (int c = 0; c < RUE_CHANNELS; c++) longest.mean[c] = longest.std[c] = -1.17549435e-38F;
    const char *text = describe(&longest, RUE_ORIENTATION_IGNORE);
    cr_assert(strstr(text, "std -1.1754944e-38,-1.1754944e-38,-1.1754944e-38"), "%s", text);
}

/* Checks items of `made` in a request. NULL: they agree. */
static const char *check(const char *items, const struct rue_geometry *asked,
                         enum rue_orientation orientation, bool beside_raw)
{
    static rue_error error;
    error = (rue_error){0};
    rue_status status = rue_made_with_check("a.tensor", items, asked, orientation, beside_raw, &error);
    cr_assert(status == RUE_OK || status == RUE_USAGE);
    return status == RUE_OK ? NULL : error.message;
}

static void expect(const char *items, const struct rue_geometry *asked, enum rue_orientation orientation,
                   const char *words)
{
    const char *message = check(items, asked, orientation, false);
    cr_assert(message && strstr(message, words), "%s", message ? message : "no difference");
}

Test(made_with, the_first_difference_is_named_with_both_values)
{
    struct rue_geometry asked = small;
    char items[RUE_MADE_WITH_BYTES];
    snprintf(items, sizeof items, "%s", describe(&small, RUE_ORIENTATION_IGNORE));
    cr_assert_null(check(items, &asked, RUE_ORIENTATION_IGNORE, false));
    expect(items, &asked, RUE_ORIENTATION_APPLY,
           "a.tensor was prepared with orientation ignore, and orientation apply is asked for: prepare the "
           "images again, or leave the option out");
    asked.width = 65;
    expect(items, &asked, RUE_ORIENTATION_IGNORE, "image_size 48x64, and image_size 48x65");
    asked = small;
    asked.mean[0] = 0.25F;
    expect(items, &asked, RUE_ORIENTATION_IGNORE, "mean 0.48145467, and mean 0.25");
    asked = small;
    asked.resize_width = 71;
    expect(items, &asked, RUE_ORIENTATION_IGNORE, "resize 50x70, and resize 50x71");
}

Test(made_with, what_is_the_default_is_a_difference_only_beside_raw_images)
{
    struct rue_geometry asked = rue_geometry_default();
    char items[RUE_MADE_WITH_BYTES];
    snprintf(items, sizeof items, "%s", describe(&small, RUE_ORIENTATION_APPLY));
    cr_assert_null(check(items, &asked, RUE_ORIENTATION_IGNORE, false));
    const char *message = check(items, &asked, RUE_ORIENTATION_IGNORE, true);
    cr_assert(message && strstr(message, "image_size 48x64, and the raw images are loaded with image_size "
                                         "224x224: give the options that it was prepared with"));
    /* The default resize follows the size, and the default mean the channels. */
    cr_assert_eq(rue_geometry_set_size(&asked, "48x64", NULL), RUE_OK);
    cr_assert_eq(rue_geometry_set_resize(&asked, "crop_pct", "0.875", NULL), RUE_OK);
    asked.channels = 1;
    asked.layout = RUE_NHWC;
    cr_assert_null(check(items, &asked, RUE_ORIENTATION_IGNORE, false));
}

Test(made_with, what_is_not_recorded_is_not_compared)
{
    cr_assert_null(check("", &small, RUE_ORIENTATION_APPLY, true));
    cr_assert_null(check("shape 48x64x1 later 7", &small, RUE_ORIENTATION_APPLY, true));
    cr_assert_null(check("shape 48x64x1 resize", &small, RUE_ORIENTATION_APPLY, true));
    expect("shape 3x96x96", &small, RUE_ORIENTATION_IGNORE, "shape 3x96x96, and shape 48x64x1");
}

Test(made_with, a_stored_text_that_is_not_one_is_not_read)
{
    char text[RUE_MADE_WITH_BYTES], longer[RUE_MADE_WITH_BYTES];
    memset(longer, 'a', sizeof longer);
    rue_made_with_read("resize 256\n", 11, text);
    cr_assert_str_eq(text, "resize 256");
    rue_made_with_read("resize\n256", 10, text);
    cr_assert_str_eq(text, "");
    rue_made_with_read("resize \xff", 8, text);
    cr_assert_str_eq(text, "");
    rue_made_with_read(longer, sizeof longer, text);
    cr_assert_str_eq(text, "");
    rue_made_with_read(NULL, 0, text);
    cr_assert_str_eq(text, "");
}
