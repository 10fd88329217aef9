#include "jpeg.h"

#include <criterion/criterion.h>

#include "jpeg_fixture.h"

static struct rue_jpeg *jpeg;
static rue_error failure;

static void setup(void)
{
    failure = (rue_error){0};
    cr_assert_eq(rue_jpeg_open(1000 * 1000, 0, rue_kernels_best(), &jpeg, NULL), RUE_OK);
}

static void teardown(void)
{
    rue_jpeg_close(jpeg);
}

TestSuite(jpeg, .init = setup, .fini = teardown);

/* Decodes all rows; NULL and `failure` where that fails. Free the rows. */
static uint8_t *decode(const void *data, size_t bytes, struct rue_image_size *size)
{
    rue_error_clear(&failure);
    if (rue_jpeg_begin(jpeg, data, bytes, size, &failure) != RUE_OK) return NULL;
    size_t stride = (size_t)size->width * RUE_IMAGE_PIXEL_BYTES;
    uint8_t *rows = calloc(size->height, stride);
    for (uint32_t y = 0; y < size->height; y += 7) {
        uint32_t count = size->height - y < 7 ? size->height - y : 7;
        if (rue_jpeg_rows(jpeg, count, rows + y * stride, stride, &failure) != RUE_OK) goto bad;
    }
    if (rue_jpeg_end(jpeg, &failure) == RUE_OK) return rows;
bad:
    free(rows);
    return NULL;
}

/* Decodes a part, which must have the pixels of `whole`. */
static void assert_crop(struct jpeg_file file, const uint8_t *whole, uint32_t left, uint32_t width,
                        uint32_t top)
{
    struct rue_image_size size;
    uint32_t column = left, columns = width;
    cr_assert_eq(rue_jpeg_begin(jpeg, file.data, file.bytes, &size, &failure), RUE_OK);
    cr_assert_eq(rue_jpeg_crop(jpeg, &column, &columns, top, &failure), RUE_OK);
    size_t stride = (size_t)columns * RUE_IMAGE_PIXEL_BYTES;
    uint8_t *row = malloc(stride);
    for (size_t y = top; y < size.height; y++) {
        cr_assert_eq(rue_jpeg_rows(jpeg, 1, row, stride, &failure), RUE_OK, "%s", failure.message);
        const uint8_t *is = row + (left - column) * RUE_IMAGE_PIXEL_BYTES,
                      *should = whole + (y * size.width + left) * RUE_IMAGE_PIXEL_BYTES;
        cr_assert_eq(memcmp(is, should, (size_t)width * RUE_IMAGE_PIXEL_BYTES), 0,
                     "row %zu of %u columns from %u, rows from %u, %u/8", y, width, left, top, size.eighths);
    }
    free(row);
    cr_assert_eq(rue_jpeg_end(jpeg, &failure), RUE_OK, "%s", failure.message);
}

static void assert_crops(struct jpeg_file file)
{
    struct rue_image_size size;
    uint8_t *whole = decode(file.data, file.bytes, &size);
    cr_assert_not_null(whole, "%s", failure.message);
    for (uint32_t i = 1; i < 5; i++)
        assert_crop(file, whole, size.width * i / 5, 1 + size.width / 9, size.height * (5 - i) / 5);
    free(whole);
}

static void assert_refused(const void *data, size_t bytes, const char *reason)
{
    struct rue_image_size size;
    uint8_t *rows = decode(data, bytes, &size);
    cr_assert_null(rows, "decoded, although: %s", reason);
    cr_assert_eq(failure.status, RUE_DATA, "status %d", (int)failure.status);
    cr_assert(strstr(failure.message, reason), "\"%s\" does not say \"%s\"", failure.message, reason);
}

static void assert_same_pixels(struct jpeg_file a, struct jpeg_file b)
{
    struct rue_image_size size_a, size_b;
    uint8_t *rows_a = decode(a.data, a.bytes, &size_a);
    cr_assert_not_null(rows_a, "%s", failure.message);
    uint8_t *rows_b = decode(b.data, b.bytes, &size_b);
    cr_assert_not_null(rows_b, "%s", failure.message);
    cr_assert(size_a.width == size_b.width && size_a.height == size_b.height);
    for (size_t i = 0; i < (size_t)size_a.width * size_a.height * RUE_IMAGE_PIXEL_BYTES; i++)
        if (i % RUE_IMAGE_PIXEL_BYTES < 3) cr_assert_eq(rows_a[i], rows_b[i], "byte %zu differs", i);
    free(rows_a);
    free(rows_b);
}

