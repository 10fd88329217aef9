/* Loaders whose strategy changes batches. */
#include "batch_plan.h"

#include <criterion/criterion.h>

#include "loader_fixture.h"
#include "no_work_source.h"

enum { PHOTOS = 11 };

static struct rue_source *source;
static struct data_items items;

static void setup(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    source = data_open("photos");
    items = data_items_fetch(source, (struct rue_fetcher_options){.max_pixels = RUE_MAX_PIXELS_DEFAULT});
}

static void teardown(void)
{
    data_items_free(&items);
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(batch_plan, .init = setup, .fini = teardown, .timeout = 120);

static struct rue_loader_options options_of(enum rue_batch_strategy strategy, int workers, uint64_t images)
{
    struct rue_loader_options options =
        make_loader_options((struct loader_case){8, workers, 2, workers % 2}, images);
    options.batch_strategy = strategy;
    return options;
}

static uint64_t no_memory(void *context)
{
    (void)context;
    return 0;
}

static const struct rue_memory_probe none_free = {.free_bytes = no_memory, .total_bytes = 100};

Test(batch_plan, every_strategy_delivers_every_item_once)
{
    for (int strategy = 0; strategy < RUE_BATCHES_COUNT; strategy++)
        for (int workers = 0; workers <= 3; workers++)
            for (int drop_last = 0; drop_last <= 1; drop_last++) {
                struct rue_loader_options options =
                    options_of((enum rue_batch_strategy)strategy, workers, 5 * PHOTOS);
                options.drop_last = drop_last;
                options.memory = &none_free;
                const char *fault = loader_run_fault(source, &items, &options);
                cr_assert_null(fault, "%s, %d workers: %s", rue_batch_strategy_names[strategy], workers,
                               fault);
            }
}

Test(batch_plan, batches_are_smaller_while_memory_is_short_and_their_slabs_are_trimmed)
{
    struct rue_loader_options options = options_of(RUE_BATCHES_MEMORY, 2, 400);
    struct rue_loader *loader;
    struct rue_batch *batch;
    size_t least = 8;
    options.memory = &none_free;
    cr_assert_eq(rue_loader_batches(&options), 400, "at most");
    cr_assert_eq(rue_loader_open(source, &options, &loader, NULL), RUE_OK);
    for (uint64_t images = 0; images < 400; images += batch->count) {
        cr_assert_eq(rue_loader_next(loader, &batch, NULL), RUE_OK);
        cr_assert(batch->count <= least, "no batch grows");
        least = batch->count;
        rue_loader_release(loader, batch);
        if (least > 1) usleep(2000);
    }
    cr_assert_leq(least, 4);
    rue_loader_close(loader);
}
