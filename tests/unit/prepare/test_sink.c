#include "sink.h"

#include <criterion/criterion.h>
#include <string.h>

#include "temporary_folder.h"

TestSuite(sink, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static const char *refuse(const char *format, struct rue_sink_options options)
{
    static rue_error error;
    struct rue_sink *sink;
    error = (rue_error){0};
    options.count = 1;
    rue_status status = rue_sink_open(rue_sink_find(format), temporary_path("out"), &options, &sink, &error);
    cr_assert_eq(status, RUE_USAGE, "%s", error.message);
    cr_assert_eq(temporary_entries(), 0);
    return error.message;
}

Test(sink, unsupported_data_are_refused_before_any_file_is_written)
{
    cr_assert(strstr(refuse("folder", (struct rue_sink_options){.mode = RUE_PREPROCESSED}),
                     "folder cannot hold preprocessed data"));
    cr_assert(
        strstr(refuse("tensor", (struct rue_sink_options){.mode = RUE_RAW}), "tensor cannot hold raw data"));
}

Test(sink, the_name_of_a_destination_gives_its_format)
{
    cr_assert_str_eq(rue_sink_for_path("a/photos.tensor")->format, "tensor");
    cr_assert_str_eq(rue_sink_for_path("photos.tensor/")->format, "tensor");
    static const char *const others[] = {"photos", ".tensor", "tensor", "photos.tensor.x", "/", ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) cr_assert_null(rue_sink_for_path(others[i]));
    cr_assert_null(rue_sink_find("tensors"));
}

static rue_status put(const char *format, int32_t label, size_t class_count, rue_error *error)
{
    static const char *const classes[] = {"cat", "dog"};
    static char place[] = "out 0";
    const struct rue_sink_options options = {.mode = strcmp(format, "tensor") ? RUE_RAW : RUE_PREPROCESSED,
                                             .dtype = RUE_UINT8,
                                             .shape = {1, 1, 1},
                                             .count = 1,
                                             .class_count = class_count,
                                             .classes = classes,
                                             .split = "train",
                                             .shard_bytes = 1000};
    const struct rue_item item = {"a.jpg", label, "x", 1};
    struct rue_sink *sink;
    place[4]++;
    cr_assert_eq(rue_sink_open(rue_sink_find(format), temporary_path(place), &options, &sink, error), RUE_OK,
                 "%s", error->message);
    rue_status status = rue_sink_check_label(sink, "x record 7", label, error);
    if (status == RUE_OK) status = rue_sink_add(sink, &item, error);
    rue_sink_close(sink);
    return status;
}

Test(sink, a_label_that_could_not_be_read_back_is_not_written)
{
    static const struct {
        const char *format;
        int32_t label;
        size_t classes;
        bool good;
    } cases[] = {
        {"tensor", -1, 0, false},    {"tensor", -1, 2, false},       {"tensor", 2, 2, false},
        {"tensor", 1, 2, true},      {"tensor", INT32_MAX, 0, true}, {"webdataset", -1, 0, false},
        {"webdataset", 7, 2, false}, {"tfrecord", -2, 0, false},     {"tfrecord", -1, 0, false},
        {"lmdb", 2, 2, false},       {"lmdb", -2, 0, false},         {"folder", -1, 0, false},
        {"csv", INT32_MIN, 0, true}, {"csv", INT32_MAX, 0, true},    {"csv", 1, 2, true},
        {"csv", 2, 2, false},        {"csv", -1, 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rue_error error = {0};
        rue_status status = put(cases[i].format, cases[i].label, cases[i].classes, &error);
        cr_assert_eq(status, cases[i].good ? RUE_OK : RUE_DATA, "%zu: %s", i, error.message);
        if (cases[i].good) continue;
        cr_assert(strstr(error.message, "x record 7 has the label") && strstr(error.message, cases[i].format),
                  "%s", error.message);
    }
}

Test(sink, chunks_are_written_as_other_data_have_them)
{
    static const char values[2 * 8] = {0};
    const struct rue_sink_options options = {.mode = RUE_PREPROCESSED,
                                             .dtype = RUE_UINT8,
                                             .shape = {1, 2, 4},
                                             .count = 2,
                                             .chunks = {{2, 1, 1, 4}, RUE_ZARR_GZIP, 3}};
    rue_error error = {0};
    struct rue_sink *sink;
    struct rue_source *source;
    const char *path = temporary_path("a.zarr");
    rue_status status = rue_sink_open(rue_sink_for_path(path), path, &options, &sink, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rue_sink_add(sink, &(struct rue_item){"a", 0, values + 8 * i, 8}, &error), RUE_OK);
    cr_assert_eq(rue_sink_finish(sink, &error), RUE_OK, "%s", error.message);
    rue_sink_close(sink);
    cr_assert_eq(rue_source_open(temporary_path("a.zarr"), NULL, &source, &error), RUE_OK, "%s",
                 error.message);
    const struct rue_chunking found = rue_chunking_find(source);
    cr_expect_arr_eq(found.shape, options.chunks.shape, sizeof found.shape);
    cr_expect_eq(found.codec, RUE_ZARR_GZIP);
    cr_expect_str_eq(rue_source_blocks(source)->layout, "2x1x1x4 gzip");
    rue_source_close(source);
}
