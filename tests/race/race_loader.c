/* The loader under every number of workers and way of sharing, for ThreadSanitizer. */
#include <pthread.h>

#include "loader_fixture.h"
#include "race_fixture.h"

enum { PHOTOS = 7, DAMAGED = 3 };

static const int worker_counts[] = {0, 1, 2, 3, 8};
static const int prefetch_factors[] = {1, 2, 4};

static struct rue_source *source;
static enum rue_access way_to_items;
static int max_queue_size;
static enum rue_read read_items;
static enum rue_batch_strategy batch_strategy;
static const struct rue_memory_probe *memory;
static struct data_items items;

/* Calls `run` for all workers, prefetch factors and ways of sharing. */
static void for_all(const char *claim, uint64_t images, int held,
                    const char *(*run)(const struct rue_loader_options *options))
{
    for (size_t w = 0; w < sizeof worker_counts / sizeof *worker_counts; w++)
        for (size_t p = 0; p < sizeof prefetch_factors / sizeof *prefetch_factors; p++)
            for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
                struct loader_case knobs = {3, worker_counts[w], prefetch_factors[p],
                                            (enum rue_parallelism)way};
                struct rue_loader_options options = make_loader_options(knobs, images);
                options.fetcher.dtype = RUE_UINT8; /* the cheapest to load and compare */
                options.fetcher.access = way_to_items;
                options.max_held = held;
                options.max_queue_size = max_queue_size;
                options.fetcher.read = read_items;
                options.batch_strategy = batch_strategy;
                options.memory = memory;
                race_case(run(&options), "%s: %s", claim, loader_case_name(&options));
            }
}

/* Memory that is short in every other call. */
static uint64_t unsteady_memory(void *context)
{
    static bool is_short;
    (void)context;
    is_short = !is_short;
    return is_short ? 1 : 50;
}

static const char *run_whole(const struct rue_loader_options *options)
{
    return loader_run_fault(source, &items, options);
}

static struct rue_loader *begin(const struct rue_loader_options *options)
{
    rue_error error = {0};
    struct rue_loader *loader;
    data_require(rue_loader_open(source, options, &loader, &error) == RUE_OK, "open", &error);
    return loader;
}

static const char *stop_in_the_middle(const struct rue_loader_options *options)
{
    for (int taken = 0; taken <= 2; taken++) {
        struct rue_loader *loader = begin(options);
        struct rue_batch *batch;
        for (int i = 0; i < taken; i++) {
            if (rue_loader_next(loader, &batch, NULL) != RUE_OK || !batch) return "a batch is missing";
            if (i == 0) rue_loader_release(loader, batch);
        }
        rue_loader_stop(loader);
        rue_loader_close(loader);
        if (taken == 2) rue_loader_release(loader, batch);
    }
    return NULL;
}

/* Rewinds at every point of the first batches, and asks for batches in short calls. */
static const char *rewind_in_the_middle(const struct rue_loader_options *options)
{
    struct rue_loader_options expected = *options;
    expected.continues = options->prefetch_factor > 1;
    struct rue_loader *loader = begin(&expected);
    const char *fault = NULL;
    for (uint64_t epoch = 2; epoch < 22 && !fault; epoch++) {
        struct rue_batch *batch = NULL;
        for (uint64_t i = 0; i < epoch % 4; i++) {
            if (batch) rue_loader_release(loader, batch);
            while (rue_loader_next_within(loader, 1000, &batch, NULL) == RUE_TIMEOUT) continue;
        }
        if (epoch % 4 && !batch) fault = "a batch is missing";
        if (rue_loader_rewind(loader, epoch, 0, NULL) != RUE_OK) fault = "it is not rewound";
        if (batch) rue_loader_release(loader, batch);
    }
    expected.sampler.epoch = 21;
    if (!fault) fault = loader_drain(loader, &expected, &items);
    expected.sampler.epoch = 22;
    if (!fault && rue_loader_rewind(loader, 22, 0, NULL) != RUE_OK) fault = "it is not rewound at the end";
    if (!fault) fault = loader_drain(loader, &expected, &items);
    rue_loader_close(loader);
    return fault;
}

static const char *run_damaged(const struct rue_loader_options *options)
{
    struct rue_loader_options in_order = *options;
    in_order.sampler.shuffle = false;
    struct rue_source *damaged = data_open("damaged");
    const char *fault = loader_damage_fault(damaged, &in_order, DAMAGED, "/damaged/3.jpg");
    rue_source_close(damaged);
    return fault;
}

/* ---- batches that another thread gives back, also after close ---- */

enum { HELD = 3 };

struct lane {
    struct rue_loader *loader;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct rue_batch *batches[HELD];
    int count;
    int held; /* by both threads */
    bool ended;
};

/* Gives the youngest back first, so that the order is not that of taking. */
static void *give_back(void *argument)
{
    struct lane *lane = argument;
    pthread_mutex_lock(&lane->lock);
    while (!lane->ended || lane->count) {
        if (lane->count == 0) {
            pthread_cond_wait(&lane->changed, &lane->lock);
            continue;
        }
        struct rue_batch *batch = lane->batches[--lane->count];
        pthread_mutex_unlock(&lane->lock);
        rue_loader_release(lane->loader, batch);
        pthread_mutex_lock(&lane->lock);
        lane->held--;
        pthread_cond_signal(&lane->changed);
    }
    pthread_mutex_unlock(&lane->lock);
    return NULL;
}

