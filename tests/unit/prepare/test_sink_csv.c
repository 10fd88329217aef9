#include <criterion/criterion.h>
#include <unistd.h>

#include "data_fixture.h"

TestSuite(sink_csv, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static const char *const classes[] = {"ape, \"grey\"", " bee"};

static struct rue_sink *begin(uint64_t count, size_t class_count)
{
    static struct rue_sink_options options;
    struct rue_sink *sink;
    rue_error error = {0};
    options = (struct rue_sink_options){
        .count = count, .class_count = class_count, .classes = classes, .split = "train"};
    cr_assert_eq(rue_sink_open(rue_sink_find("csv"), temporary_path("out"), &options, &sink, &error), RUE_OK,
                 "%s", error.message);
    return sink;
}

static void add(struct rue_sink *sink, const char *key, int label, const char *text)
{
    const struct rue_item item = {key, label, text, strlen(text)};
    rue_error error = {0};
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_OK, "%s", error.message);
}

static void expect_list(const char *text)
{
    size_t bytes;
    char *found = (char *)temporary_read("out/train.csv", &bytes);
    cr_assert(bytes == strlen(text) && memcmp(found, text, bytes) == 0, "'%.*s'", (int)bytes, found);
    free(found);
}

Test(sink_csv, a_list_names_paths_and_classes)
{
    struct rue_sink *sink = begin(3, 2);
    add(sink, "one.jpg", 0, "1");
    add(sink, "deep/two.jpg", 1, "2");
    add(sink, "three", 1, "3");
    cr_assert_eq(rue_sink_finish(sink, NULL), RUE_OK);
    rue_sink_close(sink);
    expect_list("path,label\n"
                "\"train/ape, \"\"grey\"\"/one.jpg\",\"ape, \"\"grey\"\"\"\n"
                "train/ bee/two.jpg,\" bee\"\n"
                "train/ bee/three.jpg,\" bee\"\n");
    struct rue_source *source = data_open("out");
    char byte;
    cr_assert(rue_source_count(source) == 3 && rue_source_class_count(source) == 2);
    cr_assert_str_eq(rue_source_class_name(source, 0), classes[1]);
    cr_assert_str_eq(rue_source_class_name(source, 1), classes[0]);
    for (uint64_t i = 0; i < 3; i++) {
        cr_assert(rue_source_label(source, i) == (i == 0));
        cr_assert(rue_source_read(source, i, &byte, NULL) == RUE_OK && byte == (char)('1' + i));
    }
    rue_source_close(source);
}

Test(sink_csv, a_label_without_a_class_is_refused_where_there_are_classes)
{
    struct rue_sink *sink = begin(1, 2);
    const struct rue_item item = {"one.jpg", -1, "1", 1};
    rue_error error = {0};
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_DATA);
    cr_assert(strstr(error.message, "'one.jpg' has no class with a name"), "%s", error.message);
    rue_sink_close(sink);
}

/* Longer than what is kept back of the list. */
Test(sink_csv, a_long_list_is_whole)
{
    enum { COUNT = 1200 };
    struct rue_sink *sink = begin(COUNT, 0);
    char key[128];
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "%0100d.jpg", i);
        add(sink, key, i, "x");
    }
    cr_assert_eq(rue_sink_finish(sink, NULL), RUE_OK);
    rue_sink_close(sink);
    struct rue_source *source = data_open("out");
    cr_assert_eq(rue_source_count(source), COUNT);
    for (uint64_t i = 0; i < COUNT; i++) cr_assert(rue_source_label(source, i) == (int)i);
    rue_source_close(source);
}
