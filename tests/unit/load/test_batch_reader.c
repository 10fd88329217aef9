/* The order in which the items of a batch are read. */
#include <criterion/criterion.h>

#include "loader_fixture.h"
#include "no_work_source.h"

enum { ITEMS = 1000, BATCH = 50 };

static uint64_t order[ITEMS];
static size_t read_count;

static rue_status note_read(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    order[read_count++] = item;
    return no_work_read(index, item, into, error);
}

static const struct rue_source_ops noting_ops = {
    .format = "none", .has_mode = {[RUE_PREPROCESSED] = true}, .read = note_read};

static void expect_order(enum rue_read read, bool sorted)
{
    struct rue_source *source = no_work_source_open_as(&noting_ops, ITEMS);
    struct rue_loader_options options =
        make_loader_options((struct loader_case){BATCH, 0, 2, RUE_PARALLEL_BATCH}, ITEMS);
    struct rue_loader *loader;
    struct rue_batch *batch;
    read_count = 0;
    options.fetcher.read = read;
    cr_assert_eq(rue_loader_open(source, &options, &loader, NULL), RUE_OK);
    while (rue_loader_next(loader, &batch, NULL) == RUE_OK && batch) {
        bool is_sorted = true;
        for (size_t i = 0; i < BATCH; i++) {
            const char *tensor =
                (const char *)batch->images + i * (RUE_TENSOR_ITEMS * rue_dtype_bytes[RUE_FLOAT32]);
            struct rue_sampler sampler = options.sampler;
            sampler.items = ITEMS;
            uint64_t expected = rue_sampler_item(&sampler, batch->first + i), found;
            memcpy(&found, tensor, sizeof found);
            cr_assert_eq(found, expected, "the batch is in the sampler's order");
            is_sorted &= i == 0 || order[batch->first + i] > order[batch->first + i - 1];
            cr_assert(sorted || order[batch->first + i] == expected);
        }
        cr_assert_eq(is_sorted, sorted, "batch %d", (int)batch->index);
        rue_loader_release(loader, batch);
    }
    cr_assert_eq(read_count, ITEMS);
    rue_loader_close(loader);
    rue_source_close(source);
}

Test(batch_reader, only_read_batch_is_in_the_order_of_storage)
{
    expect_order(RUE_READ_AUTO, false);
    expect_order(RUE_READ_ITEM, false);
    expect_order(RUE_READ_BATCH, true);
}
