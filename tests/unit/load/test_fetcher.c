#include "fetcher.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sys/resource.h>

#include "data_fixture.h"

enum { PHOTOS = 6 };

TestSuite(fetcher, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static _Alignas(RUE_BLOCK_BYTES) float one[RUE_TENSOR_ITEMS], other[RUE_TENSOR_ITEMS];

static struct rue_fetcher *fetcher_with(const struct rue_source *source,
                                        const struct rue_fetcher_options options)
{
    struct rue_fetcher *fetcher;
    rue_error error = {0};
    cr_assert_eq(rue_fetcher_open(source, &options, &fetcher, &error), RUE_OK, "%s", error.message);
    return fetcher;
}

static struct rue_fetcher *make_fetcher(const struct rue_source *source, enum rue_dtype dtype,
                                        enum rue_bad_images bad_images)
{
    return fetcher_with(source, (struct rue_fetcher_options){.dtype = dtype,
                                                             .max_pixels = RUE_MAX_PIXELS_DEFAULT,
                                                             .bad_images = bad_images});
}

static void fetch(struct rue_fetcher *fetcher, uint64_t item, void *into)
{
    rue_error error = {0};
    uint64_t loaded = UINT64_MAX;
    rue_error damage = {0};
    cr_assert_eq(rue_fetcher_fetch(fetcher, item, (void *[]){into}, &loaded, &damage, &error), RUE_OK, "%s",
                 error.message);
    cr_assert_eq(loaded, item);
    cr_assert_eq(damage.status, RUE_OK, "%s", damage.message);
}

Test(fetcher, a_raw_item_becomes_the_transform_s_tensor)
{
    data_photos_make(PHOTOS);
    struct rue_source *source = data_open("photos");
    struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, RUE_BAD_FAIL);
    struct rue_transform *transform;
    cr_assert_eq(rue_transform_open(&(struct rue_transform_options){RUE_MAX_PIXELS_DEFAULT, RUE_DECODE_EXACT,
                                                                    .geometry = rue_geometry_default()},
                                    &transform, NULL),
                 RUE_OK);
    for (unsigned i = 0; i < PHOTOS; i++) { /* items come class by class: 0 3, 1 4, 2 5 */
        struct jpeg_file file = data_photo(i / 2 + i % 2 * 3);
        cr_assert_eq(rue_transform_jpeg(transform, file.data, file.bytes, RUE_FLOAT32, other, NULL), RUE_OK);
        fetch(fetcher, i, one);
        cr_assert_eq(memcmp(one, other, sizeof one), 0, "item %u", i);
        free(file.data);
    }
    rue_transform_close(transform);
    rue_fetcher_close(fetcher);
    rue_source_close(source);
}

Test(fetcher, tensors_of_either_type_give_the_values_of_the_raw_item)
{
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "float32", RUE_FLOAT32);
    data_tensor_make("photos", "uint8", RUE_UINT8);
    static const char *const names[] = {"float32", "uint8"};
    static const enum rue_access accesses[] = {RUE_ACCESS_BEST, RUE_ACCESS_READ, RUE_ACCESS_VIEW,
                                               RUE_ACCESS_DIRECT};
    struct rue_source *raw = data_open("photos");
    struct rue_fetcher *expected = make_fetcher(raw, RUE_FLOAT32, RUE_BAD_FAIL);
    for (int n = 0; n < 8; n++) {
        struct rue_source *source = data_open(names[n / 4]);
        struct rue_fetcher *fetcher =
            fetcher_with(source, (struct rue_fetcher_options){.max_pixels = RUE_MAX_PIXELS_DEFAULT,
                                                              .access = accesses[n % 4]});
        cr_assert(rue_source_allows(source, RUE_ACCESS_VIEW), "what was just written is in memory");
        for (unsigned i = 0; i < PHOTOS; i++) {
            fetch(expected, i, other);
            memset(one, 0, sizeof one);
            fetch(fetcher, i, one);
            cr_assert_eq(memcmp(one, other, sizeof one), 0, "%s, item %u, access %d", names[n / 4], i,
                         accesses[n % 4]);
        }
        rue_fetcher_close(fetcher);
        rue_source_close(source);
    }
    rue_fetcher_close(expected);
    rue_source_close(raw);
}

