/* A loader that is rewound, begun in the middle, asked within a time, and closed while batches are held. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>

#include "loader_fixture.h"
#include "no_work_source.h"

enum { PHOTOS = 11, IMAGES = 2 * PHOTOS + 1, BATCH = 4, EPOCHS = 3 };

static const int worker_counts[] = {0, 1, 2, 16};
enum { WORKER_COUNTS = sizeof worker_counts / sizeof *worker_counts };

static struct rue_source *source;

static void setup(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "tensors", RUE_UINT8);
    source = data_open("tensors");
}

static void teardown(void)
{
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(loader_epochs, .init = setup, .fini = teardown, .timeout = 120);

static struct rue_loader_options epoch_options(int workers, int prefetch_factor, int parallelism)
{
    struct rue_loader_options options = make_loader_options(
        (struct loader_case){BATCH, workers, prefetch_factor, (enum rue_parallelism)parallelism}, IMAGES);
    options.sampler.epoch = 0;
    options.fetcher.dtype = RUE_UINT8;
    options.fetcher.access = RUE_ACCESS_READ;
    options.max_held = 2;
    return options;
}

static struct rue_loader *begin(const struct rue_loader_options *options)
{
    rue_error error = {0};
    struct rue_loader *loader;
    cr_assert_eq(rue_loader_open(source, options, &loader, &error), RUE_OK, "%s", error.message);
    return loader;
}

static void rewind_to(struct rue_loader *loader, uint64_t epoch, uint64_t first)
{
    rue_error error = {0};
    cr_assert_eq(rue_loader_rewind(loader, epoch, first, &error), RUE_OK, "%s", error.message);
}

static struct rue_batch *next_batch(struct rue_loader *loader)
{
    rue_error error = {0};
    struct rue_batch *batch;
    cr_assert_eq(rue_loader_next(loader, &batch, &error), RUE_OK, "%s", error.message);
    return batch;
}

/* What an epoch delivered at each position. */
struct epoch {
    uint32_t crcs[IMAGES];
    uint64_t items[IMAGES];
};

static void note_batch(const struct rue_batch *batch, struct epoch *out)
{
    for (size_t i = 0; i < batch->count; i++) {
        const char *tensor = (const char *)batch->images + i * RUE_TENSOR_ITEMS;
        out->crcs[batch->first + i] = rue_crc32c(0, tensor, RUE_TENSOR_ITEMS);
        out->items[batch->first + i] = batch->items[i];
        cr_assert_eq(batch->labels[i], rue_source_label(source, batch->items[i]));
    }
}

/* The rest of the epoch, which begins at `first`. */
static void note_epoch(struct rue_loader *loader, uint64_t epoch, uint64_t first, struct epoch *out)
{
    for (struct rue_batch *batch; (batch = next_batch(loader)); rue_loader_release(loader, batch)) {
        cr_assert(batch->epoch == epoch && batch->first == first, "epoch %d, first %d", (int)batch->epoch,
                  (int)batch->first);
        note_batch(batch, out);
        first += batch->count;
    }
    cr_assert_eq(first, IMAGES);
}

static void note_epochs(struct epoch epochs[EPOCHS])
{
    for (uint64_t e = 0; e < EPOCHS; e++) {
        struct rue_loader_options options = epoch_options(0, 0, RUE_PARALLEL_BATCH);
        options.sampler.epoch = e;
        struct rue_loader *loader = begin(&options);
        note_epoch(loader, e, 0, &epochs[e]);
        rue_loader_close(loader);
    }
    cr_assert_neq(memcmp(&epochs[0], &epochs[1], sizeof *epochs), 0, "epochs differ");
}

static void expect_epoch(const struct epoch *found, const struct epoch *expected,
                         const struct rue_loader_options *options, const char *when)
{
    cr_assert_eq(memcmp(found, expected, sizeof *found), 0, "%s: %s", loader_case_name(options), when);
}

