#include "file_kind.h"

#include <criterion/criterion.h>

TestSuite(file_kind, .timeout = 60);

Test(file_kind, a_type_is_known_by_its_first_bytes)
{
    cr_assert_str_eq(rue_file_kind("\x89PNG\r\n\x1a\n", 8), "a PNG file");
    cr_assert_str_eq(rue_file_kind("RIFF....WEBP", 12), "a WebP file");
    cr_assert_str_eq(rue_file_kind("<html>", 6), "an HTML page");
    cr_assert_null(rue_file_kind("RIFF....WEBP", 11), "it ends in the middle");
    cr_assert_str_eq(rue_file_kind("\xff\xd8\xff\xe0", 4), "a JPEG file");
    cr_assert_null(rue_file_kind("", 0));
}

Test(file_kind, images_that_are_decoded_have_a_kind)
{
    cr_assert_eq(rue_image_kind("\xff\xd8\xff\xe0", 4), RUE_IMAGE_JPEG);
    cr_assert_eq(rue_image_kind("GIF89a", 6), RUE_IMAGE_GIF);
    cr_assert_eq(rue_image_kind("BM", 2), RUE_IMAGE_BMP);
    cr_assert_eq(rue_image_kind("II*", 4), RUE_IMAGE_NONE, "a TIFF file");
    cr_assert_eq(rue_image_kind("", 0), RUE_IMAGE_NONE);
}