Test(fetcher, prefetched_items_equal_the_others)
{
    static const struct {
        enum rue_access access;
        enum rue_dtype stored, dtype;
    } cases[] = {{RUE_ACCESS_READ, RUE_FLOAT32, RUE_FLOAT32}, {RUE_ACCESS_READ, RUE_UINT8, RUE_FLOAT32},
                 {RUE_ACCESS_READ, RUE_UINT8, RUE_UINT8},     {RUE_ACCESS_DIRECT, RUE_FLOAT32, RUE_FLOAT32},
                 {RUE_ACCESS_DIRECT, RUE_UINT8, RUE_FLOAT32}, {RUE_ACCESS_DIRECT, RUE_UINT8, RUE_UINT8}};
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "0", RUE_FLOAT32);
    data_tensor_make("photos", "1", RUE_UINT8);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct rue_source *source = data_open(cases[c].stored == RUE_UINT8 ? "1" : "0");
        struct rue_fetcher_options options = {
            .max_pixels = RUE_MAX_PIXELS_DEFAULT, .dtype = cases[c].dtype, .access = cases[c].access};
        struct rue_fetcher *fetcher = fetcher_with(source, options);
        size_t bytes = (RUE_TENSOR_ITEMS * rue_dtype_bytes[options.dtype]);
        char *ahead = aligned_alloc(RUE_BLOCK_BYTES, PHOTOS * sizeof one);
        for (unsigned i = PHOTOS; i-- > 0;) cr_assert(rue_fetcher_prefetch(fetcher, i, ahead + i * bytes));
        for (unsigned i = PHOTOS; i-- > 0;) fetch(fetcher, i, ahead + i * bytes);
        for (unsigned i = 0; i < PHOTOS; i++) {
            fetch(fetcher, i, one);
            cr_assert_eq(memcmp(one, ahead + i * bytes, bytes), 0, "case %zu, item %u", c, i);
        }
        cr_assert(rue_fetcher_prefetch(fetcher, 0, ahead) && rue_fetcher_prefetch(fetcher, 1, ahead + bytes));
        fetch(fetcher, 2, one);
        cr_assert_eq(memcmp(one, ahead + 2 * bytes, bytes), 0, "another than what is expected");
        rue_fetcher_discard(fetcher);
        rue_fetcher_close(fetcher);
        rue_source_close(source);
        free(ahead);
    }
}

Test(fetcher, photographs_and_views_are_not_read_ahead)
{
    data_photos_make(2);
    data_tensor_make("photos", "float32", RUE_FLOAT32);
    static const char *const names[] = {"photos", "float32"};
    for (int n = 0; n < 2; n++) {
        struct rue_source *source = data_open(names[n]);
        struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, RUE_BAD_FAIL);
        cr_assert(!rue_fetcher_prefetch(fetcher, 0, one), "%s", names[n]);
        rue_fetcher_discard(fetcher);
        rue_fetcher_close(fetcher);
        rue_source_close(source);
    }
}

Test(fetcher, photographs_of_a_batch_are_read_before_they_are_decoded)
{
    data_photos_make(PHOTOS);
    struct rue_source *source = data_open("photos");
    struct rue_fetcher_options options = {.max_pixels = RUE_MAX_PIXELS_DEFAULT, .read = RUE_READ_BATCH};
    struct rue_fetcher *plain = make_fetcher(source, RUE_FLOAT32, RUE_BAD_FAIL);
    struct rue_fetcher *ahead = fetcher_with(source, options);
    for (unsigned i = 0; i < PHOTOS; i++) cr_assert(rue_fetcher_prefetch(ahead, i, one));
    fetch(plain, 5, other);
    data_photo_damage(5); /* on storage, not in memory */
    for (unsigned i = 0; i < PHOTOS; i++) fetch(ahead, i, one);
    cr_assert_eq(memcmp(one, other, sizeof one), 0);
    cr_assert(rue_fetcher_prefetch(ahead, 0, one) && rue_fetcher_prefetch(ahead, 1, one));
    fetch(ahead, 2, one); /* another than what is expected */
    rue_fetcher_discard(ahead);
    fetch(ahead, 0, one);
    rue_fetcher_close(ahead);
    options.read = RUE_READ_ITEM;
    ahead = fetcher_with(source, options);
    cr_assert_not(rue_fetcher_prefetch(ahead, 0, one));
    rue_fetcher_close(ahead);
    rue_fetcher_close(plain);
    rue_source_close(source);
}