/* Fresh, rewound at the end, and rewound after `batches`, of which one is still held. */
static void check_epochs(const struct rue_loader_options *options, const struct epoch *expected)
{
    static struct epoch found, held;
    struct rue_loader *loader = begin(options);
    note_epoch(loader, 0, 0, &found);
    expect_epoch(&found, &expected[0], options, "a fresh loader");
    for (uint64_t e = 1; e < EPOCHS; e++) {
        rewind_to(loader, e, 0);
        note_epoch(loader, e, 0, &found);
        expect_epoch(&found, &expected[e], options, "rewound at the end");
    }
    for (int batches = 0; batches <= 2; batches++) {
        struct rue_batch *batch = NULL;
        rewind_to(loader, 1, 0);
        for (int i = 0; i < batches; i++) {
            if (batch) rue_loader_release(loader, batch);
            batch = next_batch(loader);
        }
        rewind_to(loader, 2, 0);
        note_epoch(loader, 2, 0, &found);
        expect_epoch(&found, &expected[2], options, "rewound in the middle");
        if (!batch) continue;
        held = expected[1];
        note_batch(batch, &held);
        expect_epoch(&held, &expected[1], options, "a held batch stays as it was");
        rue_loader_release(loader, batch);
    }
    rue_loader_close(loader);
}

Test(loader_epochs, rewound_epochs_are_those_of_fresh_loaders)
{
    static const int prefetch_factors[] = {1, 2, 4};
    static struct epoch expected[EPOCHS];
    note_epochs(expected);
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int p = 0; p < 3; p++)
            for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
                struct rue_loader_options options = epoch_options(worker_counts[w], prefetch_factors[p], way);
                options.fetcher.read = (enum rue_read)p;
                check_epochs(&options, expected);
                options.continues = true;
                check_epochs(&options, expected);
            }
}

Test(loader_epochs, an_epoch_continues_at_any_position)
{
    static const uint64_t firsts[] = {0, 1, BATCH, IMAGES / 2, IMAGES - 1, IMAGES};
    static struct epoch expected[EPOCHS], found;
    note_epochs(expected);
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            struct rue_loader_options options = epoch_options(worker_counts[w], 2, (int)f % 2);
            options.sampler.epoch = 1;
            options.first = firsts[f];
            uint64_t left = IMAGES - firsts[f];
            cr_assert_eq(rue_loader_images(&options), left);
            cr_assert_eq(rue_loader_batches(&options), (left + BATCH - 1) / BATCH);
            struct rue_loader *loader = begin(&options);
            found = expected[1];
            note_epoch(loader, 1, firsts[f], &found);
            expect_epoch(&found, &expected[1], &options, "opened in the middle");
            rewind_to(loader, 2, firsts[f]);
            found = expected[2];
            note_epoch(loader, 2, firsts[f], &found);
            expect_epoch(&found, &expected[2], &options, "rewound to the middle");
            rue_loader_close(loader);
        }
}

Test(loader_epochs, a_position_beyond_the_end_is_refused)
{
    struct rue_loader_options options = epoch_options(2, 2, RUE_PARALLEL_BATCH);
    rue_error error = {0};
    struct rue_loader *loader;
    options.first = IMAGES + 1;
    cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "first 24") && strstr(error.message, "images 23"), "%s", error.message);
    options.first = 0;
    loader = begin(&options);
    rue_loader_release(loader, next_batch(loader));
    rue_error_clear(&error);
    cr_assert_eq(rue_loader_rewind(loader, 1, IMAGES + 1, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "23 images") && strstr(error.message, "image 24"), "%s", error.message);
    struct rue_batch *batch = next_batch(loader);
    cr_assert(batch->epoch == 0 && batch->index == 1, "nothing changed");
    rue_loader_release(loader, batch);
    rue_loader_close(loader);
}

Test(loader_epochs, drop_last_counts_from_the_first_position)
{
    struct rue_loader_options options = epoch_options(1, 2, RUE_PARALLEL_BATCH);
    options.drop_last = true;
    for (options.first = 0; options.first <= IMAGES; options.first++) {
        uint64_t images = 0;
        struct rue_loader *loader = begin(&options);
        for (struct rue_batch *batch; (batch = next_batch(loader)); rue_loader_release(loader, batch))
            images += batch->count;
        cr_assert_eq(images, (IMAGES - options.first) / BATCH * BATCH);
        cr_assert_eq(images, rue_loader_images(&options));
        rue_loader_close(loader);
    }
}

static int count_entries(const char *folder)
{
    int count = 0;
    DIR *entries = opendir(folder);
    while (entries && readdir(entries)) count++;
    closedir(entries);
    return count;
}

