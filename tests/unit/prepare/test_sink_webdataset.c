#include <criterion/criterion.h>

#include "shard_fixture.h"

TestSuite(sink_webdataset, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { ITEMS = 40, BYTES = 3000, SHARD = 20000 };

Test(sink_webdataset, equal_items_give_equal_shards)
{
    char name[64];
    shard_make("one", ITEMS, BYTES, SHARD);
    shard_make("two", ITEMS, BYTES, SHARD);
    for (int shard = 0; shard < ITEMS / 5; shard++) {
        size_t one_bytes, two_bytes;
        snprintf(name, sizeof name, "one/train-%06d.tar", shard);
        unsigned char *one = temporary_read(name, &one_bytes);
        snprintf(name, sizeof name, "two/train-%06d.tar", shard);
        unsigned char *two = temporary_read(name, &two_bytes);
        cr_assert(one_bytes == two_bytes && memcmp(one, two, one_bytes) == 0, "%s", name);
        free(one);
        free(two);
    }
    snprintf(name, sizeof name, "one/train-%06d.tar", ITEMS / 5);
    cr_assert(access(temporary_path(name), F_OK) != 0, "five items fill a shard");
}

Test(sink_webdataset, a_name_too_long_for_a_member_is_refused)
{
    const struct rue_sink_options options = {.count = 2, .split = "train", .shard_bytes = 1000};
    struct rue_sink *sink;
    rue_error error = {0};
    char key[2001];
    memset(key, 'x', 2000);
    key[2000] = 0;
    cr_assert_eq(
        rue_sink_open(rue_sink_find("webdataset"), temporary_path("shards"), &options, &sink, &error),
        RUE_OK);
    cr_assert_eq(rue_sink_add(sink, &(struct rue_item){key, 0, "x", 1}, &error), RUE_OK);
    memset(key + 1, '.', 1999);
    cr_assert_eq(rue_sink_add(sink, &(struct rue_item){key, 0, "x", 1}, &error), RUE_DATA);
    cr_assert(strstr(error.message, "is too long for a sample: rename"), "%s", error.message);
    rue_sink_close(sink);
}

Test(sink_webdataset, a_class_name_of_more_than_one_line_is_refused)
{
    static const char *const names[] = {"ape", "b\nee"};
    const struct rue_sink_options options = {
        .count = 1, .split = "train", .shard_bytes = SHARD, .class_count = 2, .classes = names};
    const struct rue_item item = {"a.jpg", 0, "data", 4};
    struct rue_sink *sink;
    rue_error error = {0};
    cr_assert_eq(rue_sink_open(rue_sink_find("webdataset"), temporary_path("x"), &options, &sink, &error),
                 RUE_OK, "%s", error.message);
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_sink_finish(sink, &error), RUE_DATA);
    cr_assert(strstr(error.message, "more than one line"), "%s", error.message);
    rue_sink_close(sink);
}