/* Where the first marker of that kind is. */
static size_t find(struct jpeg_file file, int marker)
{
    for (size_t i = 0; i + 1 < file.bytes; i++)
        if (file.data[i] == 0xFF && file.data[i + 1] == marker) return i;
    cr_assert_fail("no marker %02x", (unsigned)marker);
    return 0;
}

Test(jpeg, size_is_that_of_the_header)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 61, .height = 17});
    struct rue_image_size size;
    uint8_t *rows = decode(file.data, file.bytes, &size);
    cr_assert_not_null(rows, "%s", failure.message);
    cr_assert(size.width == 61 && size.height == 17, "%u x %u", size.width, size.height);
    free(rows);
    free(file.data);
}

Test(jpeg, grey_is_replicated)
{
    struct jpeg_file file =
        jpeg_make((struct jpeg_recipe){.width = 33, .height = 9, .colours = JCS_GRAYSCALE});
    struct rue_image_size size;
    uint8_t *rows = decode(file.data, file.bytes, &size);
    cr_assert_not_null(rows, "%s", failure.message);
    for (size_t i = 0; i < (size_t)33 * 9; i++, rows += RUE_IMAGE_PIXEL_BYTES)
        cr_assert(rows[0] == rows[1] && rows[1] == rows[2], "pixel %zu has colour", i);
    free(rows - (size_t)33 * 9 * RUE_IMAGE_PIXEL_BYTES);
    free(file.data);
}

Test(jpeg, pixels_do_not_depend_on_the_entropy_coding)
{
    struct jpeg_recipe recipes[] = {{.progressive = true}, {.restart_rows = 1}, {.arithmetic = true}};
    struct jpeg_file plain = jpeg_make((struct jpeg_recipe){.width = 100, .height = 75});
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        recipes[i].width = 100;
        recipes[i].height = 75;
        struct jpeg_file other = jpeg_make(recipes[i]);
        assert_same_pixels(plain, other);
        free(other.data);
    }
    free(plain.data);
}

static const struct jpeg_recipe kinds[] = {
    {.luma_h = 1, .luma_v = 1}, {.luma_h = 2, .luma_v = 1}, {.luma_h = 1, .luma_v = 2},
    {.luma_h = 2, .luma_v = 2}, {.luma_h = 4, .luma_v = 1}, {.luma_h = 1, .luma_v = 4},
    {.luma_h = 4, .luma_v = 2}, {.luma_h = 2, .luma_v = 4}, {.arithmetic = true},
    {.colours = JCS_CMYK},      {.colours = JCS_GRAYSCALE},
};

/* Of a baseline image, and of a progressive one of which scans are missing. */
static void assert_crops_of_all_kinds(unsigned width, unsigned height)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (unsigned scans = 0; scans < 10; scans++) {
            struct jpeg_recipe recipe = kinds[i];
            recipe.width = width, recipe.height = height, recipe.progressive = scans > 0;
            struct jpeg_file file = jpeg_make(recipe);
            if (scans == 0 || jpeg_keep_scans(&file, scans)) assert_crops(file);
            free(file.data);
        }
}

/* Where scans are missing, libjpeg smooths blocks with those beside them, also beyond the crop. */
Test(jpeg, crop_has_the_pixels_of_the_whole_image)
{
    assert_crops_of_all_kinds(200, 90);
    assert_crops_of_all_kinds(90, 200);
    assert_crops_of_all_kinds(161, 129);
}

Test(jpeg, crop_of_a_scaled_image_has_its_pixels)
{
    rue_jpeg_close(jpeg);
    cr_assert_eq(rue_jpeg_open(1000 * 1000, 32, rue_kernels_best(), &jpeg, NULL), RUE_OK);
    assert_crops_of_all_kinds(170, 90);  /* decoded at 1/2 */
    assert_crops_of_all_kinds(333, 129); /* at 1/4 */
    assert_crops_of_all_kinds(257, 600); /* at 1/8 */
}

