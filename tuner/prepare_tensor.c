#include "prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "advice.h"
#include "clock.h"
#include "interrupt.h"
#include "loader.h"
#include "machine.h"
#include "tensor_writer.h"
#include "units.h"

enum { PREPARE_BATCH = 16 };

/* Says before the work, not after it, that the disk is too small. */
static rue_status check_space(const char *path, uint64_t bytes, rue_error *error)
{
    char folder[PATH_MAX], need[RUE_UNIT_TEXT_BYTES], have[RUE_UNIT_TEXT_BYTES];
    struct statvfs disk;
    snprintf(folder, sizeof folder, "%s", path);
    if (statvfs(dirname(folder), &disk) != 0) return RUE_OK; /* opening the file will tell */
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (bytes <= free_bytes) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s would take %s, the disk has %s left: write elsewhere, or fewer images with --images",
                    path, rue_format_bytes(bytes, need, sizeof need),
                    rue_format_bytes(free_bytes, have, sizeof have));
}

static struct rue_loader_options loader_options(const struct rue_source *source,
                                                const struct rue_prepare_options *options)
{
    uint64_t count = rue_source_count(source);
    bool sample = options->images > 0 && options->images < count;
    int workers = options->num_workers ? options->num_workers : rue_machine_read().usable_cpus;
    struct rue_loader_options loader = {
        .config = rue_config_default(),
        .sampler = {.items = count, .seed = options->seed, .shuffle = sample, .world_size = 1},
        .images = sample ? options->images : count,
        .fetcher = {.dtype = options->dtype,
                    .max_pixels = options->max_pixels,
                    .bad_images = options->bad_images},
        .held = 1,
    };
    loader.config.value[RUE_BATCH_SIZE] = PREPARE_BATCH;
    loader.config.value[RUE_NUM_WORKERS] = workers < 256 ? workers : 256;
    loader.config.value[RUE_PARALLELISM] = RUE_PARALLEL_SAMPLE;
    return loader;
}

static rue_status write_batch(struct rue_tensor_writer *writer, const struct rue_batch *batch,
                              size_t tensor_bytes, rue_error *error)
{
    rue_status status = rue_interrupt_status();
    if (status != RUE_OK) return rue_fail(error, status, "interrupted; nothing was written");
    for (size_t i = 0; status == RUE_OK && i < batch->count; i++)
        status =
            rue_tensor_writer_add(writer, (char *)batch->images + i * tensor_bytes, batch->labels[i], error);
    return status;
}

static rue_status write_all(struct rue_loader *loader, struct rue_tensor_writer *writer, enum rue_dtype dtype,
                            uint64_t count, struct rue_progress *progress, rue_error *error)
{
    uint64_t done = 0;
    for (;;) {
        struct rue_batch *batch;
        rue_status status = rue_loader_next(loader, &batch, error);
        if (status != RUE_OK || !batch) return status;
        status = write_batch(writer, batch, rue_fetcher_tensor_bytes(dtype), error);
        done += batch->count;
        rue_loader_release(loader, batch);
        if (status != RUE_OK) return status;
        if (progress) rue_progress_count(progress, "preparing", done, count);
    }
}

static rue_status finish(struct rue_tensor_writer *writer, const struct rue_source *source, rue_error *error)
{
    size_t count = rue_source_class_count(source);
    const char **classes = calloc(count + 1, sizeof *classes);
    if (!classes) return rue_fail_memory(error, "class names", count * sizeof *classes);
    for (size_t i = 0; i < count; i++) classes[i] = rue_source_class_name(source, i);
    rue_status status = rue_tensor_writer_finish(writer, classes, count, error);
    free(classes);
    return status;
}

/* Fewer workers where the system has no threads or memory for so many; none at all, in the end. */
static rue_status start_loader(const struct rue_source *source, struct rue_loader_options *options,
                               struct rue_loader **out, rue_error *error)
{
    int *workers = &options->config.value[RUE_NUM_WORKERS];
    for (;; *workers /= 2) {
        rue_error why = {0};
        rue_status status = rue_loader_open(source, options, out, &why);
        if (status == RUE_OK) status = rue_loader_start(*out, &why);
        if (status == RUE_OK) return RUE_OK;
        rue_loader_close(*out);
        *out = NULL;
        bool refused = status == RUE_INFEASIBLE || status == RUE_MEMORY;
        if (!refused) return rue_fail(error, status, "%s", why.message);
        if (*workers == 0)
            return rue_fail(error, status, "%s%s", why.message,
                            rue_advice_given(why.message) ? "" : rue_advice(ENOMEM));
    }
}

rue_status rue_prepare_tensor(const char *source_path, const char *path,
                              const struct rue_prepare_options *options, struct rue_progress *progress,
                              struct rue_prepared *out, rue_error *error)
{
    struct rue_source *source = NULL;
    struct rue_loader *loader = NULL;
    struct rue_tensor_writer *writer = NULL;
    const struct rue_tensor_shape shape = {options->dtype, RUE_CHANNELS, RUE_CROP, RUE_CROP};
    uint64_t start = rue_clock_now_ns();
    rue_status status = rue_source_open(source_path, NULL, &source, error);
    if (status != RUE_OK) return status;
    struct rue_loader_options loading = loader_options(source, options);
    out->images = loading.images;
    out->held = rue_source_count(source);
    out->skipped = rue_source_skipped(source, out->skipped_example, sizeof out->skipped_example);
    out->bytes_before = (uint64_t)((double)rue_source_total_bytes(source) / (double)rue_source_count(source) *
                                   (double)out->images);
    out->bytes_after = out->images * ((rue_fetcher_tensor_bytes(options->dtype) + 4095) / 4096 * 4096);
    status = check_space(path, out->bytes_after, error);
    if (status == RUE_OK)
        status = rue_tensor_writer_open(path, &shape, loading.images, options->overwrite, &writer, error);
    if (status == RUE_OK) status = start_loader(source, &loading, &loader, error);
    rue_error why = {0};
    if (status == RUE_OK) status = write_all(loader, writer, options->dtype, loading.images, progress, &why);
    if (why.message[0])
        rue_fail(error, status, "%s%s", why.message,
                 status == RUE_DATA
                     ? "; remove or replace the file, or go on without it: --bad-images replace"
                     : "");
    if (status == RUE_OK) status = finish(writer, source, error);
    if (loader) out->bad_images = rue_loader_bad_images(loader, NULL);
    rue_loader_close(loader);
    rue_tensor_writer_close(writer);
    rue_source_close(source);
    out->elapsed_ns = rue_clock_now_ns() - start;
    return status;
}
