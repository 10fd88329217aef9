#include "source.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "data_fixture.h"
#include "no_work_source.h"

TestSuite(source, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static const char *refuse(const char *path, const char *format, rue_status expected)
{
    static rue_error error;
    struct rue_source *source;
    error = (rue_error){0};
    rue_status status =
        rue_source_open(path, &(struct rue_source_options){.format = format}, &source, &error);
    cr_assert_eq(status, expected, "%s: %s (%s)", path, rue_status_text(status), error.message);
    return error.message;
}

Test(source, a_folder_is_detected)
{
    struct rue_variant found;
    cr_assert_eq(rue_source_detect(temporary_folder, NULL, &found, NULL), RUE_OK);
    cr_assert_str_eq(found.format, "folder");
    cr_assert_eq(found.mode, RUE_RAW);
}

Test(source, a_tensor_file_is_detected_with_any_name)
{
    struct rue_variant found;
    data_photos_make(2);
    data_tensor_make("photos", "tensors.jpg", RUE_UINT8);
    cr_assert_eq(rue_source_detect(temporary_path("tensors.jpg"), NULL, &found, NULL), RUE_OK);
    cr_assert_str_eq(found.format, "tensor");
    cr_assert_eq(found.mode, RUE_PREPROCESSED);
}

Test(source, other_files_have_an_unknown_format)
{
    static const char *const contents[] = {"", "R", "RUETENS", "not a tensor file", "\xff\xd8\xff"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        temporary_text("file", contents[i]);
        const char *message = refuse(temporary_path("file"), NULL, RUE_DATA);
        cr_assert(strstr(message, temporary_path("file")) && strstr(message, "folder of images"), "%s",
                  message);
    }
}

Test(source, a_missing_path_is_named)
{
    const char *message = refuse(temporary_path("missing"), NULL, RUE_DATA);
    cr_assert(strstr(message, "/missing") && strstr(message, "No such file"), "%s", message);
    refuse("", NULL, RUE_DATA);
}

Test(source, a_fifo_or_a_socket_is_refused_without_waiting)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.64s/socket", temporary_folder);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(mkfifo(temporary_path("fifo"), 0600), 0);
    static const char *const names[] = {"fifo", "socket"};
    for (int i = 0; i < 2; i++) {
        refuse(temporary_path(names[i]), NULL, RUE_DATA);
        refuse(temporary_path(names[i]), "tensor", RUE_DATA);
        refuse(temporary_path(names[i]), "folder", RUE_DATA);
    }
    close(listener);
}

Test(source, an_unknown_format_is_named)
{
    const char *message = refuse(temporary_folder, "parquet", RUE_USAGE);
    cr_assert(strstr(message, "parquet"), "%s", message);
}

Test(source, a_format_that_the_data_are_not_is_refused)
{
    data_photos_make(1);
    refuse(temporary_path("photos"), "tensor", RUE_DATA);
    refuse(temporary_path(data_photo_name(0)), "folder", RUE_DATA);
}

Test(source, a_path_that_is_too_long_is_refused)
{
    char path[PATH_MAX + 8];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = 0;
    refuse(path, "tensor", RUE_DATA);
    refuse(path, NULL, RUE_DATA);
}

Test(source, its_variant_has_mode_format_type_and_path)
{
    data_photos_make(2);
    data_tensor_make("photos", "tensors", RUE_UINT8);
    struct rue_source *folder = data_open("photos"), *tensors = data_open("tensors");
    struct rue_variant raw = rue_source_variant(folder), made = rue_source_variant(tensors);
    cr_assert_eq(raw.mode, RUE_RAW);
    cr_assert_str_eq(raw.format, "folder");
    cr_assert_str_eq(raw.dtype, "");
    cr_assert_str_eq(raw.path, temporary_path("photos"));
    cr_assert_eq(made.mode, RUE_PREPROCESSED);
    cr_assert_str_eq(made.dtype, "uint8");
    uint32_t shape[3];
    cr_assert_not(rue_source_shape(folder, shape), "pictures come in all sizes");
    cr_assert(rue_source_shape(tensors, shape) && shape[0] == 3 && shape[1] == 224 && shape[2] == 224);
    rue_source_close(folder);
    rue_source_close(tensors);
}

