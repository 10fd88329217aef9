#include <criterion/criterion.h>

#include "compressed_fixture.h"
#include "shard_fixture.h"

TestSuite(compressed_shards, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { ITEMS = 60, ITEM_BYTES = 3000, SHARD = 40000 };

/* Compresses shards into "set". */
static void make_set(int filter)
{
    char name[64];
    if (access(temporary_path("plain"), F_OK) != 0) shard_make("plain", ITEMS, ITEM_BYTES, SHARD);
    mkdir(temporary_path("set"), 0777);
    for (int shard = 0;; shard++) {
        size_t bytes;
        snprintf(name, sizeof name, "plain/train-%06d.tar", shard);
        if (access(temporary_path(name), F_OK) != 0) break;
        unsigned char *data = temporary_read(name, &bytes);
        snprintf(name, sizeof name, "set/train-%06d.tar.gz", shard);
        compressed_make(name, filter, data, bytes);
        free(data);
    }
}

static struct rue_source *open_in_order(void)
{
    struct rue_source *source;
    rue_error error = {0};
    const struct rue_source_options options = {.sequential = true};
    cr_assert_eq(rue_source_open(temporary_path("set"), &options, &source, &error), RUE_OK, "%s",
                 error.message);
    cr_assert(rue_source_is_sequential(source) && rue_source_count(source) == ITEMS);
    return source;
}

Test(compressed_shards, items_are_those_of_plain_ones)
{
    for (int f = 0; f < COMPRESSED_TAR_FILTERS; f++) {
        make_set(compressed_filters[f]);
        struct rue_source *source = open_in_order();
        for (uint64_t i = 0; i < ITEMS; i++) {
            cr_assert(shard_holds(source, i, NULL), "filter %d, item %d", f, (int)i);
            cr_assert_eq(rue_source_label(source, i), (int32_t)i);
        }
        rue_source_close(source);
    }
}

Test(compressed_shards, an_earlier_item_is_read_from_the_beginning_of_its_shard)
{
    static const uint64_t order[] = {0, 1, 1, 59, 58, 20, 19, 0, 40, 41};
    make_set(ARCHIVE_FILTER_GZIP);
    struct rue_source *source = open_in_order();
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        cr_assert(shard_holds(source, order[i], NULL), "item %d", (int)order[i]);
    rue_source_close(source);
}

Test(compressed_shards, random_access_is_refused)
{
    struct rue_source *source;
    rue_error error = {0};
    make_set(ARCHIVE_FILTER_GZIP);
    for (int again = 0; again < 2; again++) { /* the second time with the index that is kept */
        error = (rue_error){0};
        cr_assert_eq(rue_source_open(temporary_path("set"), NULL, &source, &error), RUE_DATA);
        cr_assert(strstr(error.message, "train-000000.tar.gz is compressed") &&
                      strstr(error.message, "decompress it"),
                  "%s", error.message);
    }
}

Test(compressed_shards, a_shard_removed_while_open_is_reported)
{
    make_set(ARCHIVE_FILTER_GZIP);
    struct rue_source *source = open_in_order();
    rue_error error = {0};
    cr_assert(shard_holds(source, 0, NULL));
    unlink(temporary_path("set/train-000001.tar.gz"));
    cr_assert(!shard_holds(source, 12, &error));
    cr_assert(error.status == RUE_DATA && strstr(error.message, "was deleted"), "%s", error.message);
    rue_source_close(source);
}
