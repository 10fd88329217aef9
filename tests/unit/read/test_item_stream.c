#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <sys/resource.h>

#include "sampler.h"
#include "shard_fixture.h"

TestSuite(item_stream, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 120);

enum { ITEMS = 300, BYTES = 3000 };

static struct rue_source *open_shards(enum rue_compression compression)
{
    shard_make("shards", ITEMS, BYTES, 200000, compression);
    return data_open("shards");
}

Test(item_stream, plain_shards_are_read_in_any_order_and_compressed_ones_have_a_window)
{
    struct rue_source *source = open_shards(RUE_COMPRESS_NONE);
    cr_assert_eq(rue_source_window(source, 1), 0);
    rue_source_close(source);
    for (int how = RUE_COMPRESS_GZIP; how < RUE_COMPRESSION_COUNT; how++) {
        temporary_folder_remove();
        temporary_folder_make();
        source = open_shards((enum rue_compression)how);
        cr_assert_gt(rue_source_window(source, 1), 0);
        rue_source_close(source);
    }
}

Test(item_stream, items_come_in_order_backwards_and_at_random)
{
    for (int how = RUE_COMPRESS_NONE; how < RUE_COMPRESSION_COUNT; how++) {
        rue_error error = {0};
        uint64_t state = 5;
        temporary_folder_remove();
        temporary_folder_make();
        struct rue_source *source = open_shards((enum rue_compression)how);
        cr_assert_eq(rue_source_count(source), ITEMS);
        for (uint64_t i = 0; i < ITEMS; i++) cr_assert(shard_holds(source, i, &error), "%s", error.message);
        for (uint64_t i = ITEMS; i-- > ITEMS - 20;) cr_assert(shard_holds(source, i, &error));
        for (uint64_t i = 0; i < 100; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            cr_assert(shard_holds(source, (state >> 33) % ITEMS, &error), "%s", error.message);
        }
        rue_source_close(source);
    }
}

Test(item_stream, the_end_of_an_epoch_and_the_beginning_of_the_next_are_read_at_once)
{
    struct rue_source *source = open_shards(RUE_COMPRESS_ZSTD);
    for (uint64_t i = 0; i < ITEMS - 60; i++) cr_assert(shard_holds(source, i, NULL));
    for (uint64_t i = 0; i < 60; i++) {
        cr_assert(shard_holds(source, ITEMS - 60 + i, NULL));
        cr_assert(shard_holds(source, i, NULL));
    }
    rue_source_close(source);
}

/* Bytes that this process has read from files. */
static uint64_t bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    cr_assert(file && fscanf(file, "rchar: %llu", &bytes) == 1, "no /proc/self/io");
    fclose(file);
    return bytes;
}

enum { MANY = 240, LARGE = 1 << 19, BATCH = 8 };

/* Two epochs of batches that two workers ask for in turn, as a loader does. */
static uint64_t read_epochs(const char *name, bool shuffle)
{
    struct rue_source *source = data_open(name);
    uint64_t items = rue_source_count(source);
    struct rue_sampler sampler = {.items = items, .seed = 3, .shuffle = shuffle, .world_size = 1};
    sampler.window = rue_source_window(source, 2 * BATCH);
    cr_assert(sampler.window < items, "all of it is one window");
    uint64_t before = bytes_read();
    for (uint64_t begin = 0; begin < 2 * items; begin += 2 * BATCH)
        for (uint64_t i = 0; i < BATCH; i++) {
            cr_assert(shard_holds(source, rue_sampler_item(&sampler, begin + BATCH + i), NULL));
            cr_assert(shard_holds(source, rue_sampler_item(&sampler, begin + i), NULL));
        }
    rue_source_close(source);
    return bytes_read() - before;
}

static double read_once(const char *name)
{
    struct rue_source *source = data_open(name);
    uint64_t before = bytes_read();
    for (uint64_t i = 0; i < rue_source_count(source); i++) cr_assert(shard_holds(source, i, NULL));
    rue_source_close(source);
    return (double)(bytes_read() - before);
}

