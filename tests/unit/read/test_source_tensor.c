#include <criterion/criterion.h>
#include <stddef.h>

#include "data_fixture.h"
#include "tensor_file.h"

enum { COUNT = 4, SIDE = 24, VALUES = 3 * SIDE * SIDE };

static unsigned char *file; /* a whole file, for the tests that damage it */
static size_t file_bytes;

static void make(const char *name, enum rue_dtype dtype)
{
    static const char *const classes[] = {"\xc3\xa4pfel", "b c", ""};
    const struct rue_sink_options made = {.mode = RUE_PREPROCESSED,
                                          .dtype = dtype,
                                          .shape = {3, SIDE, SIDE},
                                          .count = COUNT,
                                          .class_count = 3,
                                          .classes = classes};
    struct rue_sink *sink;
    rue_error error = {0};
    cr_assert_eq(rue_sink_open(rue_sink_find("tensor"), temporary_path(name), &made, &sink, &error), RUE_OK,
                 "%s", error.message);
    for (int i = 0; i < COUNT; i++) {
        float values[VALUES];
        unsigned char levels[VALUES];
        for (int v = 0; v < VALUES; v++) {
            values[v] = (float)i + (float)v / 3;
            levels[v] = (unsigned char)(i * 31 + v);
        }
        const void *record = dtype == RUE_FLOAT32 ? (const void *)values : levels;
        const struct rue_item item = {"x", (i + 1) % 3, record, rue_sink_item_bytes(&made)};
        cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_OK);
    }
    cr_assert_eq(rue_sink_finish(sink, &error), RUE_OK, "%s", error.message);
    rue_sink_close(sink);
}

static void setup(void)
{
    temporary_folder_make();
    make("whole", RUE_UINT8);
    file = temporary_read("whole", &file_bytes);
}

static void teardown(void)
{
    free(file);
    temporary_folder_remove();
}

TestSuite(source_tensor, .init = setup, .fini = teardown, .timeout = 60);

/* Opening `bytes` of the file must fail with its name. */
static const char *refuse(size_t bytes)
{
    static rue_error error;
    struct rue_source *source;
    temporary_file("damaged", file, bytes);
    error = (rue_error){0};
    rue_status status = rue_source_open(temporary_path("damaged"),
                                        &(struct rue_source_options){.format = "tensor"}, &source, &error);
    cr_assert_eq(status, RUE_DATA, "a file of %zu bytes was taken", bytes);
    cr_assert(strstr(error.message, temporary_path("damaged")), "%s", error.message);
    return error.message;
}

static struct rue_tensor_header *header(void)
{
    return (struct rue_tensor_header *)file;
}

static void sign_index(void)
{
    header()->index_crc = rue_crc32c(0, file + header()->labels_offset, file_bytes - header()->labels_offset);
}

static void sign_header(void)
{
    header()->header_crc = rue_crc32c(0, file, offsetof(struct rue_tensor_header, header_crc));
}

static void expect_round_trip(const char *name, enum rue_dtype dtype)
{
    struct rue_source *source = data_open(name);
    static float values[VALUES];
    unsigned char *levels = (unsigned char *)values;
    cr_assert_eq(rue_source_count(source), COUNT);
    cr_assert_str_eq(rue_source_variant(source).dtype, rue_dtype_names[dtype]);
    for (int i = 0; i < COUNT; i++) {
        rue_error error = {0};
        cr_assert_eq(rue_source_bytes(source, (uint64_t)i), VALUES * rue_dtype_bytes[dtype]);
        cr_assert_eq(rue_source_read(source, (uint64_t)i, values, &error), RUE_OK, "%s", error.message);
        cr_assert_eq(rue_source_verify(source, (uint64_t)i, values, &error), RUE_OK, "%s", error.message);
        for (int v = 0; v < VALUES; v++)
            if (dtype == RUE_FLOAT32)
                cr_assert_eq(values[v], (float)i + (float)v / 3);
            else
                cr_assert_eq(levels[v], (unsigned char)(i * 31 + v));
        int32_t label = rue_source_label(source, (uint64_t)i);
        cr_assert_eq(label, (i + 1) % 3);
    }
    cr_assert_eq(rue_source_class_count(source), 3);
    cr_assert_str_eq(rue_source_class_name(source, 0), "\xc3\xa4pfel");
    cr_assert_str_eq(rue_source_class_name(source, 1), "b c");
    cr_assert_str_eq(rue_source_class_name(source, 2), "");
    rue_source_close(source);
}