Test(jpeg, file_cut_anywhere_is_truncated)
{
    for (int kind = 0; kind < 4; kind++) {
        struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 90,
                                                               .height = 70,
                                                               .progressive = kind == 1,
                                                               .restart_rows = kind == 2,
                                                               .arithmetic = kind == 3});
        for (size_t bytes = 1; bytes < file.bytes; bytes += 11) {
            unsigned char *cut = malloc(bytes); /* exactly as long, for the sanitizer */
            memcpy(cut, file.data, bytes);
            assert_refused(cut, bytes, "is truncated");
            free(cut);
        }
        assert_refused(file.data, file.bytes - 1, "is truncated");
        assert_refused(file.data, file.bytes - 2, "is truncated"); /* only the end marker is missing */
        free(file.data);
    }
}

Test(jpeg, bytes_after_the_end_are_ignored)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 40, .height = 40});
    struct jpeg_file longer = {calloc(1, file.bytes + 100), file.bytes + 100};
    memcpy(longer.data, file.data, file.bytes);
    assert_same_pixels(file, longer);
    free(longer.data);
    free(file.data);
}

Test(jpeg, damage_that_is_only_a_warning_passes)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 40, .height = 40});
    struct jpeg_file dirty = {calloc(1, file.bytes + 9),
                              file.bytes + 9}; /* stray bytes before the end marker */
    memcpy(dirty.data, file.data, file.bytes - 2);
    dirty.data[dirty.bytes - 2] = 0xFF;
    dirty.data[dirty.bytes - 1] = JPEG_EOI;
    assert_same_pixels(file, dirty);
    free(dirty.data);
    free(file.data);
}

/* Where all rows are there, PIL does not ask for more. */
Test(jpeg, end_marker_may_be_missing_after_the_last_row)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 40, .height = 40});
    struct jpeg_file open = {calloc(1, file.bytes + 100), file.bytes + 100}; /* no row needs the last bytes */
    memcpy(open.data, file.data, file.bytes - 2);
    assert_same_pixels(file, open);
    free(open.data);
    free(file.data);
}

Test(jpeg, damage_after_the_last_row_counts_up_to_the_end_of_a_block)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 40, .height = 40});
    struct jpeg_file longer = {calloc(1, 65538), 65538};
    memcpy(longer.data, file.data, file.bytes - 2);
    longer.data[65536] = 0xFF;
    longer.data[65537] = 0x02; /* reserved: an error anywhere but here */
    assert_same_pixels(file, longer);
    longer.data[65534] = 0xFF;
    longer.data[65535] = 0x02;
    assert_refused(longer.data, longer.bytes, "cannot be decoded");
    free(longer.data);
    free(file.data);
}

Test(jpeg, inverted_cmyk_becomes_rgb)
{
    static const struct {
        unsigned char cmyk[4], rgb[3];
    } colours[] = {
        {{255, 255, 255, 255}, {255, 255, 255}}, {{255, 255, 255, 0}, {0, 0, 0}},
        {{0, 255, 255, 255}, {0, 255, 255}},     {{0, 0, 0, 255}, {0, 0, 0}},
        {{255, 128, 0, 200}, {200, 100, 0}}, /* 200 - 99.61 rounded */
        {{200, 100, 50, 77}, {60, 30, 15}},  /* 77 - 16.61, 77 - 46.80, 77 - 61.90 */
        {{1, 2, 254, 128}, {1, 1, 127}},     /* 128 - 127.50, 128 - 127.00, 128 - 0.50 */
    };
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
        struct jpeg_file file = jpeg_make(
            (struct jpeg_recipe){.width = 20, .height = 9, .colours = JCS_CMYK, .flat = colours[i].cmyk});
        struct rue_image_size size;
        uint8_t *rows = decode(file.data, file.bytes, &size);
        cr_assert_not_null(rows, "%s", failure.message);
        for (size_t at = 0; at < (size_t)20 * 9 * RUE_IMAGE_PIXEL_BYTES; at += RUE_IMAGE_PIXEL_BYTES)
            cr_assert_eq(memcmp(rows + at, colours[i].rgb, 3), 0, "colour %zu is %d, %d, %d", i, rows[at],
                         rows[at + 1], rows[at + 2]);
        free(rows);
        free(file.data);
    }
}

