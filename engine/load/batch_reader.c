#include "batch_reader.h"

#include <stdlib.h>

#include "clock.h"

/* An image to load. */
struct image {
    uint64_t item;
    uint64_t epoch;
    size_t position;
};

struct rue_batch_reader {
    struct rue_batch_reading *reading;
    struct rue_fetcher *fetcher;
    struct rue_sampler order; /* of the epoch of the batch */
    struct rue_batch *batch;
    const atomic_bool *dropped;
    size_t count, loaded, prefetched; /* of the images */
    struct image images[];            /* [batch_size] in the order of loading */
};

rue_status rue_batch_reader_open(struct rue_batch_reading *reading, struct rue_batch_reader **out,
                                 rue_error *error)
{
    size_t images = (size_t)reading->options->batch_size;
    struct rue_batch_reader *reader = calloc(1, sizeof *reader + images * sizeof *reader->images);
    if (!reader) return rue_fail_memory(error, "a reader of batches", images * sizeof *reader->images);
    reader->reading = reading;
    rue_status status =
        rue_fetcher_open(reading->source, &reading->options->fetcher, &reader->fetcher, error);
    if (status != RUE_OK) return free(reader), status;
    *out = reader;
    return RUE_OK;
}

void rue_batch_reader_close(struct rue_batch_reader *reader)
{
    if (!reader) return;
    rue_fetcher_close(reader->fetcher);
    free(reader);
}

/* The tensors of all images of the first view, then of the second, ... */
static void place_tensors(const struct rue_batch_reader *reader, const struct image *image, void *out[])
{
    const struct rue_item_shape *item = &reader->reading->item;
    size_t bytes = rue_dtype_bytes[reader->reading->options->fetcher.dtype];
    char *images = reader->batch->images;
    for (uint32_t v = 0; v < item->views; v++) {
        out[v] = images + image->position * item->values[v] * bytes;
        images += reader->batch->count * item->values[v] * bytes;
    }
}

static void count_bad_image(struct rue_batch_reading *reading, const rue_error *bad)
{
    pthread_mutex_lock(&reading->lock);
    reading->bad_images++;
    rue_fail(&reading->damage, bad->status, "%s", bad->message);
    pthread_mutex_unlock(&reading->lock);
}

static rue_status load_image(struct rue_batch_reader *reader, const struct image *image, rue_error *error)
{
    rue_error damage = {0}, why = {0};
    uint64_t *item = &reader->batch->items[image->position];
    void *tensors[RUE_VIEWS_MAX];
    place_tensors(reader, image, tensors);
    rue_fetcher_set_epoch(reader->fetcher, image->epoch);
    rue_status status = rue_fetcher_fetch(reader->fetcher, image->item, tensors, item, &damage, &why);
    const rue_error *bad = status == RUE_DATA ? &why : damage.status != RUE_OK ? &damage : NULL;
    if (bad) count_bad_image(reader->reading, bad);
    if (status != RUE_OK) return rue_fail(error, status, "%s", why.message);
    reader->batch->labels[image->position] = rue_source_label(reader->reading->source, *item);
    return RUE_OK;
}

static int compare_images(const void *left, const void *right)
{
    const struct image *a = left, *b = right;
    if (a->item != b->item) return a->item < b->item ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

/* While another worker loads the chunks of an image, loads those of a later block. Otherwise workers would
 * load one chunk after another when chunks hold more than a batch. */
static void prepare_chunks(const struct rue_batch_reader *reader, const struct image *image)
{
    const struct rue_loader_options *options = reader->reading->options;
    uint64_t position = reader->batch->first + image->position, item = image->item;
    for (int ahead = 0; rue_source_prepare(reader->reading->source, item) && ahead < options->num_workers;
         ahead++) {
        position += reader->order.block;
        if (position >= options->images) return;
        item = rue_sampler_item(&reader->order, position);
    }
}

static bool prefetch_image(struct rue_batch_reader *reader, const struct image *image)
{
    void *tensors[RUE_VIEWS_MAX];
    place_tensors(reader, image, tensors);
    return rue_fetcher_prefetch(reader->fetcher, image->item, tensors[0]);
}

static rue_status load_next_image(struct rue_batch_reader *reader, rue_error *error)
{
    const struct image *images = reader->images;
    size_t i = reader->loaded++;
    if (reader->prefetched < i) reader->prefetched = i;
    while (reader->prefetched < reader->count && prefetch_image(reader, &images[reader->prefetched]))
        reader->prefetched++;
    prepare_chunks(reader, &images[i]);
    return load_image(reader, &images[i], error);
}

/* Items are numbered in the order of storage. */
void rue_batch_reader_begin(struct rue_batch_reader *reader, struct rue_batch *batch, size_t position,
                            size_t count, const atomic_bool *dropped)
{
    const struct rue_loader_options *options = reader->reading->options;
    reader->batch = batch;
    reader->dropped = dropped;
    reader->count = count;
    reader->loaded = reader->prefetched = 0;
    reader->order = options->sampler;
    reader->order.epoch = batch->epoch;
    for (size_t i = 0; i < count; i++)
        reader->images[i] =
            (struct image){rue_sampler_item(&reader->order, batch->first + position + i),
                           rue_sampler_epoch(&reader->order, batch->first + position + i), position + i};
    if (options->fetcher.read == RUE_READ_BATCH)
        qsort(reader->images, count, sizeof *reader->images, compare_images);
}

rue_status rue_batch_reader_load(struct rue_batch_reader *reader, uint64_t deadline_ns, rue_error *error)
{
    uint64_t *load_ns = reader->reading->options->batch_load_ns;
    uint64_t begin = load_ns ? rue_clock_now_ns() : 0;
    rue_status status = RUE_OK;
    while (status == RUE_OK && reader->loaded < reader->count && !*reader->dropped) {
        status = load_next_image(reader, error);
        bool more = status == RUE_OK && reader->loaded < reader->count;
        if (more && deadline_ns != UINT64_MAX && rue_clock_now_ns() >= deadline_ns) status = RUE_TIMEOUT;
    }
    if (status != RUE_TIMEOUT) rue_fetcher_discard(reader->fetcher);
    if (load_ns)
        __atomic_fetch_add(&load_ns[reader->batch->index], rue_clock_now_ns() - begin, __ATOMIC_RELAXED);
    return status;
}
