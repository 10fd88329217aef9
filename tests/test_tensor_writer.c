#include "tensor_writer.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

#include "crc32c.h"
#include "temporary_folder.h"
#include "tensor_file.h"

TestSuite(tensor_writer, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { COUNT = 3, VALUES = 3 * 20 * 30 };
static const struct rue_tensor_shape shape = {RUE_UINT8, 3, 20, 30};
static const char *const classes[] = {"cat", "dog"};

static struct rue_tensor_writer *begin(const char *name, bool overwrite)
{
    rue_error error = {0};
    struct rue_tensor_writer *writer;
    rue_status status =
        rue_tensor_writer_open(temporary_path(name), &shape, COUNT, overwrite, &writer, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return writer;
}

static void add_all(struct rue_tensor_writer *writer)
{
    unsigned char values[VALUES];
    for (int i = 0; i < COUNT; i++) {
        memset(values, 'a' + i, sizeof values);
        cr_assert_eq(rue_tensor_writer_add(writer, values, 10 + i, NULL), RUE_OK);
    }
}

static void write_file(const char *name, bool overwrite)
{
    struct rue_tensor_writer *writer = begin(name, overwrite);
    add_all(writer);
    rue_error error = {0};
    cr_assert_eq(rue_tensor_writer_finish(writer, classes, 2, &error), RUE_OK, "%s", error.message);
    rue_tensor_writer_close(writer);
}

Test(tensor_writer, the_header_says_where_all_is)
{
    size_t bytes;
    write_file("out", false);
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

Test(tensor_writer, records_are_aligned_and_padded_with_zeros)
{
    size_t bytes;
    write_file("out", false);
    unsigned char *file = temporary_read("out", &bytes);
    for (int i = 0; i < COUNT; i++) {
        const unsigned char *record = file + 4096 * (i + 1);
        for (int at = 0; at < 4096; at++)
            cr_assert_eq(record[at], at < VALUES ? 'a' + i : 0, "record %d, byte %d", i, at);
        int32_t label;
        uint32_t crc;
        memcpy(&label, file + 4096 * (COUNT + 1) + 4 * i, 4);
        memcpy(&crc, file + 4096 * (COUNT + 1) + 4 * COUNT + 4 * i, 4);
        cr_assert_eq(label, 10 + i);
        cr_assert_eq(crc, rue_crc32c(0, record, VALUES), "the padding is not in the checksum");
    }
    cr_assert_eq(memcmp(file + bytes - 8, "cat\0dog", 8), 0);
    free(file);
}

Test(tensor_writer, a_file_is_refused_when_there_is_one_already)
{
    rue_error error = {0};
    struct rue_tensor_writer *writer;
    temporary_text("out", "precious");
    cr_assert_eq(rue_tensor_writer_open(temporary_path("out"), &shape, COUNT, false, &writer, &error),
                 RUE_USAGE);
    cr_assert(strstr(error.message, "is there already") && strstr(error.message, "--force"), "%s",
              error.message);
    cr_assert_eq(temporary_entries(), 1);
}

Test(tensor_writer, a_file_that_appears_meanwhile_is_not_replaced)
{
    rue_error error = {0};
    size_t bytes;
    struct rue_tensor_writer *writer = begin("out", false);
    add_all(writer);
    temporary_text("out", "precious");
    cr_assert_eq(rue_tensor_writer_finish(writer, classes, 2, &error), RUE_STORE);
    rue_tensor_writer_close(writer);
    unsigned char *kept = temporary_read("out", &bytes);
    cr_assert(bytes == 8 && memcmp(kept, "precious", 8) == 0);
    cr_assert_eq(temporary_entries(), 1, "nothing else is left");
    free(kept);
}

Test(tensor_writer, overwriting_replaces_at_the_end_only)
{
    size_t bytes;
    temporary_text("out", "old");
    struct rue_tensor_writer *writer = begin("out", true);
    add_all(writer);
    unsigned char *old = temporary_read("out", &bytes);
    cr_assert(bytes == 3 && memcmp(old, "old", 3) == 0, "until the end the old file is there");
    free(old);
    cr_assert_eq(rue_tensor_writer_finish(writer, NULL, 0, NULL), RUE_OK);
    rue_tensor_writer_close(writer);
    unsigned char *new = temporary_read("out", &bytes);
    cr_assert_eq(memcmp(new, "RUETENSR", 8), 0);
    cr_assert_eq(temporary_entries(), 1);
    free(new);
}

Test(tensor_writer, an_abandoned_file_leaves_nothing_behind)
{
    struct rue_tensor_writer *writer = begin("out", false);
    unsigned char values[VALUES] = {0};
    cr_assert_eq(rue_tensor_writer_add(writer, values, 0, NULL), RUE_OK);
    cr_assert_eq(temporary_entries(), 1, "it is written beside the destination");
    rue_tensor_writer_close(writer);
    cr_assert_eq(temporary_entries(), 0);
    rue_tensor_writer_close(NULL);
}

Test(tensor_writer, half_a_file_has_no_valid_header)
{
    size_t bytes;
    glob_t found;
    struct rue_tensor_writer *writer = begin("out", false);
    add_all(writer);
    cr_assert_eq(glob(temporary_path("out.part-*"), 0, NULL, &found), 0);
    unsigned char *part = temporary_read(strrchr(found.gl_pathv[0], '/') + 1, &bytes);
    globfree(&found);
    cr_assert_eq(bytes, 4096 * (COUNT + 1));
    cr_assert_neq(memcmp(part, "RUETENSR", 8), 0);
    free(part);
    rue_tensor_writer_close(writer);
}

Test(tensor_writer, a_folder_that_is_not_there_is_an_error_with_the_path)
{
    rue_error error = {0};
    struct rue_tensor_writer *writer;
    cr_assert_eq(rue_tensor_writer_open(temporary_path("no/out"), &shape, COUNT, true, &writer, &error),
                 RUE_STORE);
    cr_assert(strstr(error.message, "/no/out") && strstr(error.message, "No such file"), "%s", error.message);
}

/* A disk that is full for everybody, root included: the process's own limit of a file's size. */
Test(tensor_writer, a_full_disk_is_said_with_the_path)
{
    rue_error error = {0};
    unsigned char values[VALUES] = {0};
    struct rue_tensor_writer *writer = begin("out", false);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){10000, 10000}), 0);
    cr_assert_eq(rue_tensor_writer_add(writer, values, 0, &error), RUE_OK);
    cr_assert_eq(rue_tensor_writer_add(writer, values, 0, &error), RUE_STORE);
    cr_assert(strstr(error.message, "cannot write") && strstr(error.message, "/out"), "%s", error.message);
    rue_tensor_writer_close(writer);
    cr_assert_eq(temporary_entries(), 0);
}