/* The loader may be asked for a batch only while fewer than HELD are out. */
static void hand_over(struct lane *lane, struct rue_batch *batch)
{
    pthread_mutex_lock(&lane->lock);
    if (batch) {
        lane->held++;
        lane->batches[lane->count++] = batch;
    } else {
        lane->ended = true;
    }
    pthread_cond_signal(&lane->changed);
    while (lane->held == HELD) pthread_cond_wait(&lane->changed, &lane->lock);
    pthread_mutex_unlock(&lane->lock);
}

static const char *release_elsewhere(const struct rue_loader_options *options)
{
    struct lane lane = {
        .loader = begin(options), .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    const char *fault = NULL;
    uint64_t index = 0, batches = rue_loader_batches(options);
    data_require(pthread_create(&thread, NULL, give_back, &lane) == 0, "a thread", NULL);
    while (index < batches && !fault) {
        struct rue_batch *batch;
        if (rue_loader_next(lane.loader, &batch, NULL) != RUE_OK || !batch) {
            fault = "a batch is missing";
            break;
        }
        fault = loader_batch_fault(options, &items, index++, batch);
        rue_loader_bad_images(lane.loader, NULL);
        hand_over(&lane, batch);
    }
    hand_over(&lane, NULL);
    rue_loader_close(lane.loader);
    pthread_join(thread, NULL);
    return fault;
}

/* ---- the whole ---- */

static void make_data(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "tensors", RUE_UINT8);
    data_tensor_make("photos", "store.zarr", RUE_UINT8);
    for (unsigned i = 0; i < PHOTOS; i++) {
        struct jpeg_file file = data_photo(i);
        char name[32];
        snprintf(name, sizeof name, "damaged/%u.jpg", i);
        temporary_file(name, file.data, i == DAMAGED ? file.bytes / 2 : file.bytes);
        free(file.data);
    }
}

int main(void)
{
    const struct rue_fetcher_options fetching = {.dtype = RUE_UINT8, .max_pixels = RUE_MAX_PIXELS_DEFAULT};
    make_data();
    source = data_open("tensors");
    items = data_items_fetch(source, fetching);
    for_all("all batches come", 2 * PHOTOS + 1, 1, run_whole);
    for_all("another thread gives back", 2 * PHOTOS, HELD, release_elsewhere);
    for_all("stopping in the middle", 20 * PHOTOS, 2, stop_in_the_middle);
    for_all("rewinding in the middle", 3 * PHOTOS, 2, rewind_in_the_middle);
    way_to_items = RUE_ACCESS_READ;
    for_all("read ahead, all batches come", 2 * PHOTOS + 1, 1, run_whole);
    for_all("read ahead, stopping in the middle", 20 * PHOTOS, 2, stop_in_the_middle);
    for_all("read ahead, rewinding in the middle", 3 * PHOTOS, 2, rewind_in_the_middle);
    max_queue_size = 2, read_items = RUE_READ_BATCH;
    for_all("a short queue, all batches come", 2 * PHOTOS + 1, 1, run_whole);
    for_all("a short queue, stopping in the middle", 20 * PHOTOS, 2, stop_in_the_middle);
    for_all("a short queue, rewinding in the middle", 3 * PHOTOS, 2, rewind_in_the_middle);
    memory = &(const struct rue_memory_probe){.free_bytes = unsteady_memory, .total_bytes = 100};
    batch_strategy = RUE_BATCHES_MEMORY;
    for_all("batches of changing size, all come", 20 * PHOTOS, 1, run_whole);
    for_all("batches of changing size, stopping in the middle", 20 * PHOTOS, 2, stop_in_the_middle);
    for_all("batches of changing size, rewinding in the middle", 3 * PHOTOS, 2, rewind_in_the_middle);
    batch_strategy = RUE_BATCHES_ADAPTIVE;
    for_all("adaptive batches, all come", 20 * PHOTOS, 1, run_whole);
    for_all("adaptive batches, rewinding in the middle", 3 * PHOTOS, 2, rewind_in_the_middle);
    batch_strategy = RUE_BATCHES_FIXED;
    rue_source_close(source);
    source = data_open("photos");
    for_all("files are decoded", PHOTOS, 1, run_whole);
    for_all("a damaged file fails its batch", 2 * PHOTOS, 1, run_damaged);
    rue_source_close(source);
    data_items_free(&items);
    source = data_open("store.zarr");
    items = data_items_fetch(source, fetching);
    for_all("chunks are shared, all batches come", 2 * PHOTOS + 1, 1, run_whole);
    for_all("chunks are shared, stopping in the middle", 20 * PHOTOS, 2, stop_in_the_middle);
    rue_source_close(source);
    data_items_free(&items);
    temporary_folder_remove();
    return race_end();
}
