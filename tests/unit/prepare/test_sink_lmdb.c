#include "lmdb_fixture.h"
#include <criterion/criterion.h>

TestSuite(sink_lmdb, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static void expect_items(const char *name, unsigned count)
{
    struct rue_source *source = data_open(name);
    cr_assert_eq(rue_source_count(source), count);
    for (unsigned i = 0; i < count; i++) {
        const struct rue_item item = lmdb_item(i);
        cr_assert(lmdb_holds(source, i, &item, NULL), "item %u", i);
    }
    rue_source_close(source);
}

static void finish(struct rue_sink *sink)
{
    rue_error error = {0};
    cr_assert_eq(rue_sink_finish(sink, &error), RUE_OK, "%s", error.message);
    rue_sink_close(sink);
}

Test(sink_lmdb, all_items_are_written_in_many_transactions)
{
    enum { COUNT = 9000 };
    lmdb_make("set", COUNT);
    expect_items("set", COUNT);
}

Test(sink_lmdb, a_name_that_ends_in_mdb_is_that_of_a_single_file)
{
    struct rue_sink *sink;
    struct stat about;
    const struct rue_item item = lmdb_item(0);
    const struct rue_sink_options options = {.count = 1, .name = "photos.mdb"};
    cr_assert_eq(rue_sink_open(rue_sink_find("lmdb"), temporary_path("data"), &options, &sink, NULL), RUE_OK);
    cr_assert_eq(rue_sink_add(sink, &item, NULL), RUE_OK);
    finish(sink);
    cr_assert(stat(temporary_path("data"), &about) == 0 && S_ISREG(about.st_mode));
    cr_assert_eq(temporary_entries(), 1, "no lock file");
    struct rue_source *source = data_open("data");
    cr_assert(lmdb_holds(source, 0, &item, NULL));
    rue_source_close(source);
}

/* The map takes addresses, not disk. */
Test(sink_lmdb, the_file_has_the_size_of_its_pages)
{
    struct stat about;
    MDB_env *env;
    MDB_envinfo info;
    lmdb_make("set", 200);
    cr_assert_eq(stat(temporary_path("set/data.mdb"), &about), 0);
    lmdb_require(mdb_env_create(&env), "create");
    lmdb_require(mdb_env_open(env, temporary_path("set"), MDB_RDONLY | MDB_NOLOCK, 0666), "open");
    lmdb_require(mdb_env_info(env, &info), "info");
    mdb_env_close(env);
    cr_assert_eq((uint64_t)about.st_size, (info.me_last_pgno + 1) * 4096);
    cr_assert_lt(about.st_size, 3 << 20);
    cr_assert_leq((uint64_t)about.st_blocks * 512, (uint64_t)about.st_size + 8192);
}

Test(sink_lmdb, the_map_grows_with_the_data)
{
    enum { LARGE = 90 << 20 };
    struct rue_item large = {.data = calloc(LARGE, 1), .bytes = LARGE}, small = lmdb_item(2);
    memcpy((char *)large.data, "\xff\xd8", 2);
    struct rue_sink *sink = lmdb_begin("set", 3, NULL);
    for (int i = 0; i < 2; i++) {
        large.key = i ? "ape/b.jpg" : "ape/a.jpg";
        cr_assert_eq(rue_sink_add(sink, &large, NULL), RUE_OK);
    }
    small.key = "ape/c.jpg";
    cr_assert_eq(rue_sink_add(sink, &small, NULL), RUE_OK);
    finish(sink);
    struct rue_source *source = data_open("set");
    cr_assert(lmdb_holds(source, 1, &large, NULL) && lmdb_holds(source, 2, &small, NULL));
    rue_source_close(source);
    free((void *)large.data);
}

Test(sink_lmdb, names_are_unique_and_fit_a_key)
{
    char key[600];
    rue_error error = {0};
    struct rue_item item = lmdb_item(0);
    struct rue_sink *sink = lmdb_begin("set", 3, NULL);
    cr_assert_eq(rue_sink_add(sink, &item, NULL), RUE_OK);
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_DATA);
    cr_assert(strstr(error.message, "two images have the name ape/0000.jpg"), "%s", error.message);
    memset(key, 'x', sizeof key - 1);
    key[sizeof key - 1] = 0;
    item.key = key;
    error = (rue_error){0};
    cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_DATA);
    cr_assert(strstr(error.message, "too long for a key"), "%s", error.message);
    rue_sink_close(sink);
}

Test(sink_lmdb, a_folder_that_cannot_be_made_is_reported)
{
    rue_error error = {0};
    temporary_text("set", "a file");
    cr_assert_null(lmdb_begin("set", 1, &error));
    cr_assert(error.status == RUE_STORE && strstr(error.message, "set/data.mdb"), "%s", error.message);
}

Test(sink_lmdb, names_that_would_be_read_as_others_are_refused)
{
    static const char *const names[] = {"__notes/1.jpg", "a\tb.jpg", "a\x7f"};
    struct rue_sink *sink;
    const struct rue_sink_options options = {.count = 3};
    cr_assert_eq(rue_sink_open(rue_sink_find("lmdb"), temporary_path("set"), &options, &sink, NULL), RUE_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rue_error error = {0};
        const struct rue_item item = {names[i], 0, "\xff\xd8", 2};
        cr_assert_eq(rue_sink_add(sink, &item, &error), RUE_DATA);
        cr_assert(strstr(error.message, "cannot be a key of an LMDB"), "%s", error.message);
    }
    rue_sink_close(sink);
}
