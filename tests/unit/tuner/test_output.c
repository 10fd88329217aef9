#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "output.h"
#include "temporary_folder.h"

TestSuite(output, .init = temporary_folder_make, .fini = temporary_folder_remove);

static const char mark[] = "id,started_ns,";

static rue_status render(const void *context, FILE *stream, rue_error *error)
{
    fprintf(stream, "%s%s", mark, (const char *)context);
    return rue_report_finish(stream, error);
}

static rue_status put(const char *folder, const char *text, rue_error *error)
{
    const struct rue_output output = {.folder = folder, .name = "trials.csv", .mark = mark};
    return rue_output_write(&output, render, text, error);
}

static void expect_text(const char *name, const char *text)
{
    size_t bytes;
    char *found = (char *)temporary_read(name, &bytes);
    cr_assert(bytes == strlen(text) && memcmp(found, text, bytes) == 0, "%.*s", (int)bytes, found);
    free(found);
}

Test(output, replaces_rue_s_files_without_leftovers)
{
    rue_error error = {0};
    temporary_text("trials.csv", "id,started_ns,of an older version\n");
    cr_assert_eq(put(temporary_path("."), "new", &error), RUE_OK, "%s", error.message);
    expect_text("trials.csv", "id,started_ns,new");
    cr_assert_eq(temporary_entries(), 1);
}

Test(output, never_replaces_foreign_files)
{
    static const char *const texts[] = {"", "id", "my own notes, longer than the mark", "ID,STARTED_NS,"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rue_error error = {0};
        temporary_text("trials.csv", texts[i]);
        cr_assert_eq(put(temporary_path("."), "new", &error), RUE_STORE);
        cr_assert(strstr(error.message, "trials.csv exists, and rue did not write it"), "%s", error.message);
        expect_text("trials.csv", texts[i]);
        cr_assert_eq(temporary_entries(), 1);
    }
}

Test(output, never_replaces_a_link)
{
    temporary_text("elsewhere/trials.csv", "id,started_ns,precious");
    cr_assert_eq(symlink("elsewhere/trials.csv", temporary_path("trials.csv")), 0);
    cr_assert_eq(put(temporary_path("."), "new", NULL), RUE_STORE);
    expect_text("elsewhere/trials.csv", "id,started_ns,precious");
    char target[64];
    cr_assert_eq(readlink(temporary_path("trials.csv"), target, sizeof target), 20);
}

Test(output, keeps_other_hard_links_of_a_replaced_file)
{
    temporary_text("kept.csv", "id,started_ns,before");
    cr_assert_eq(link(temporary_path("kept.csv"), temporary_path("trials.csv")), 0);
    cr_assert_eq(put(temporary_path("."), "new", NULL), RUE_OK);
    expect_text("kept.csv", "id,started_ns,before");
    expect_text("trials.csv", "id,started_ns,new");
}

Test(output, a_folder_with_the_name_of_the_file_is_reported)
{
    rue_error error = {0};
    temporary_text("trials.csv/file", "precious");
    cr_assert_eq(put(temporary_path("."), "new", &error), RUE_STORE);
    cr_assert(strstr(error.message, "a folder has this name"), "%s", error.message);
    cr_assert_eq(temporary_entries(), 1, "a temporary file is left behind");
}

Test(output, an_error_names_the_path_and_the_remedy)
{
    rue_error error = {0};
    cr_assert_eq(put("/nonexistent/folder", "new", &error), RUE_STORE);
    cr_assert(strstr(error.message, "/nonexistent/folder/trials.csv"), "%s", error.message);
    cr_assert(strstr(error.message, "create the folder first"), "%s", error.message);
}

/* In the words of the rest of the program. */
Test(output, system_errors_get_the_usual_advice)
{
    static char much[1000]; /* written when the stream is flushed */
    memset(much, 'x', sizeof much - 1);
    rue_error error = {0};
    struct rlimit size;
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &size), 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){512, size.rlim_max}), 0);
    rue_status status = put(temporary_path("."), much, &error);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &size), 0);
    cr_assert_eq(status, RUE_STORE);
    cr_assert(strstr(error.message, "/trials.csv: ") && strstr(error.message, rue_advice(EFBIG)), "%s",
              error.message);
    cr_assert_eq(temporary_entries(), 0, "a temporary file is left behind");
}