Test(fetcher, a_truncated_file_is_detected_by_every_access)
{
    static const enum rue_access accesses[] = {RUE_ACCESS_READ, RUE_ACCESS_VIEW, RUE_ACCESS_DIRECT};
    data_photos_make(PHOTOS);
    for (int a = 0; a < 3; a++) {
        data_tensor_make("photos", "cut", RUE_FLOAT32);
        struct rue_source *source = data_open("cut");
        struct rue_fetcher *fetcher =
            fetcher_with(source, (struct rue_fetcher_options){.max_pixels = RUE_MAX_PIXELS_DEFAULT,
                                                              .access = accesses[a]});
        rue_error error = {0};
        uint64_t loaded;
        fetch(fetcher, 2, one);
        cr_assert_eq(truncate(temporary_path("cut"), 4096 + (off_t)sizeof one * 3 - 1), 0);
        cr_assert_eq(rue_fetcher_fetch(fetcher, 2, (void *[]){one}, &loaded, NULL, &error), RUE_DATA);
        const char *why = accesses[a] == RUE_ACCESS_VIEW ? "the file ends" : "it changed since";
        cr_assert(strstr(error.message, "/cut") && strstr(error.message, why), "%s", error.message);
        rue_fetcher_close(fetcher);
        rue_source_close(source);
        unlink(temporary_path("cut"));
    }
}

Test(fetcher, uint8_values_are_the_same_from_files_and_tensors)
{
    data_photos_make(2);
    data_tensor_make("photos", "uint8", RUE_UINT8);
    struct rue_source *raw = data_open("photos"), *made = data_open("uint8");
    struct rue_fetcher *a = make_fetcher(raw, RUE_UINT8, RUE_BAD_FAIL);
    struct rue_fetcher *b = make_fetcher(made, RUE_UINT8, RUE_BAD_FAIL);
    fetch(a, 1, one);
    fetch(b, 1, other);
    cr_assert_eq(memcmp(one, other, (RUE_TENSOR_ITEMS * rue_dtype_bytes[RUE_UINT8])), 0);
    rue_fetcher_close(a);
    rue_fetcher_close(b);
    rue_source_close(raw);
    rue_source_close(made);
}

static void expect_wrong_dtype(const char *data, enum rue_dtype dtype, const char *word)
{
    struct rue_source *source = data_open(data);
    const struct rue_fetcher_options options = {.dtype = dtype, .max_pixels = RUE_MAX_PIXELS_DEFAULT};
    struct rue_fetcher *fetcher;
    rue_error error = {0};
    cr_assert_eq(rue_fetcher_open(source, &options, &fetcher, &error), RUE_USAGE);
    cr_assert(strstr(error.message, word) && strstr(error.message, "images"), "%s", error.message);
    rue_source_close(source);
}

Test(fetcher, values_that_tensors_cannot_have_are_refused)
{
    data_photos_make(1);
    data_tensor_make("photos", "float32", RUE_FLOAT32);
    data_tensor_make("photos", "uint8", RUE_UINT8);
    expect_wrong_dtype("float32", RUE_UINT8, "/float32");
    expect_wrong_dtype("float32", RUE_FLOAT16, "/float32");
    expect_wrong_dtype("uint8", RUE_FLOAT16, "/uint8");
    expect_wrong_dtype("photos", RUE_FLOAT16, "float16");
}

/* The values of item 0 of a source that holds one item of `stored` values. */
static void fetch_made(uint32_t channels, enum rue_dtype stored, const void *values, float *into)
{
    data_shaped_tensor_make("small", channels, 2, stored, values);
    struct rue_source *source = data_open("small");
    const struct rue_fetcher_options options = {0};
    cr_assert_eq(rue_fetcher_shape(source, &options).all_values, channels * 4);
    struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, RUE_BAD_FAIL);
    fetch(fetcher, 0, into);
    rue_fetcher_close(fetcher);
    rue_source_close(source);
    cr_assert_eq(unlink(temporary_path("small")), 0);
}