Test(item_stream, an_epoch_reads_the_data_once)
{
    shard_make("large", MANY, LARGE, 1 << 27, RUE_COMPRESS_LZ4);
    double once = read_once("large");
    double in_order = (double)read_epochs("large", false) / once;
    double shuffled = (double)read_epochs("large", true) / once;
    cr_assert(in_order > 1.9 && in_order < 2.2, "%.2f", in_order);
    cr_assert(shuffled > 1.9 && shuffled < 2.2, "%.2f", shuffled);
}

enum { SCRAPS = 10000, SCRAP = 400, SCRAPS_BATCH = 100, SCRAPS_BATCHES = SCRAPS / SCRAPS_BATCH };

static struct rue_source *open_scraps(void)
{
    shard_noise = true;
    shard_make("scraps", SCRAPS, SCRAP, 1 << 27, RUE_COMPRESS_LZ4);
    return data_open("scraps");
}

/* What each batch of a shuffled epoch reads of the data. */
static void read_batches(struct rue_source *source, double share[SCRAPS_BATCHES])
{
    struct rue_sampler sampler = {.items = SCRAPS, .seed = 3, .shuffle = true, .world_size = 1};
    sampler.window = rue_source_window(source, SCRAPS_BATCH);
    for (size_t b = 0; b < SCRAPS_BATCHES; b++) {
        uint64_t before = bytes_read();
        for (uint64_t i = b * SCRAPS_BATCH; i < (b + 1) * SCRAPS_BATCH; i++)
            cr_assert(shard_holds(source, rue_sampler_item(&sampler, i), NULL));
        share[b] = (double)(bytes_read() - before) / (SCRAPS * (double)SCRAP);
    }
}

/* A trial that is cut short has its part of what the epoch costs, wherever it ends. */
Test(item_stream, a_window_is_read_while_the_one_before_it_is_handed_out)
{
    double share[SCRAPS_BATCHES], sum = 0, whole = 0;
    struct rue_source *source = open_scraps();
    double window = (double)rue_source_window(source, SCRAPS_BATCH) / SCRAPS;
    cr_assert(window > 0.2 && window < 0.5, "%.2f of the data a window", window);
    read_batches(source, share);
    for (size_t b = 0; b < SCRAPS_BATCHES; b++) whole += share[b];
    for (size_t b = 0; b < SCRAPS_BATCHES; b++) {
        double ahead = fmin(1, window + (double)(b + 1) / SCRAPS_BATCHES);
        sum += share[b] / whole;
        cr_assert_float_eq(sum, ahead, 0.05, "%.2f of the data after %zu batches, not %.2f", sum, b + 1,
                           ahead);
    }
    rue_source_close(source);
}

/* Of several loaders each reads all of it, once, for the items that are its own. */
Test(item_stream, whoever_has_a_share_of_the_items_reads_the_data_once)
{
    struct rue_source *source = open_scraps();
    double once = read_once("scraps");
    for (int loaders = 2; loaders <= 8; loaders *= 2) {
        struct rue_sampler sampler = {
            .items = SCRAPS, .seed = 3, .shuffle = true, .rank = 1, .world_size = loaders};
        sampler.window = rue_source_window(source, SCRAPS_BATCH);
        rue_source_rewind(source);
        uint64_t before = bytes_read();
        for (uint64_t i = 0; i < SCRAPS / (uint64_t)loaders; i++)
            cr_assert(shard_holds(source, rue_sampler_item(&sampler, i), NULL));
        double times = (double)(bytes_read() - before) / once;
        cr_assert(times > 0.9 && times < 1.1, "%.2f of the data for one of %d", times, loaders);
    }
    rue_source_close(source);
}

