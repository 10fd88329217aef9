#include <criterion/criterion.h>

#include "shard_fixture.h"

TestSuite(sink_webdataset, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { ITEMS = 40, BYTES = 3000, SHARD = 20000 };

/* Adds items up to `end`, the last in full, and answers with what a flush says. */
static struct rue_sink_mark add_up_to(const char *name, const struct rue_sink_mark *from, uint64_t end,
                                      bool finish)
{
    const struct rue_sink_options options = {.count = ITEMS, .split = "train", .shard_bytes = SHARD};
    struct rue_sink_mark mark = *from;
    struct rue_sink *sink;
    rue_error error = {0};
    char key[32], data[BYTES];
    cr_assert_eq(
        rue_sink_open(rue_sink_find("webdataset"), temporary_path(name), &options, from, &sink, &error),
        RUE_OK, "%s", error.message);
    for (uint64_t i = from->items; i < end; i++) {
        snprintf(key, sizeof key, "%06d.jpg", (int)i);
        shard_fill(data, BYTES, i);
        const struct rue_item item = {key, (int32_t)i, data, BYTES};
        cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_OK, "%s", error.message);
    }
    cr_assert_eq(rue_sink_flush(sink, &mark, NULL), RUE_OK);
    if (finish) cr_assert_eq(rue_sink_finish(sink, NULL), RUE_OK);
    rue_sink_close(sink);
    return mark;
}

static void expect_same(const char *a, const char *b)
{
    char name[64];
    for (int shard = 0;; shard++) {
        size_t a_bytes, b_bytes;
        snprintf(name, sizeof name, "%s/train-%06d.tar", a, shard);
        if (access(temporary_path(name), F_OK) != 0) {
            snprintf(name, sizeof name, "%s/train-%06d.tar", b, shard);
            cr_assert(shard > 3 && access(temporary_path(name), F_OK) != 0);
            return;
        }
        unsigned char *first = temporary_read(name, &a_bytes);
        snprintf(name, sizeof name, "%s/train-%06d.tar", b, shard);
        unsigned char *second = temporary_read(name, &b_bytes);
        cr_assert(a_bytes == b_bytes && memcmp(first, second, a_bytes) == 0, "%s", name);
        free(first);
        free(second);
    }
}

Test(sink_webdataset, one_that_was_stopped_goes_on_behind_its_whole_shards)
{
    const struct rue_sink_mark start = {0};
    add_up_to("whole", &start, ITEMS, true);
    for (uint64_t stop = 1; stop < ITEMS; stop += 6) {
        char name[32];
        snprintf(name, sizeof name, "from-%d", (int)stop);
        struct rue_sink_mark mark = add_up_to(name, &start, stop, false);
        cr_assert(mark.items <= stop && mark.items % 5 == 0 && mark.items == mark.place * 5);
        add_up_to(name, &mark, stop, false); /* writes shards behind the mark, which are written again */
        add_up_to(name, &mark, ITEMS, true);
        expect_same("whole", name);
    }
}

Test(sink_webdataset, a_name_too_long_for_a_member_is_refused)
{
    const struct rue_sink_options options = {.count = 2, .split = "train", .shard_bytes = 1000};
    const struct rue_sink_mark mark = {0};
    struct rue_sink *sink;
    rue_error error = {0};
    char key[2001];
    memset(key, 'x', 2000);
    key[2000] = 0;
    cr_assert_eq(
        rue_sink_open(rue_sink_find("webdataset"), temporary_path("shards"), &options, &mark, &sink, &error),
        RUE_OK);
    cr_assert_eq(rue_sink_add(sink, &(struct rue_item){key, 0, "x", 1}, &error), RUE_OK);
    memset(key + 1, '.', 1999);
    cr_assert_eq(rue_sink_add(sink, &(struct rue_item){key, 0, "x", 1}, &error), RUE_DATA);
    cr_assert(strstr(error.message, "too long a name for a sample: rename"), "%s", error.message);
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
    cr_assert_eq(rue_sink_open(rue_sink_find("webdataset"), temporary_path("x"), &options,
                               &(struct rue_sink_mark){0}, &sink, &error),
                 RUE_OK, "%s", error.message);
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_sink_finish(sink, &error), RUE_DATA);
    cr_assert(strstr(error.message, "more than one line"), "%s", error.message);
    rue_sink_close(sink);
}