Test(fetcher, items_of_any_shape_become_float32)
{
    const float values[8] = {1, -2, 3.5F, 0, 5, 6, 7, 8};
    const uint16_t halves[8] = {0x3C00, 0xC000, 0x0001, 0x8000, 0x7BFF, 0x7C00, 0xFC00, 0x0400};
    const float wide[8] = {1, -2, 0x1p-24F, -0.0F, 65504, INFINITY, -INFINITY, 0x1p-14F};
    const uint8_t levels[12] = {0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6};
    fetch_made(2, RUE_FLOAT32, values, one);
    cr_assert_eq(memcmp(one, values, sizeof values), 0);
    fetch_made(2, RUE_FLOAT16, halves, one);
    cr_assert_eq(memcmp(one, wide, sizeof wide), 0);
    fetch_made(2, RUE_UINT8, levels, one);
    for (int i = 0; i < 8; i++) cr_assert_eq(one[i], (float)levels[i] / 255.0F);
    fetch_made(3, RUE_UINT8, levels, one); /* as an image */
    for (int i = 0; i < 4; i++) cr_assert_eq(one[i], ((float)levels[i] / 255.0F - 0.485F) / 0.229F);
    for (int i = 8; i < 12; i++) cr_assert_eq(one[i], ((float)levels[i] / 255.0F - 0.406F) / 0.225F);
}

/* What fetching `item` says, which must fail. */
static const char *fail(const struct rue_source *source, enum rue_bad_images bad_images, uint64_t item,
                        rue_status expected)
{
    static rue_error error;
    struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, bad_images);
    uint64_t loaded;
    error = (rue_error){0};
    rue_status status = rue_fetcher_fetch(fetcher, item, (void *[]){one}, &loaded, NULL, &error);
    cr_assert_eq(status, expected, "%s: %s", rue_status_text(status), error.message);
    rue_fetcher_close(fetcher);
    return error.message;
}

Test(fetcher, a_damaged_file_is_named_with_the_reason)
{
    static const struct {
        char contents[24], reason[24];
    } cases[] = {{"", "empty"}, {"\x89PNG\r\n\x1a\n and so on", "PNG"}, {"plain text", "not a JPEG"}};
    data_photos_make(3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        temporary_text(data_photo_name(1), cases[i].contents);
        struct rue_source *source = data_open("photos");
        const char *message = fail(source, RUE_BAD_FAIL, 1, RUE_DATA);
        cr_assert(strstr(message, temporary_path(data_photo_name(1))), "%s", message);
        cr_assert(strstr(message, cases[i].reason), "%s", message);
        rue_source_close(source);
    }
    data_photo_damage(1);
    struct rue_source *source = data_open("photos");
    const char *message = fail(source, RUE_BAD_FAIL, 1, RUE_DATA);
    cr_assert(strstr(message, temporary_path(data_photo_name(1))) && strstr(message, "truncated"), "%s",
              message);
    rue_source_close(source);
}

Test(fetcher, verify_names_a_file_that_cannot_be_decoded)
{
    data_photos_make(3);
    temporary_text(data_photo_name(1), "\x89PNG\r\n\x1a\n and so on");
    struct rue_source *source = data_open("photos");
    struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, RUE_BAD_FAIL);
    for (uint64_t item = 0; item < 3; item++) {
        rue_error error = {0};
        rue_status status = rue_fetcher_verify(fetcher, item, &error);
        cr_assert_eq(status, item == 1 ? RUE_DATA : RUE_OK);
        cr_assert(item != 1 || (strstr(error.message, data_photo_name(1)) && strstr(error.message, "PNG")),
                  "%s", error.message);
    }
    rue_fetcher_close(fetcher);
    rue_source_close(source);
}

