#include "archive_reader.h"

#include <criterion/criterion.h>

#include "compressed_fixture.h"
#include "files.h"

TestSuite(archive_reader, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { BYTES = 700001 };

static rue_status open_file(const char *name, struct rue_archive_reader **out, rue_error *error)
{
    static struct rue_files *files;
    rue_files_close(files);
    files = NULL;
    *out = NULL;
    cr_assert_eq(rue_files_add(&files, temporary_path(name), NULL), RUE_OK);
    return rue_archive_reader_open(files, 0, RUE_ARCHIVE_BYTES, out, error);
}

/* Half noise, half what can be compressed. */
static unsigned char byte_at(uint64_t place)
{
    uint64_t mixed = place * UINT64_C(0x9E3779B97F4A7C15);
    return place % 2000 < 1000 ? (unsigned char)(mixed >> 56) : (unsigned char)(place / 2000);
}

static unsigned char *make_content(void)
{
    unsigned char *data = malloc(BYTES);
    for (uint64_t i = 0; i < BYTES; i++) data[i] = byte_at(i);
    return data;
}

static rue_status read_all(const char *name, uint64_t *got, rue_error *error)
{
    struct rue_archive_reader *reader;
    unsigned char *data = malloc(3 * BYTES);
    rue_status status = open_file(name, &reader, error);
    if (status == RUE_OK) status = rue_archive_reader_read(reader, data, 3 * BYTES, got, error);
    for (uint64_t i = 0; status == RUE_OK && i < *got; i++) cr_assert_eq(data[i], byte_at(i % BYTES));
    rue_archive_reader_close(reader);
    free(data);
    return status;
}

static void expect_pieces(const char *name, bool compressed)
{
    struct rue_archive_reader *reader;
    unsigned char piece[20000];
    uint64_t got, at = 0;
    cr_assert_eq(open_file(name, &reader, NULL), RUE_OK);
    cr_assert_eq(rue_archive_reader_is_compressed(reader), compressed);
    for (uint64_t bytes = 1; at < BYTES; bytes = (bytes * 7 + 3) % sizeof piece + 1) {
        cr_assert_eq(rue_archive_reader_position(reader), at);
        cr_assert_eq(rue_archive_reader_read(reader, piece, bytes, &got, NULL), RUE_OK);
        cr_assert_eq(got, bytes < BYTES - at ? bytes : BYTES - at);
        for (uint64_t i = 0; i < got; i++) cr_assert_eq(piece[i], byte_at(at + i));
        at += got;
    }
    cr_assert(rue_archive_reader_read(reader, piece, 1, &got, NULL) == RUE_OK && got == 0);
    rue_archive_reader_close(reader);
}

Test(archive_reader, plain_and_compressed_archives_are_read_in_pieces)
{
    unsigned char *data = make_content();
    temporary_file("plain", data, BYTES);
    expect_pieces("plain", false);
    for (int f = 0; f < COMPRESSED_FILTERS; f++) {
        compressed_make("compressed", compressed_filters[f], data, BYTES);
        expect_pieces("compressed", true);
    }
    free(data);
}

Test(archive_reader, concatenated_streams_are_read_as_one)
{
    unsigned char *data = make_content();
    for (int f = 0; f < COMPRESSED_FILTERS; f++) {
        size_t bytes;
        uint64_t got = 0;
        compressed_make("one", compressed_filters[f], data, BYTES);
        unsigned char *one = temporary_read("one", &bytes), *two = malloc(2 * bytes);
        memcpy(two, one, bytes);
        memcpy(two + bytes, one, bytes);
        temporary_file("two", two, 2 * bytes);
        cr_assert_eq(read_all("two", &got, NULL), RUE_OK);
        cr_assert_eq(got, 2 * BYTES, "filter %d", compressed_filters[f]);
        free(one);
        free(two);
    }
    free(data);
}

Test(archive_reader, a_cut_or_damaged_file_is_an_error_that_names_file_and_byte)
{
    unsigned char *data = make_content();
    for (int f = 0; f < COMPRESSED_FILTERS; f++) {
        size_t bytes;
        int filter = compressed_filters[f];
        bool checked =
            filter != ARCHIVE_FILTER_GZIP && filter != ARCHIVE_FILTER_ZSTD && filter != ARCHIVE_FILTER_LZ4;
        compressed_make("whole", filter, data, BYTES);
        unsigned char *whole = temporary_read("whole", &bytes);
        for (int part = 1; part < 16; part++) {
            size_t at = bytes * (size_t)part / 16;
            for (int damaged = 0; damaged <= checked; damaged++) {
                rue_error error = {0};
                uint64_t got;
                if (damaged) whole[at] ^= 0x55;
                temporary_file("copy", whole, damaged ? bytes : at);
                cr_assert_eq(read_all("copy", &got, &error), RUE_DATA, "filter %d, part %d of 16, %d", filter,
                             part, damaged);
                cr_assert(strstr(error.message, "/copy is damaged or truncated at byte "), "%s",
                          error.message);
                if (damaged) whole[at] ^= 0x55;
            }
        }
        free(whole);
    }
    free(data);
}

Test(archive_reader, an_archive_without_bytes_has_no_members)
{
    struct rue_files *files = NULL;
    struct rue_archive_reader *reader;
    const struct rue_archive_member *member;
    bool found = true;
    temporary_text("empty.tar", "");
    cr_assert_eq(rue_files_add(&files, temporary_path("empty.tar"), NULL), RUE_OK);
    cr_assert_eq(rue_archive_reader_open(files, 0, RUE_ARCHIVE_TAR, &reader, NULL), RUE_OK);
    cr_assert(rue_archive_reader_next(reader, &member, &found, NULL) == RUE_OK && !found);
    rue_archive_reader_close(reader);
    rue_files_close(files);
}
