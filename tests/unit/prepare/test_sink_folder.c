#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "sink.h"
#include "temporary_folder.h"

TestSuite(sink_folder, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static const char *const classes[] = {"ape", "bee"};

static struct rue_sink *begin(uint64_t count)
{
    struct rue_sink *sink;
    rue_error error = {0};
    static struct rue_sink_options options;
    options = (struct rue_sink_options){.count = count, .class_count = 2, .classes = classes};
    cr_assert_eq(rue_sink_open(rue_sink_find("folder"), temporary_path("out"), &options, &sink, &error),
                 RUE_OK, "%s", error.message);
    return sink;
}

static rue_status add(struct rue_sink *sink, const char *key, int label, const char *text, rue_error *error)
{
    const struct rue_item item = {key, label, text, strlen(text)};
    return rue_sink_add(sink, &item, error);
}

static void expect_file(const char *name, const char *text)
{
    size_t bytes;
    char *found = (char *)temporary_read(name, &bytes);
    cr_assert(bytes == strlen(text) && memcmp(found, text, bytes) == 0, "%s", name);
    free(found);
}

Test(sink_folder, an_item_is_in_the_folder_of_its_class_with_its_name)
{
    struct rue_sink *sink = begin(4);
    cr_assert_eq(add(sink, "bee/one.JPEG", 1, "1", NULL), RUE_OK);
    cr_assert_eq(add(sink, "00000002", 0, "2", NULL), RUE_OK);
    cr_assert_eq(add(sink, "train/deep/three.jpg", 1, "3", NULL), RUE_OK);
    cr_assert_eq(add(sink, "ape/x/four.png", 0, "4", NULL), RUE_OK);
    cr_assert_eq(rue_sink_check_label(sink, "loose/five.jpg", -1, NULL), RUE_DATA, "it has no class");
    cr_assert_eq(rue_sink_finish(sink, NULL), RUE_OK);
    rue_sink_close(sink);
    expect_file("out/bee/one.JPEG", "1");
    expect_file("out/ape/00000002.jpg", "2");
    expect_file("out/bee/three.jpg", "3");
    expect_file("out/ape/x/four.png", "4");
}

static void expect_one_name(const char *key, const char *other_key, const char *other_text)
{
    rue_error error = {0};
    struct rue_sink *sink = begin(2);
    cr_assert_eq(add(sink, key, 0, "first", NULL), RUE_OK);
    cr_assert_eq(add(sink, other_key, 0, other_text, &error), RUE_DATA);
    cr_assert(strstr(error.message, "ape/one.jpg") && strstr(error.message, "two images"), "%s",
              error.message);
    rue_sink_close(sink);
    expect_file("out/ape/one.jpg", "first");
}

Test(sink_folder, two_images_of_one_name_are_an_error_and_neither_is_lost)
{
    expect_one_name("a/one.jpg", "b/one.jpg", "second");
}

Test(sink_folder, an_item_twice_is_two_items_of_one_name)
{
    expect_one_name("ape/one.jpg", "ape/one.jpg", "first");
}

Test(sink_folder, no_file_is_written_outside_the_folder)
{
    static const char *const keys[] = {"../one.jpg", "a/../../one.jpg", "/tmp/one.jpg", "a//b.jpg", "", "a/.",
                                       "."};
    struct rue_sink *sink = begin(20);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        rue_error error = {0};
        cr_assert_eq(add(sink, keys[i], 0, "x", &error), RUE_DATA, "%s", keys[i]);
        cr_assert(strstr(error.message, "cannot name a file"), "%s", error.message);
    }
    rue_sink_close(sink);
    cr_assert_eq(temporary_entries(), 1);
}

Test(sink_folder, a_class_leads_nowhere_else_either)
{
    static const char *const odd[] = {"../out2", "/tmp", "a/../../b", ""};
    const struct rue_sink_options options = {.count = 9, .class_count = 4, .classes = odd};
    struct rue_sink *sink;
    cr_assert_eq(rue_sink_open(rue_sink_find("folder"), temporary_path("out"), &options, &sink, NULL),
                 RUE_OK);
    for (int label = 0; label < 3; label++) {
        rue_error error = {0};
        cr_assert_eq(add(sink, "x.jpg", label, "x", &error), RUE_DATA);
        cr_assert(strstr(error.message, "rename the class"), "%s", error.message);
    }
    cr_assert_eq(add(sink, "x.jpg", 3, "without a name", NULL), RUE_OK);
    rue_sink_close(sink);
    expect_file("out/x.jpg", "without a name");
    cr_assert_eq(temporary_entries(), 1);
}
