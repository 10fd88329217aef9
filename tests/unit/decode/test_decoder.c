#include "decoder.h"

#include <criterion/criterion.h>
#include <string.h>

#include "jpeg_fixture.h"

static struct rue_decoder *decoder;
static rue_error failure;

static void setup(void)
{
    cr_assert_eq(rue_decoder_open(1000 * 1000, 0, RUE_ORIENTATION_IGNORE, &decoder, NULL), RUE_OK);
}

static void teardown(void)
{
    rue_decoder_close(decoder);
}

TestSuite(decoder, .init = setup, .fini = teardown);

/* Both by decoding and by looking at the headers. */
static void assert_refused(const void *data, size_t bytes, const char *reason)
{
    struct rue_image_size size;
    rue_error_clear(&failure);
    cr_assert_eq(rue_decoder_begin(decoder, data, bytes, &size, &failure), RUE_DATA, "%s", reason);
    cr_assert(strstr(failure.message, reason), "%s", failure.message);
    rue_error_clear(&failure);
    cr_assert_eq(rue_decoder_verify(decoder, data, bytes, &failure), RUE_DATA, "%s", reason);
    cr_assert(strstr(failure.message, reason), "%s", failure.message);
}

Test(decoder, empty_file_is_refused)
{
    assert_refused("", 0, "is empty");
}

Test(decoder, other_formats_are_named)
{
    static const struct {
        char begin[16];
        const char *reason;
    } files[] = {
        {"II*", "is a TIFF file, not a JPEG, PNG, WebP, GIF or BMP file"},
        {"\0\0\0\x20"
         "ftypavif",
         "is an AVIF file, not a JPEG"},
        {"<html>", "is an HTML page, not a JPEG"},
        {"just some text", "is not a JPEG, PNG, WebP, GIF or BMP file"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_refused(files[i].begin, sizeof files[i].begin, files[i].reason);
    assert_refused("G", 1, "is not a JPEG");
}

Test(decoder, a_beginning_without_an_end_is_truncated)
{
    for (size_t bytes = 2; bytes <= 3; bytes++) assert_refused("\xFF\xD8\xFF", bytes, "is truncated");
    assert_refused("\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR", 16, "is a PNG file that is truncated");
    assert_refused("RIFF\x10\0\0\0WEBPVP", 14, "is a WebP file that is truncated");
    assert_refused("GIF89a", 6, "is a GIF file that is truncated");
    assert_refused("BM", 2, "is a BMP file that is truncated");
}

/* A whole image and a JPEG in turn, by one decoder. */
Test(decoder, kinds_follow_each_other)
{
    static const unsigned char bmp[] = {'B', 'M', 0, 0, 0, 0, 0, 0,  0, 0, 26, 0, 0, 0, 12, 0, 0,
                                        0,   1,   0, 2, 0, 1, 0, 24, 0, 1, 2,  3, 0, 4, 5,  6};
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 40, .height = 30});
    struct rue_image_size size;
    uint8_t row[40 * RUE_IMAGE_PIXEL_BYTES];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rue_decoder_begin(decoder, file.data, file.bytes, &size, &failure), RUE_OK);
        cr_assert(size.width == 40 && size.height == 30);
        cr_assert_eq(rue_decoder_rows(decoder, 1, row, sizeof row, &failure), RUE_OK);
        cr_assert_eq(rue_decoder_begin(decoder, bmp, sizeof bmp, &size, &failure), RUE_OK, "%s",
                     failure.message);
        cr_assert(size.width == 1 && size.height == 2);
        cr_assert_eq(rue_decoder_rows(decoder, 1, row, sizeof row, &failure), RUE_OK);
        cr_assert(row[0] == 6 && row[1] == 5 && row[2] == 4, "the last row of the file is the top");
        cr_assert_eq(rue_decoder_end(decoder, &failure), RUE_OK);
    }
    free(file.data);
}