Test(loader_epochs, a_thousand_rewinds_keep_threads_descriptors_and_slabs)
{
    for (int w = 0; w < WORKER_COUNTS; w++) {
        struct loader_slabs slabs = {.available = 1000};
        struct rue_slab_allocator allocator = loader_slab_allocator(&slabs);
        struct rue_loader_options options = epoch_options(worker_counts[w], 2, w % 2);
        options.allocator = &allocator;
        struct rue_loader *loader = begin(&options);
        int threads = count_entries("/proc/self/task"), files = count_entries("/proc/self/fd"),
            allocated = slabs.allocated;
        for (uint64_t epoch = 1; epoch <= 1000; epoch++) {
            rewind_to(loader, epoch, epoch % IMAGES);
            for (uint64_t i = 0; i < epoch % 3; i++) {
                struct rue_batch *batch = next_batch(loader);
                if (batch) rue_loader_release(loader, batch);
            }
        }
        cr_assert_eq(count_entries("/proc/self/task"), threads);
        cr_assert_leq(count_entries("/proc/self/fd"), files + worker_counts[w] + 1, "a ring for each reader");
        cr_assert(slabs.allocated == allocated && slabs.released == 0);
        rue_loader_close(loader);
        cr_assert_eq(slabs.released, allocated);
    }
}

Test(loader_epochs, a_damaged_image_ends_its_epoch_only)
{
    struct rue_loader_options options = epoch_options(0, 2, RUE_PARALLEL_BATCH);
    struct rue_source *whole = source;
    data_photo_damage(PHOTOS - 1);
    source = data_open("photos");
    options.sampler.shuffle = false;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        options.num_workers = worker_counts[w];
        struct rue_loader *loader = begin(&options);
        for (uint64_t epoch = 1; epoch < 4; epoch++) {
            struct rue_batch *batch;
            rue_error error = {0};
            rue_status status;
            while ((status = rue_loader_next(loader, &batch, &error)) == RUE_OK && batch)
                rue_loader_release(loader, batch);
            cr_assert(status == RUE_DATA && strstr(error.message, "truncated"), "%s", error.message);
            cr_assert_eq(rue_loader_next(loader, &batch, NULL), RUE_DATA);
            rewind_to(loader, epoch, 0);
        }
        rue_loader_release(loader, next_batch(loader));
        rue_loader_close(loader);
    }
    rue_source_close(source);
    source = whole;
}

Test(loader_epochs, a_stopped_loader_is_not_rewound)
{
    for (int w = 0; w < WORKER_COUNTS; w++) {
        struct rue_loader_options options = epoch_options(worker_counts[w], 2, RUE_PARALLEL_BATCH);
        struct rue_loader *loader = begin(&options);
        struct rue_batch *batch;
        rue_error error = {0};
        rue_loader_stop(loader);
        cr_assert_eq(rue_loader_rewind(loader, 1, 0, &error), RUE_INTERRUPTED);
        cr_assert(strstr(error.message, "stopped"), "%s", error.message);
        cr_assert_eq(rue_loader_next_within(loader, 0, &batch, NULL), RUE_INTERRUPTED);
        rue_loader_close(loader);
    }
}

/* Marks the items of the rank's share; the images after it must be those of its next epoch. Returns the
 * number of batches. */
static uint64_t load_padded(struct rue_loader_options options, int seen[PHOTOS])
{
    struct rue_sampler sampler = options.sampler, next;
    cr_assert_eq(rue_sampler_open(&sampler, source, NULL), RUE_OK);
    uint64_t share = rue_sampler_share(&sampler), batches = 0;
    next = sampler;
    next.epoch++;
    options.images = rue_sampler_images(&sampler, RUE_EVEN_PAD);
    struct rue_loader *loader = begin(&options);
    for (struct rue_batch *batch; (batch = next_batch(loader)); rue_loader_release(loader, batch), batches++)
        for (size_t i = 0; i < batch->count; i++) {
            uint64_t position = batch->first + i;
            if (position < share)
                seen[batch->items[i]]++;
            else
                cr_assert_eq(batch->items[i], rue_sampler_item(&next, position - share));
        }
    rue_loader_close(loader);
    rue_sampler_close(&sampler);
    return batches;
}