static uint64_t bytes_for(const struct rue_source *source, uint64_t item)
{
    uint64_t before = bytes_read();
    cr_assert(shard_holds(source, item, NULL));
    return bytes_read() - before;
}

Test(item_stream, a_rewound_stream_has_nothing_left_of_the_order_before)
{
    enum { FILE_OF_KERNEL = 1000 };
    struct rue_source *source = open_scraps();
    cr_assert_gt(bytes_for(source, 150), 150 * SCRAP);
    cr_assert_lt(bytes_for(source, 50), FILE_OF_KERNEL, "it was kept");
    rue_source_rewind(source);
    cr_assert_gt(bytes_for(source, 60), 60 * SCRAP);
    rue_source_close(source);
}

struct reader {
    const struct rue_source *source;
    const struct rue_sampler *sampler;
    uint64_t first, step;
    bool good;
};

static void *read_share(void *argument)
{
    struct reader *reader = argument;
    reader->good = true;
    for (uint64_t i = reader->first; i < 2 * ITEMS; i += reader->step)
        reader->good &= shard_holds(reader->source, rue_sampler_item(reader->sampler, i), NULL);
    return NULL;
}

Test(item_stream, several_threads_share_a_stream)
{
    struct rue_source *source = open_shards(RUE_COMPRESS_GZIP);
    const struct rue_sampler sampler = {
        .items = ITEMS, .seed = 3, .shuffle = true, .world_size = 1, .window = rue_source_window(source, 64)};
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    struct reader readers[THREADS];
    for (uint64_t t = 0; t < THREADS; t++) {
        readers[t] = (struct reader){source, &sampler, t, THREADS, false};
        cr_assert_eq(pthread_create(&threads[t], NULL, read_share, &readers[t]), 0);
    }
    for (uint64_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        cr_assert(readers[t].good);
    }
    rue_source_close(source);
}

static long peak_kilobytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* 240 items of a megabyte; at most 64 of them lie within the window. */
Test(item_stream, memory_stays_put_however_large_the_data_are)
{
    enum { COUNT = 240, MEGABYTE = 1 << 20 };
    rue_error error = {0};
    shard_make("large", COUNT, MEGABYTE, 1 << 27, RUE_COMPRESS_LZ4);
    struct rue_source *source = data_open("large");
    struct rue_sampler sampler = {.items = COUNT, .seed = 3, .shuffle = true, .world_size = 1};
    sampler.window = rue_source_window(source, 8);
    cr_assert(sampler.window <= 64);
    for (uint64_t i = 0; i < 2 * COUNT; i++)
        cr_assert(shard_holds(source, rue_sampler_item(&sampler, i), &error), "%s", error.message);
    long before = peak_kilobytes();
    for (uint64_t i = 2 * COUNT; i < 3 * COUNT; i++)
        cr_assert(shard_holds(source, rue_sampler_item(&sampler, i), &error), "%s", error.message);
    cr_assert_lt(peak_kilobytes() - before, 48 * 1024, "from %ld KB to %ld KB", before, peak_kilobytes());
    rue_source_close(source);
}

/* Few items hold nearly all bytes, and lie together: a window by their mean would hold all of them. */
Test(item_stream, a_window_is_bounded_in_bytes_wherever_the_large_items_lie)
{
    enum { SMALL = 2416, LARGE_ONES = 80, MEGABYTE = 1 << 20, BOUND = 64 };
    shard_make_uneven("uneven", SMALL + LARGE_ONES, 1000, SMALL, MEGABYTE, 1 << 27, RUE_COMPRESS_LZ4);
    double once = read_once("uneven"), shuffled = (double)read_epochs("uneven", true) / once;
    cr_assert(shuffled > 1.9 && shuffled < 2.2, "%.2f", shuffled);
    struct rue_source *source = data_open("uneven");
    uint64_t window = rue_source_window(source, 8);
    cr_assert(window <= BOUND && window > BOUND / 2, "%d", (int)window);
    rue_source_close(source);
}