Test(jpeg, memory_for_scans_is_judged_from_the_header)
{
    struct rue_jpeg *large;
    cr_assert_eq(rue_jpeg_open(UINT64_C(1) << 30, 0, rue_kernels_best(), &large, NULL), RUE_OK);
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 20, .height = 20, .progressive = true});
    memcpy(file.data + find(file, 0xC2) + 5, "\x60\0\x60\0", 4); /* 24576 x 24576, in 4:2:0 */
    struct rue_image_size size;
    cr_assert_eq(rue_jpeg_begin(large, file.data, file.bytes, &size, &failure), RUE_DATA);
    cr_assert(strstr(failure.message, "needs 1.8 GB of memory") && strstr(failure.message, "limit is 1.1 GB"),
              "%s", failure.message);
    rue_jpeg_close(large);
    free(file.data);
}

Test(jpeg, twelve_bits_are_refused)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 20, .height = 20});
    file.data[find(file, 0xC0) + 4] = 12;
    assert_refused(file.data, file.bytes, "has 12 bits per sample");
    free(file.data);
}

Test(jpeg, too_many_pixels_are_refused_with_both_figures)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 20, .height = 20});
    size_t at = find(file, 0xC0) + 5;
    memcpy(file.data + at, "\x03\xE9\x03\xE8", 4); /* 1001 rows of 1000 */
    assert_refused(file.data, file.bytes,
                   "has 1,001,000 pixels (1000 x 1001), and the limit is 1,000,000: make it smaller");
    free(file.data);
}

Test(jpeg, hundred_scans_are_the_most)
{
    struct jpeg_recipe recipe = {.width = 64, .height = 48, .progressive = true};
    struct jpeg_file most = jpeg_repeat_scans(jpeg_make(recipe), RUE_JPEG_SCANS_MAX);
    struct rue_image_size size;
    uint8_t *rows = decode(most.data, most.bytes, &size);
    cr_assert_not_null(rows, "%s", failure.message);
    free(rows);
    free(most.data);
    for (unsigned scans = RUE_JPEG_SCANS_MAX + 1; scans < 10000; scans *= 3) {
        struct jpeg_file more = jpeg_repeat_scans(jpeg_make(recipe), scans);
        assert_refused(more.data, more.bytes, "has more than 100 scans");
        free(more.data);
    }
}

Test(jpeg, tables_do_not_leak_into_the_next_image)
{
    struct jpeg_file whole = jpeg_make((struct jpeg_recipe){.width = 40, .height = 40});
    struct jpeg_file without =
        jpeg_make((struct jpeg_recipe){.width = 40, .height = 40, .without_tables = true});
    struct rue_image_size size;
    free(decode(whole.data, whole.bytes, &size));
    assert_refused(without.data, without.bytes, "cannot be decoded");
    free(without.data);
    free(whole.data);
}

Test(jpeg, decoder_is_usable_after_an_error)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 90, .height = 70});
    for (size_t bytes = 0; bytes < file.bytes; bytes += file.bytes / 5) {
        struct rue_image_size size;
        cr_assert_null(decode(file.data, bytes, &size));
        assert_same_pixels(file, file);
    }
    free(file.data);
}

Test(jpeg, abandoned_image_is_forgotten)
{
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 90, .height = 70, .progressive = true});
    struct rue_image_size size;
    uint8_t row[90 * RUE_IMAGE_PIXEL_BYTES];
    cr_assert_eq(rue_jpeg_begin(jpeg, file.data, file.bytes, &size, &failure), RUE_OK);
    cr_assert_eq(rue_jpeg_rows(jpeg, 1, row, sizeof row, &failure), RUE_OK);
    assert_same_pixels(file, file);
    cr_assert_eq(rue_jpeg_begin(jpeg, file.data, file.bytes, &size, &failure), RUE_OK);
    free(file.data);
}

Test(jpeg, error_may_be_null)
{
    struct rue_image_size size;
    cr_assert_eq(rue_jpeg_begin(jpeg, "\xFF\xD8\xFF\xD9", 4, &size, NULL), RUE_DATA);
}