Test(loader_epochs, padded_ranks_have_as_many_batches_and_together_each_image)
{
    for (int world = 1; world <= 7; world++) {
        int seen[PHOTOS] = {0};
        for (int rank = 0; rank < world; rank++) {
            struct rue_loader_options options = epoch_options(rank % 3, 2, rank % 2);
            options.batch_size = 2;
            options.sampler.rank = rank;
            options.sampler.world_size = world;
            uint64_t most = (PHOTOS + (uint64_t)world - 1) / (uint64_t)world;
            cr_assert_eq(load_padded(options, seen), (most + 1) / 2);
        }
        for (int i = 0; i < PHOTOS; i++) cr_assert_eq(seen[i], 1);
    }
}

/* ---- within a time ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    uint64_t read;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static rue_status read_behind_gate(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    pthread_mutex_lock(&gate.lock);
    while (!gate.open) pthread_cond_wait(&gate.changed, &gate.lock);
    gate.read++;
    pthread_mutex_unlock(&gate.lock);
    return no_work_read(index, item, into, error);
}

static void set_gate(bool open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static const struct rue_source_ops gated_ops = {
    .format = "none", .has_mode = {[RUE_PREPROCESSED] = true}, .read = read_behind_gate};

static struct rue_source *open_gated(void)
{
    struct rue_source *gated = no_work_source_open_as(&gated_ops, 100);
    cr_assert(gated);
    return gated;
}

static void expect_timeout(struct rue_loader *loader, uint64_t timeout_ns)
{
    struct rue_batch *batch;
    rue_error error = {0};
    cr_assert_eq(rue_loader_next_within(loader, timeout_ns, &batch, &error), RUE_TIMEOUT);
    cr_assert(!batch && error.status == RUE_OK && !error.message[0], "%s", error.message);
}

Test(loader_epochs, a_slow_source_is_waited_for_within_the_time_and_again)
{
    struct rue_source *whole = source;
    source = open_gated();
    for (int workers = 1; workers <= 3; workers++) {
        struct rue_loader_options options = epoch_options(workers, 2, workers % 2);
        options.fetcher.dtype = RUE_FLOAT32;
        set_gate(false);
        struct rue_loader *loader = begin(&options);
        expect_timeout(loader, 0);
        expect_timeout(loader, 1000000);
        /* A rewind does not wait for the reads of the dropped batches. */
        rewind_to(loader, 5, BATCH);
        rewind_to(loader, 6, 0);
        expect_timeout(loader, 0);
        set_gate(true);
        struct rue_batch *batch = next_batch(loader);
        cr_assert(batch->epoch == 6 && batch->index == 0 && batch->queued == 0, "it was waited for");
        for (size_t i = 0; i < batch->count; i++) {
            uint64_t found;
            memcpy(&found, (char *)batch->images + i * sizeof(float) * RUE_TENSOR_ITEMS, sizeof found);
            cr_assert_eq(found, batch->items[i]);
        }
        rue_loader_release(loader, batch);
        cr_assert_eq(rue_loader_next_within(loader, UINT64_MAX, &batch, NULL), RUE_OK);
        rue_loader_release(loader, batch);
        rue_loader_close(loader);
    }
    rue_source_close(source);
    source = whole;
}

static void wait_until_read(uint64_t items)
{
    for (uint64_t read = 0; read < items; usleep(1000)) {
        pthread_mutex_lock(&gate.lock);
        read = gate.read;
        pthread_mutex_unlock(&gate.lock);
    }
}

Test(loader_epochs, a_loader_that_continues_has_the_next_epoch_when_it_is_rewound)
{
    struct rue_source *whole = source;
    source = open_gated();
    set_gate(true);
    for (int way = RUE_PARALLEL_BATCH; way <= RUE_PARALLEL_SAMPLE; way++) {
        struct rue_loader_options options = epoch_options(2, 2, way);
        uint64_t ahead = IMAGES + UINT64_C(4) * BATCH; /* a window of the next epoch */
        options.fetcher.dtype = RUE_FLOAT32;
        options.continues = true;
        gate.read = 0;
        struct rue_loader *loader = begin(&options);
        for (struct rue_batch *batch; (batch = next_batch(loader)); rue_loader_release(loader, batch))
            cr_assert_eq(batch->epoch, 0);
        cr_assert_null(next_batch(loader), "the epoch has ended, although there are batches");
        wait_until_read(ahead);
        set_gate(false);
        rewind_to(loader, 1, 0);
        for (uint64_t i = 0; i < 4; i++) {
            struct rue_batch *batch = next_batch(loader);
            cr_assert(batch->epoch == 1 && batch->index == i && batch->first == i * BATCH);
            rue_loader_release(loader, batch);
        }
        cr_assert_eq(gate.read, ahead);
        set_gate(true);
        rewind_to(loader, 5, 1);
        struct rue_batch *batch = next_batch(loader);
        cr_assert(batch->epoch == 5 && batch->index == 0 && batch->first == 1);
        rue_loader_release(loader, batch);
        rue_loader_close(loader);
    }
    rue_source_close(source);
    source = whole;
}