Test(source_tensor, float32_is_read_back)
{
    make("float32", RUE_FLOAT32);
    expect_round_trip("float32", RUE_FLOAT32);
}

Test(source_tensor, uint8_is_read_back)
{
    expect_round_trip("whole", RUE_UINT8);
}

Test(source_tensor, an_item_is_named_by_file_and_record)
{
    struct rue_source *source = data_open("whole");
    char name[PATH_MAX + 32];
    rue_source_name(source, 2, name, sizeof name);
    cr_assert(strstr(name, "/whole record 2"), "%s", name);
    rue_source_close(source);
}

Test(source_tensor, every_flipped_bit_of_a_record_is_found)
{
    static unsigned char values[VALUES];
    struct rue_source *source = data_open("whole");
    cr_assert_eq(rue_source_read(source, 1, values, NULL), RUE_OK);
    for (int bit = 0; bit < 8 * VALUES; bit += 37) {
        rue_error error = {0};
        values[bit / 8] ^= (unsigned char)(1 << bit % 8);
        cr_assert_eq(rue_source_verify(source, 1, values, &error), RUE_DATA, "bit %d", bit);
        cr_assert(strstr(error.message, "record 1") && strstr(error.message, "/whole"), "%s", error.message);
        values[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    cr_assert_eq(rue_source_verify(source, 1, values, NULL), RUE_OK);
    rue_source_close(source);
}

Test(source_tensor, damage_on_storage_is_found)
{
    static unsigned char values[VALUES];
    file[4096 * 3 + 100] ^= 4;
    temporary_file("damaged", file, file_bytes);
    struct rue_source *source = data_open("damaged");
    for (uint64_t i = 0; i < COUNT; i++) {
        cr_assert_eq(rue_source_read(source, i, values, NULL), RUE_OK);
        cr_assert_eq(rue_source_verify(source, i, values, NULL), i == 2 ? RUE_DATA : RUE_OK, "record %d",
                     (int)i);
    }
    rue_source_close(source);
}

Test(source_tensor, every_damaged_byte_of_the_header_is_found)
{
    for (size_t at = 0; at < sizeof(struct rue_tensor_header); at++) {
        file[at] ^= 0x10;
        refuse(file_bytes);
        file[at] ^= 0x10;
    }
}

/* A header that is wrong, but signed: no reader may trust it more than the file. */
#define REFUSE_FIELD(field, value)                 \
    do {                                           \
        struct rue_tensor_header kept = *header(); \
        header()->field = (value);                 \
        sign_header();                             \
        refuse(file_bytes);                        \
        *header() = kept;                          \
    } while (0)

Test(source_tensor, impossible_fields_are_refused_even_when_signed)
{
    REFUSE_FIELD(version, RUE_TENSOR_VERSION + 1);
    REFUSE_FIELD(version, 0);
    REFUSE_FIELD(dtype, RUE_DTYPE_COUNT);
    REFUSE_FIELD(dtype, UINT32_MAX);
    REFUSE_FIELD(count, 0);
    REFUSE_FIELD(count, COUNT + 1);
    REFUSE_FIELD(count, UINT64_MAX);
    REFUSE_FIELD(count, UINT64_C(1) << 62);
    REFUSE_FIELD(count, UINT64_C(1) << 44);
    REFUSE_FIELD(channels, 0);
    REFUSE_FIELD(channels, UINT32_MAX);
    REFUSE_FIELD(height, 0);
    REFUSE_FIELD(height, 4096);
    REFUSE_FIELD(width, UINT32_MAX);
    REFUSE_FIELD(record_stride, 0);
    REFUSE_FIELD(record_stride, 8192);
    REFUSE_FIELD(data_offset, 0);
    REFUSE_FIELD(data_offset, 8192);
    REFUSE_FIELD(labels_offset, 0);
    REFUSE_FIELD(crcs_offset, UINT64_MAX);
    REFUSE_FIELD(classes_offset, header()->classes_offset + 1);
    REFUSE_FIELD(file_bytes, 0);
    REFUSE_FIELD(file_bytes, file_bytes + 1);
    REFUSE_FIELD(file_bytes, UINT64_MAX);
    REFUSE_FIELD(class_count, 4);
    REFUSE_FIELD(class_count, UINT32_MAX);
    REFUSE_FIELD(index_crc, header()->index_crc ^ 1);
}

Test(source_tensor, a_label_without_a_class_is_refused)
{
    static const int32_t labels[] = {3, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        memcpy(file + header()->labels_offset + 8, &labels[i], 4);
        sign_index();
        sign_header();
        const char *message = refuse(file_bytes);
        cr_assert(strstr(message, "label of record 2"), "%s", message);
    }
}

Test(source_tensor, every_damaged_byte_of_the_index_is_found)
{
    for (size_t at = header()->labels_offset; at < file_bytes; at++)
        for (int bit = 0; bit < 8; bit++) {
            file[at] ^= (unsigned char)(1 << bit);
            const char *message = refuse(file_bytes);
            cr_assert(strstr(message, "index") && strstr(message, "make it again"), "%s", message);
            file[at] ^= (unsigned char)(1 << bit);
        }
}

Test(source_tensor, a_file_of_an_older_rue_is_named_as_such)
{
    header()->version = 1;
    const char *message = refuse(file_bytes);
    cr_assert(strstr(message, "made by an older rue; make it again with rue prepare"), "%s", message);
}

Test(source_tensor, its_shape_is_reported)
{
    uint32_t shape[3];
    struct rue_source *source = data_open("whole");
    cr_assert(rue_source_shape(source, shape));
    cr_assert(shape[0] == 3 && shape[1] == SIDE && shape[2] == SIDE);
    rue_source_close(source);
}

/* Files of an older rue end after the names of the classes. */
Test(source_tensor, what_items_were_made_with_follows_the_classes_or_is_not_recorded)
{
    static const char text[] = "resize 256 layout nchw";
    struct rue_source *source = data_open("whole");
    cr_assert_str_eq(rue_source_made_with(source), "");
    rue_source_close(source);
    unsigned char *longer = realloc(file, file_bytes + sizeof text);
    cr_assert(longer);
    file = longer;
    memcpy(file + file_bytes, text, sizeof text);
    file_bytes += sizeof text;
    header()->file_bytes = file_bytes;
    sign_index();
    sign_header();
    temporary_file("longer", file, file_bytes);
    source = data_open("longer");
    cr_assert_str_eq(rue_source_made_with(source), text);
    cr_assert_eq(rue_source_class_count(source), 3);
    rue_source_close(source);
}

Test(source_tensor, a_file_that_was_cut_is_refused_wherever)
{
    const struct rue_tensor_header *h = header();
    const uint64_t cuts[] = {0,
                             1,
                             sizeof *h - 1,
                             sizeof *h,
                             h->data_offset,
                             h->data_offset + 1,
                             h->data_offset + 2 * h->record_stride,
                             h->labels_offset,
                             h->labels_offset + 1,
                             h->crcs_offset,
                             h->classes_offset,
                             h->classes_offset + 3,
                             h->file_bytes - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) refuse(cuts[i]);
}

Test(source_tensor, a_file_that_shrinks_while_open_names_the_byte)
{
    static unsigned char values[VALUES];
    struct rue_source *source = data_open("whole");
    rue_error error = {0};
    cr_assert_eq(truncate(temporary_path("whole"), 4096 * 3), 0);
    cr_assert_eq(rue_source_read(source, 2, values, &error), RUE_DATA);
    cr_assert(strstr(error.message, "/whole at byte 12288: it changed"), "%s", error.message);
    rue_source_close(source);
}

Test(source_tensor, the_digest_is_that_of_the_contents)
{
    make("again", RUE_UINT8);
    make("other", RUE_FLOAT32);
    struct rue_source *first = data_open("whole"), *same = data_open("again"), *other = data_open("other");
    cr_assert_eq(rue_source_digest(first), rue_source_digest(same));
    cr_assert_neq(rue_source_digest(first), rue_source_digest(other));
    rue_source_close(first);
    rue_source_close(same);
    rue_source_close(other);
}

Test(source_tensor, a_folder_is_not_a_tensor_file)
{
    rue_error error = {0};
    struct rue_source *source;
    cr_assert_eq(
        rue_source_open(temporary_folder, &(struct rue_source_options){.format = "tensor"}, &source, &error),
        RUE_DATA);
    cr_assert(strstr(error.message, temporary_folder), "%s", error.message);
}