Test(fetcher, the_next_image_is_decoded_after_a_bad_one)
{
    data_photos_make(3);
    data_photo_damage(1);
    struct rue_source *source = data_open("photos");
    struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, RUE_BAD_FAIL);
    uint64_t loaded;
    fetch(fetcher, 2, other);
    cr_assert_eq(rue_fetcher_fetch(fetcher, 1, (void *[]){one}, &loaded, NULL, NULL), RUE_DATA);
    fetch(fetcher, 2, one);
    cr_assert_eq(memcmp(one, other, sizeof one), 0);
    rue_fetcher_close(fetcher);
    rue_source_close(source);
}

Test(fetcher, replacing_uses_the_next_good_image_and_its_number)
{
    data_photos_make(3); /* items 0, 1, 2 are photos 0, 1, 2 */
    data_photo_damage(1);
    data_photo_damage(2);
    struct rue_source *source = data_open("photos");
    struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, RUE_BAD_REPLACE);
    rue_error error = {0}, damage = {0};
    uint64_t loaded = UINT64_MAX;
    fetch(fetcher, 0, other);
    cr_assert_eq(rue_fetcher_fetch(fetcher, 1, (void *[]){one}, &loaded, &damage, &error), RUE_OK, "%s",
                 error.message);
    cr_assert_eq(loaded, 0, "after the last item comes the first");
    cr_assert_eq(memcmp(one, other, sizeof one), 0);
    cr_assert(strstr(damage.message, data_photo_name(1)), "the one asked for: %s", damage.message);
    cr_assert_eq(error.status, RUE_OK, "no error is left behind");
    rue_fetcher_close(fetcher);
    rue_source_close(source);
}

Test(fetcher, replacing_also_skips_missing_files)
{
    data_photos_make(3);
    struct rue_source *source = data_open("photos");
    cr_assert_eq(unlink(temporary_path(data_photo_name(0))), 0);
    struct rue_fetcher *fetcher = make_fetcher(source, RUE_FLOAT32, RUE_BAD_REPLACE);
    uint64_t loaded = UINT64_MAX;
    rue_error damage = {0};
    cr_assert_eq(rue_fetcher_fetch(fetcher, 0, (void *[]){one}, &loaded, &damage, NULL), RUE_OK);
    cr_assert(loaded == 1 && strstr(damage.message, "No such file"), "%s", damage.message);
    rue_fetcher_close(fetcher);
    rue_source_close(source);
}

Test(fetcher, replacing_fails_if_all_images_are_bad)
{
    data_photos_make(3);
    for (unsigned i = 0; i < 3; i++) data_photo_damage(i);
    struct rue_source *source = data_open("photos");
    const char *message = fail(source, RUE_BAD_REPLACE, 1, RUE_DATA);
    cr_assert(strstr(message, "/photos/class_") && strstr(message, "truncated"), "%s", message);
    rue_source_close(source);
}

Test(fetcher, only_damaged_items_are_replaced)
{
    data_photos_make(3);
    struct rue_source *source = data_open("photos");
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = dup(0);
    close(next);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, limit.rlim_max}), 0);
    const char *message = fail(source, RUE_BAD_REPLACE, 1, RUE_INFEASIBLE);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert(strstr(message, data_photo_name(1)) && strstr(message, "Too many open files"), "%s", message);
    rue_source_close(source);
}

Test(fetcher, the_pixel_limit_is_the_caller_s)
{
    data_photos_make(1);
    struct rue_source *source = data_open("photos");
    const struct rue_fetcher_options options = {.dtype = RUE_FLOAT32, .max_pixels = 20 * 16 - 1};
    struct rue_fetcher *fetcher;
    rue_error error = {0};
    uint64_t loaded;
    cr_assert_eq(rue_fetcher_open(source, &options, &fetcher, NULL), RUE_OK);
    cr_assert_eq(rue_fetcher_fetch(fetcher, 0, (void *[]){one}, &loaded, NULL, &error), RUE_DATA);
    cr_assert(strstr(error.message, "320 pixels"), "%s", error.message);
    rue_fetcher_close(fetcher);
    rue_source_close(source);
}

Test(fetcher, close_accepts_null)
{
    rue_fetcher_close(NULL);
}
