/* Runs of the loader that are compared with what the fetcher makes of the same items, one after the other.
 * Nothing here asserts: what is wrong is told as a text, so that every kind of test can use it. */
#ifndef RUE_LOADER_FIXTURE_H
#define RUE_LOADER_FIXTURE_H

#include <stdarg.h>

#include "data_fixture.h"
#include "loader.h"

struct loader_case {
    int batch_size, num_workers, prefetch_factor;
    enum rue_parallelism parallelism;
};

static inline struct rue_loader_options loader_options_of(struct loader_case knobs, uint64_t images)
{
    struct rue_loader_options options = {
        .sampler = {.seed = 7, .epoch = 1, .shuffle = true, .world_size = 1},
        .images = images,
        .fetcher = {.dtype = RUE_FLOAT32, .max_pixels = RUE_MAX_PIXELS_DEFAULT},
        .held = 1,
    };
    options.config.value[RUE_BATCH_SIZE] = knobs.batch_size;
    options.config.value[RUE_NUM_WORKERS] = knobs.num_workers;
    options.config.value[RUE_PREFETCH_FACTOR] = knobs.prefetch_factor;
    options.config.value[RUE_PARALLELISM] = knobs.parallelism;
    return options;
}

static inline const char *loader_case_name(const struct rue_loader_options *options)
{
    static char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&options->config, label);
    return label;
}

__attribute__((format(printf, 1, 2))) static inline const char *loader_fault(const char *format, ...)
{
    static char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

/* What is wrong with the batch, which must be batch `index`; NULL when nothing is. */
static inline const char *loader_batch_fault(const struct rue_loader_options *options,
                                             const struct data_items *items, uint64_t index,
                                             const struct rue_batch *batch)
{
    uint64_t size = (uint64_t)options->config.value[RUE_BATCH_SIZE], first = index * size;
    uint64_t left = rue_loader_images(options) - first;
    struct rue_sampler sampler = options->sampler;
    size_t bytes = rue_fetcher_tensor_bytes(options->fetcher.dtype);
    sampler.items = items->count;
    if (batch->index != index) return loader_fault("batch %d came as %d", (int)index, (int)batch->index);
    if (batch->count != (left < size ? left : size))
        return loader_fault("batch %d holds %zu images", (int)index, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t item = rue_sampler_item(&sampler, first + i);
        if (rue_crc32c(0, (char *)batch->images + i * bytes, bytes) != items->crcs[item])
            return loader_fault("batch %d, image %zu is not item %d", (int)index, i, (int)item);
        if (batch->labels[i] != items->labels[item])
            return loader_fault("batch %d, image %zu has label %d", (int)index, i, batch->labels[i]);
    }
    return NULL;
}

/* Takes every batch and gives it back at once. */
static inline const char *loader_drain(struct rue_loader *loader, const struct rue_loader_options *options,
                                       const struct data_items *items)
{
    rue_error error = {0};
    uint64_t batches = rue_loader_batches(options);
    for (uint64_t index = 0;; index++) {
        struct rue_batch *batch;
        if (rue_loader_next(loader, &batch, &error) != RUE_OK) return loader_fault("%s", error.message);
        if (!batch) return index == batches ? NULL : loader_fault("%d batches came", (int)index);
        const char *fault = loader_batch_fault(options, items, index, batch);
        rue_loader_release(loader, batch);
        if (fault) return fault;
    }
}

/* A whole run; NULL when every batch is what it must be. */
static inline const char *loader_run_fault(const struct rue_source *source, const struct data_items *items,
                                           const struct rue_loader_options *options)
{
    rue_error error = {0};
    struct rue_loader *loader;
    if (rue_loader_open(source, options, &loader, &error) != RUE_OK)
        return loader_fault("open: %s", error.message);
    const char *fault = NULL;
    if (rue_loader_start(loader, &error) != RUE_OK)
        fault = loader_fault("start: %s", error.message);
    else
        fault = loader_drain(loader, options, items);
    rue_loader_close(loader);
    return fault;
}

/* A run over data of which photo `damaged` cannot be decoded, in the data's order: every batch before its own
 * must come, then an error that names it, again and again, and the loader must stop. */
static inline const char *loader_damage_fault(const struct rue_source *source,
                                              const struct rue_loader_options *options, uint64_t position,
                                              const char *name)
{
    rue_error error = {0};
    struct rue_loader *loader;
    const char *fault = NULL;
    uint64_t size = (uint64_t)options->config.value[RUE_BATCH_SIZE];
    if (rue_loader_open(source, options, &loader, &error) != RUE_OK ||
        rue_loader_start(loader, &error) != RUE_OK)
        return loader_fault("%s", error.message);
    for (uint64_t index = 0; !fault && index <= position / size; index++) {
        struct rue_batch *batch;
        rue_status status = rue_loader_next(loader, &batch, &error);
        bool last = index == position / size;
        if ((status == RUE_OK) == last) fault = loader_fault("batch %d: status %d", (int)index, status);
        if (batch) rue_loader_release(loader, batch);
    }
    if (!fault && !strstr(error.message, name)) fault = loader_fault("the error is '%s'", error.message);
    struct rue_batch *none;
    if (!fault && rue_loader_next(loader, &none, NULL) == RUE_OK) fault = "something followed the error";
    if (!fault && rue_loader_bad_images(loader, NULL) == 0) fault = "the image was not counted";
    rue_loader_stop(loader);
    rue_loader_close(loader);
    return fault;
}

/* An allocator that counts, and that has only so many slabs. */
struct loader_slabs {
    int allocated, released, available;
    size_t bytes;
};

static inline void *loader_slab_allocate(void *context, size_t bytes)
{
    struct loader_slabs *slabs = context;
    if (slabs->allocated == slabs->available) return NULL;
    slabs->allocated++;
    slabs->bytes += bytes;
    return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

static inline void loader_slab_release(void *context, void *slab, size_t bytes)
{
    struct loader_slabs *slabs = context;
    (void)bytes;
    slabs->released++;
    free(slab);
}

static inline struct rue_slab_allocator loader_slab_allocator(struct loader_slabs *slabs)
{
    return (struct rue_slab_allocator){
        .allocate = loader_slab_allocate, .release = loader_slab_release, .context = slabs};
}

#endif