Test(loader_epochs, without_workers_each_short_call_loads_an_item)
{
    struct rue_loader_options options = epoch_options(0, 2, RUE_PARALLEL_SAMPLE);
    struct rue_source *whole = source;
    options.fetcher.dtype = RUE_FLOAT32;
    source = open_gated();
    set_gate(true);
    gate.read = 0;
    struct rue_loader *loader = begin(&options);
    struct rue_batch *batch;
    for (uint64_t i = 1; i < BATCH; i++) {
        expect_timeout(loader, i % 2);
        cr_assert_eq(gate.read, i);
    }
    cr_assert_eq(rue_loader_next_within(loader, 0, &batch, NULL), RUE_OK);
    cr_assert(batch->count == BATCH && gate.read == BATCH);
    rue_loader_release(loader, batch);
    expect_timeout(loader, 0);
    rewind_to(loader, 1, 2); /* the batch that was begun is dropped */
    cr_assert_eq(gate.read, BATCH + 1);
    batch = next_batch(loader);
    cr_assert(batch->epoch == 1 && batch->first == 2 && gate.read == 2 * BATCH + 1);
    rue_loader_release(loader, batch);
    expect_timeout(loader, 0);
    rue_loader_close(loader);
    rue_source_close(source);
    source = whole;
}

Test(loader_epochs, short_calls_deliver_the_same_epoch)
{
    static struct epoch expected[EPOCHS], found;
    note_epochs(expected);
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int read = 0; read < RUE_READ_COUNT; read++) {
            struct rue_loader_options options = epoch_options(worker_counts[w], 2, read % 2);
            options.fetcher.read = (enum rue_read)read;
            struct rue_loader *loader = begin(&options);
            uint64_t images = 0;
            while (images < IMAGES) {
                struct rue_batch *batch;
                rue_status status = rue_loader_next_within(loader, 1, &batch, NULL);
                cr_assert(status == RUE_TIMEOUT || status == RUE_OK);
                if (status != RUE_OK) continue;
                note_batch(batch, &found);
                images += batch->count;
                rue_loader_release(loader, batch);
            }
            expect_epoch(&found, &expected[0], &options, "in short calls");
            rue_loader_close(loader);
        }
}

/* ---- after close ---- */

static void *release_batch(void *argument)
{
    void **pair = argument;
    rue_loader_release(pair[0], pair[1]);
    return NULL;
}

Test(loader_epochs, held_batches_outlive_the_loader)
{
    static struct epoch expected[EPOCHS], found;
    note_epochs(expected);
    for (int w = 0; w < WORKER_COUNTS; w++) {
        struct loader_slabs slabs = {.available = 1000};
        struct rue_slab_allocator allocator = loader_slab_allocator(&slabs);
        struct rue_loader_options options = epoch_options(worker_counts[w], 2, w % 2);
        options.allocator = &allocator;
        options.max_held = 3;
        struct rue_loader *loader = begin(&options);
        struct rue_batch *held[3] = {next_batch(loader), next_batch(loader), next_batch(loader)};
        rue_loader_close(loader);
        cr_assert_eq(slabs.allocated - slabs.released, 3, "the others are freed at once");
        found = expected[0];
        for (int i = 0; i < 3; i++) note_batch(held[i], &found);
        expect_epoch(&found, &expected[0], &options, "after close");
        rue_loader_release(loader, held[1]);
        cr_assert_eq(slabs.allocated - slabs.released, 2);
        pthread_t threads[2];
        void *pairs[2][2] = {{loader, held[0]}, {loader, held[2]}};
        for (int i = 0; i < 2; i++)
            cr_assert_eq(pthread_create(&threads[i], NULL, release_batch, pairs[i]), 0);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        cr_assert_eq(slabs.released, slabs.allocated);
    }
}
