#include <criterion/criterion.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

#include "crc32c.h"
#include "sink.h"
#include "temporary_folder.h"
#include "tensor_file.h"

TestSuite(sink_tensor, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { COUNT = 3, VALUES = 3 * 20 * 30 };
static const char *const classes[] = {"cat", "dog"};
static const struct rue_sink_options uint8 = {.mode = RUE_PREPROCESSED,
                                              .dtype = RUE_UINT8,
                                              .shape = {3, 20, 30},
                                              .count = COUNT,
                                              .class_count = 2,
                                              .classes = classes};

static struct rue_sink *begin(const char *name)
{
    rue_error error = {0};
    struct rue_sink *sink;
    rue_status status = rue_sink_open(rue_sink_find("tensor"), temporary_path(name), &uint8, &sink, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return sink;
}

static void add(struct rue_sink *sink, int i)
{
    unsigned char values[VALUES];
    memset(values, 'a' + i, sizeof values);
    const struct rue_item item = {"x", i % 2, values, VALUES};
    cr_assert_eq(rue_sink_add(sink, &item, NULL), RUE_OK);
}

static void write_file(const char *name)
{
    rue_error error = {0};
    struct rue_sink *sink = begin(name);
    for (int i = 0; i < COUNT; i++) add(sink, i);
    cr_assert_eq(rue_sink_finish(sink, &error), RUE_OK, "%s", error.message);
    rue_sink_close(sink);
}

Test(sink_tensor, the_header_has_the_offsets_of_all_sections)
{
    size_t bytes;
    write_file("out");
    unsigned char *file = temporary_read("out", &bytes);
    struct rue_tensor_header h;
    memcpy(&h, file, sizeof h);
    cr_assert_eq(memcmp(h.magic, "RUETENSR", 8), 0);
    cr_assert(h.version == 2 && h.dtype == RUE_UINT8 && h.count == COUNT && h.channels == 3 &&
              h.height == 20 && h.width == 30 && h.class_count == 2);
    cr_assert_eq(h.record_stride, 4096);
    cr_assert_eq(h.data_offset, 4096);
    cr_assert_eq(h.labels_offset, 4096 + COUNT * 4096);
    cr_assert_eq(h.crcs_offset, h.labels_offset + 4 * COUNT);
    cr_assert_eq(h.classes_offset, h.crcs_offset + 4 * COUNT);
    cr_assert_eq(h.file_bytes, bytes);
    cr_assert_eq(h.index_crc, rue_crc32c(0, file + h.labels_offset, bytes - h.labels_offset));
    cr_assert_eq(h.header_crc, rue_crc32c(0, file, offsetof(struct rue_tensor_header, header_crc)));
    free(file);
}

Test(sink_tensor, records_are_aligned_and_padded_with_zeros)
{
    size_t bytes;
    write_file("out");
    unsigned char *file = temporary_read("out", &bytes);
    for (int i = 0; i < COUNT; i++) {
        const unsigned char *record = file + 4096 * (i + 1);
        for (int at = 0; at < 4096; at++)
            cr_assert_eq(record[at], at < VALUES ? 'a' + i : 0, "record %d, byte %d", i, at);
        int32_t label;
        uint32_t crc;
        memcpy(&label, file + 4096 * (COUNT + 1) + 4 * i, 4);
        memcpy(&crc, file + 4096 * (COUNT + 1) + 4 * COUNT + 4 * i, 4);
        cr_assert_eq(label, i % 2);
        cr_assert_eq(crc, rue_crc32c(0, record, VALUES), "the padding is not in the checksum");
    }
    cr_assert_eq(memcmp(file + bytes - 8, "cat\0dog", 8), 0);
    free(file);
}

Test(sink_tensor, an_incomplete_file_has_no_valid_header)
{
    size_t bytes;
    struct rue_sink *sink = begin("out");
    for (int i = 0; i < COUNT; i++) add(sink, i);
    unsigned char *part = temporary_read("out", &bytes);
    cr_assert_geq(bytes, 4096 * (COUNT + 1));
    cr_assert_neq(memcmp(part, "RUETENSR", 8), 0);
    free(part);
    rue_sink_close(sink);
}

Test(sink_tensor, a_missing_folder_is_an_error_with_the_path)
{
    rue_error error = {0};
    struct rue_sink *sink;
    rue_status status =
        rue_sink_open(rue_sink_find("tensor"), temporary_path("no/out"), &uint8, &sink, &error);
    cr_assert_eq(status, RUE_STORE);
    cr_assert(strstr(error.message, "/no/out") && strstr(error.message, "No such file"), "%s", error.message);
}

/* A disk that is full for everybody, root included: the process's own limit of a file's size. */
Test(sink_tensor, a_full_disk_is_an_error_with_the_path)
{
    rue_error error = {0};
    unsigned char values[VALUES] = {0};
    const struct rue_item item = {"x", 0, values, VALUES};
    struct rue_sink *sink = begin("out");
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){10000, 10000}), 0);
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_OK);
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_STORE);
    cr_assert(strstr(error.message, "cannot write") && strstr(error.message, "/out"), "%s", error.message);
    rue_sink_close(sink);
}
