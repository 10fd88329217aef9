#include "sink.h"

#include <criterion/criterion.h>
#include <string.h>

#include "temporary_folder.h"

TestSuite(sink, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static const char *refuse(const char *format, struct rue_sink_options options)
{
    static rue_error error;
    struct rue_sink *sink;
    const struct rue_sink_mark beginning = {0};
    error = (rue_error){0};
    options.count = 1;
    rue_status status =
        rue_sink_open(rue_sink_find(format), temporary_path("out"), &options, &beginning, &sink, &error);
    cr_assert_eq(status, RUE_USAGE, "%s", error.message);
    cr_assert_eq(temporary_entries(), 0);
    return error.message;
}

Test(sink, what_a_format_cannot_hold_is_refused_before_anything_is_written)
{
    cr_assert(strstr(refuse("folder", (struct rue_sink_options){.mode = RUE_PREPROCESSED}),
                     "folder holds no preprocessed data"));
    cr_assert(
        strstr(refuse("tensor", (struct rue_sink_options){.mode = RUE_RAW}), "tensor holds no raw data"));
    cr_assert(strstr(refuse("folder", (struct rue_sink_options){.compression = RUE_COMPRESS_ZSTD}),
                     "no compression by zstd"));
}

Test(sink, the_name_of_a_destination_says_its_format)
{
    cr_assert_str_eq(rue_sink_for("a/photos.tensor")->format, "tensor");
    cr_assert_str_eq(rue_sink_for("photos.tensor/")->format, "tensor");
    static const char *const others[] = {"photos", ".tensor", "tensor", "photos.tensor.x", "/", ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) cr_assert_null(rue_sink_for(others[i]));
    cr_assert_null(rue_sink_find("tensors"));
}
