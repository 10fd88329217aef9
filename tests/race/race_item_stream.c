/* Items of compressed shards, asked for by many threads: by hand, and by the loader. */
#include <pthread.h>

#include "loader_fixture.h"
#include "race_fixture.h"
#include "shard_fixture.h"

enum { ITEMS = 120, BYTES = 3000, THREADS = 6, PHOTOS = 7 };

struct reader {
    const struct rue_source *source;
    struct rue_sampler sampler;
    uint64_t first;
    bool good;
};

static void *read_share(void *argument)
{
    struct reader *reader = argument;
    reader->good = true;
    for (uint64_t i = reader->first; i < 2 * ITEMS; i += THREADS)
        reader->good &= shard_holds(reader->source, rue_sampler_item(&reader->sampler, i), NULL);
    return NULL;
}

static void read_by_threads(enum rue_compression how)
{
    char name[32];
    snprintf(name, sizeof name, "shards-%d", how);
    shard_make(name, ITEMS, BYTES, 100000, how);
    struct rue_source *source = data_open(name);
    pthread_t threads[THREADS];
    struct reader readers[THREADS];
    const struct rue_sampler sampler = {
        .items = ITEMS, .seed = 3, .shuffle = true, .world_size = 1, .window = rue_source_window(source, 64)};
    for (uint64_t t = 0; t < THREADS; t++) {
        readers[t] = (struct reader){source, sampler, t, false};
        data_require(pthread_create(&threads[t], NULL, read_share, &readers[t]) == 0, "a thread", NULL);
    }
    for (uint64_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        race_case(readers[t].good ? NULL : "an item is not what was written", "%s, thread %d",
                  rue_compression_names[how], (int)t);
    }
    rue_source_close(source);
}

/* Every number of workers delivers the same bytes in the same order. */
static void load(enum rue_compression how)
{
    static const int worker_counts[] = {0, 1, 2, 4};
    char name[32];
    snprintf(name, sizeof name, "tensors-%d", how);
    struct rue_source *tensors = data_open("tensors");
    shard_convert(tensors, name, how);
    struct rue_source *source = data_open(name);
    const struct rue_fetcher_options fetching = {.dtype = RUE_UINT8, .max_pixels = RUE_MAX_PIXELS_DEFAULT};
    struct data_items items = data_items_fetch(source, fetching);
    for (size_t w = 0; w < sizeof worker_counts / sizeof *worker_counts; w++)
        for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
            struct loader_case knobs = {3, worker_counts[w], 2, (enum rue_parallelism)way};
            struct rue_loader_options options = loader_options_of(knobs, 3 * PHOTOS);
            options.fetcher.dtype = RUE_UINT8;
            options.sampler.window = rue_source_window(source, 1);
            race_case(loader_run_fault(source, &items, &options), "%s: %s", rue_compression_names[how],
                      loader_case_name(&options));
        }
    data_items_free(&items);
    rue_source_close(source);
    rue_source_close(tensors);
}

int main(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "tensors", RUE_UINT8);
    for (int how = RUE_COMPRESS_NONE; how < RUE_COMPRESSION_COUNT; how++) {
        read_by_threads((enum rue_compression)how);
        load((enum rue_compression)how);
    }
    temporary_folder_remove();
    return race_end();
}