Test(source, total_is_the_sum_of_the_items)
{
    data_photos_make(5);
    struct rue_source *source = data_open("photos");
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rue_source_count(source); i++) sum += rue_source_bytes(source, i);
    cr_assert_eq(rue_source_total_bytes(source), sum);
    cr_assert_eq(rue_source_verify(source, 0, NULL, NULL), RUE_OK, "files have no checksum");
    rue_source_close(source);
}

Test(source, only_an_item_s_own_faults_are_faults_of_the_data)
{
    cr_assert_eq(rue_source_failure(ENOENT), RUE_DATA);
    cr_assert_eq(rue_source_failure(0), RUE_DATA);
    cr_assert_eq(rue_source_failure(EMFILE), RUE_INFEASIBLE);
    cr_assert_eq(rue_source_failure(ENFILE), RUE_INFEASIBLE);
    cr_assert_eq(rue_source_failure(ENOMEM), RUE_INFEASIBLE);
    cr_assert_eq(rue_source_failure(EIO), RUE_STORE);
}

Test(source, a_file_that_cannot_be_opened_is_reported_with_advice)
{
    rue_error error = {0};
    errno = EMFILE;
    cr_assert_eq(rue_fail_open(&error, "x.tensor"), RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "cannot open x.tensor: ") && strstr(error.message, "ulimit -n"), "%s",
              error.message);
}

Test(source, close_accepts_null)
{
    rue_source_close(NULL);
}

Test(source, a_custom_source_uses_its_own_table)
{
    struct rue_source *source = no_work_source_open(7);
    struct rue_variant variant = rue_source_variant(source);
    char example[64];
    uint64_t item = 0;
    cr_assert_eq(rue_source_count(source), 7);
    cr_assert_str_eq(variant.format, "none");
    cr_assert_str_eq(variant.path, "no work");
    cr_assert_eq(rue_source_read(source, 3, &item, NULL), RUE_OK);
    cr_assert(item == 3 && rue_source_label(source, 3) == 0);
    cr_assert(rue_source_allows(source, RUE_ACCESS_READ) && !rue_source_allows(source, RUE_ACCESS_VIEW) &&
              !rue_source_allows(source, RUE_ACCESS_DIRECT));
    rue_source_note(source, example, sizeof example);
    cr_assert(rue_source_skipped(source) == 0 && example[0] == 0);
    rue_source_close(source);
}

static int asked, stop_at;

static rue_status stop(void)
{
    return ++asked > stop_at ? RUE_INTERRUPTED : RUE_OK;
}

static void write_as(const char *format)
{
    static const char jpeg[100] = "\xff\xd8\xff";
    const struct rue_sink_options options = {.count = 3, .split = "train", .shard_bytes = 100000};
    struct rue_sink *sink;
    rue_error error = {0};
    const char *path = temporary_path(format);
    rue_status status = rue_sink_open(rue_sink_find(format), path, &options, &sink, &error);
    data_require(status == RUE_OK, "open a sink", &error);
    for (int i = 0; i < 3; i++) {
        const struct rue_item item = {(const char *[]){"a.jpg", "b.jpg", "c.jpg"}[i], i, jpeg, sizeof jpeg};
        data_require(rue_sink_add(sink, &item, &error) == RUE_OK, "add", &error);
    }
    data_require(rue_sink_finish(sink, &error) == RUE_OK, "finish", &error);
    rue_sink_close(sink);
}

Test(source, opening_ends_when_stop_fails)
{
    static const char *const formats[] = {"folder", "lmdb", "tfrecord", "webdataset"};
    const struct rue_source_options options = {.stop = stop};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        struct rue_source *source;
        write_as(formats[f]);
        for (stop_at = 0; stop_at < 3; stop_at++) {
            rue_error error = {0};
            asked = 0;
            cr_assert_eq(rue_source_open(temporary_path(formats[f]), &options, &source, &error),
                         RUE_INTERRUPTED, "%s, %d", formats[f], stop_at);
            cr_assert(strstr(error.message, "interrupted while indexing the data"), "%s", error.message);
        }
        asked = -1000;
        cr_assert_eq(rue_source_open(temporary_path(formats[f]), &options, &source, NULL), RUE_OK);
        rue_source_close(source);
    }
}
