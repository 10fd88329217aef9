#include "prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "data_options.h"
#include "interrupt.h"
#include "loader.h"
#include "machine.h"
#include "made_with.h"
#include "part.h"
#include "prepare_classes.h"
#include "sink.h"
#include "storage.h"
#include "units.h"

enum { PREPARE_BATCH = 16 };

/* One conversion. It writes to a folder beside the destination, and renames the complete data. */
struct conversion {
    const struct rue_prepare_options *options;
    struct rue_progress *progress;
    char path[PATH_MAX];       /* the destination, without a final slash */
    char part[RUE_PART_BYTES]; /* that folder; "": none */
    char data[PATH_MAX + 64];  /* in `part` */
    int part_fd;
    struct rue_source *source;
    struct rue_sampler sampler;
    struct rue_sink_options sink_options;
    char made_with[RUE_MADE_WITH_BYTES]; /* "": not known */
    const struct rue_sink_ops *format;   /* of the destination */
    struct rue_prepare_classes classes;
    struct rue_sink *sink;
    struct rue_transform *transform; /* of tensors that are normalised */
    uint64_t start_ns;
    uint64_t done; /* items written */
    struct rue_prepared *out;
};

/* ---- the plan ---- */

static rue_status choose_mode(struct conversion *c, rue_error *error)
{
    const struct rue_variant variant = rue_source_variant(c->source);
    int mode = c->options->mode;
    if (mode == RUE_MODE_COUNT) mode = variant.mode;
    if (c->options->mode == RUE_MODE_COUNT && !c->format->has_mode[mode])
        mode = c->format->has_mode[RUE_RAW] ? RUE_RAW : RUE_PREPROCESSED;
    if (mode == RUE_RAW && variant.mode == RUE_PREPROCESSED)
        return rue_fail(error, RUE_USAGE,
                        "%s holds preprocessed tensors, which cannot become images again; convert the "
                        "images instead",
                        variant.path);
    if (mode == RUE_RAW && c->options->dtype_given)
        return rue_fail(error, RUE_USAGE, "--dtype applies to preprocessed data: add --mode preprocessed");
    if (c->options->given_geometry && (mode == RUE_RAW || variant.mode == RUE_PREPROCESSED))
        return rue_fail(error, RUE_USAGE, "%s is for images that become preprocessed data: %s",
                        c->options->given_geometry,
                        mode == RUE_RAW ? "add --mode preprocessed"
                                        : "remove it, or convert the images instead");
    int dtype = rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, variant.dtype);
    if (dtype < 0) dtype = RUE_FLOAT32;
    c->sink_options.mode = (enum rue_mode)mode;
    c->sink_options.dtype =
        (enum rue_dtype)(c->options->dtype == RUE_DTYPE_COUNT ? dtype : c->options->dtype);
    return RUE_OK;
}

/* Tensors that are copied were made with the same; levels of three channels may be normalised now. */
static void choose_made_with(struct conversion *c)
{
    const struct rue_variant variant = rue_source_variant(c->source);
    const struct rue_geometry *geometry = &c->options->geometry;
    bool raw = variant.mode == RUE_RAW, levels = strcmp(variant.dtype, rue_dtype_names[RUE_UINT8]) == 0;
    if (c->sink_options.mode == RUE_RAW) return;
    if (raw)
        rue_made_with_add_pixels(c->made_with, geometry, c->options->orientation);
    else
        snprintf(c->made_with, sizeof c->made_with, "%s", rue_source_made_with(c->source));
    if (c->sink_options.dtype != RUE_UINT8 &&
        (raw || (levels && rue_geometry_has_channels(geometry, c->sink_options.shape))))
        rue_made_with_add_normal(c->made_with, geometry);
    if (c->made_with[0]) c->sink_options.made_with = c->made_with;
}

/* The names of the classes in the destination, or none. */
static rue_status choose_classes(struct conversion *c, rue_error *error)
{
    char why[RUE_REASON_BYTES] = "", *note = c->out->note;
    rue_status status = rue_prepare_classes_open(c->source, c->format->by_name, &c->classes, error);
    if (status == RUE_OK && c->format->lists_files)
        status = rue_prepare_classes_check_list(&c->classes, c->source, &c->sampler, c->sink_options.count,
                                                why, error);
    size_t used = strlen(note);
    if (*why) snprintf(note + used, sizeof c->out->note - used, "%s%s", used ? "; " : "", why);
    c->sink_options.class_count = c->classes.count;
    c->sink_options.classes = c->classes.names;
    return status;
}

static rue_status check_items(const struct conversion *c, rue_error *error)
{
    if (!c->format->lists_files || rue_source_has_files(c->source)) return RUE_OK;
    const struct rue_variant variant = rue_source_variant(c->source);
    return rue_fail(error, RUE_USAGE,
                    "a list names files, but the images of %s are in %s: write them as files first, with "
                    "--format folder",
                    variant.path, variant.format);
}

static rue_status plan_conversion(struct conversion *c, rue_error *error)
{
    const struct rue_prepare_options *options = c->options;
    uint64_t source_images = rue_source_count(c->source);
    bool sample = options->images > 0 && options->images < source_images;
    c->sampler = (struct rue_sampler){.items = source_images,
                                      .seed = options->seed,
                                      .shuffle = sample && !rue_source_is_sequential(c->source),
                                      .world_size = 1};
    c->sink_options = (struct rue_sink_options){.count = sample ? options->images : source_images,
                                                .unlabelled = !rue_source_has_labels(c->source),
                                                .name = c->path,
                                                .split = options->split,
                                                .shard_bytes = options->shard_bytes,
                                                .chunks = options->chunks};
    const struct rue_item_shape item =
        rue_fetcher_shape(c->source, &(struct rue_fetcher_options){.geometry = options->geometry});
    memcpy(c->sink_options.shape, item.shape[0], sizeof c->sink_options.shape);
    struct rue_prepared *out = c->out;
    out->images = c->sink_options.count;
    out->source_images = source_images;
    out->listed = c->format->lists_files;
    rue_source_note(c->source, out->note, sizeof out->note);
    rue_status status = choose_mode(c, error);
    if (status == RUE_OK) choose_made_with(c);
    if (status == RUE_OK) status = check_items(c, error);
    if (status == RUE_OK) status = choose_classes(c, error);
    const struct rue_variant variant = rue_source_variant(c->source);
    double before = rue_variant_storage_bytes(&variant, rue_source_total_bytes(c->source));
    out->bytes_before = (uint64_t)(before / (double)source_images * (double)out->images);
    return status;
}

/* A disk that is too small is reported before the work. */
static rue_status check_space(const struct conversion *c, rue_error *error)
{
    char folder[PATH_MAX], needed[RUE_UNIT_TEXT_BYTES], available[RUE_UNIT_TEXT_BYTES];
    struct statvfs disk;
    uint64_t bytes = c->format->lists_files ? 0 : c->sink_options.count;
    bytes *= c->sink_options.mode == RUE_PREPROCESSED
                 ? (rue_sink_item_bytes(&c->sink_options) + 4095) / 4096 * 4096
                 : rue_source_total_bytes(c->source) / rue_source_count(c->source);
    snprintf(folder, sizeof folder, "%s", c->path);
    if (statvfs(dirname(folder), &disk) != 0) return RUE_OK; /* opening the file reports the error */
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (bytes <= free_bytes) return RUE_OK;
    return rue_fail(
        error, RUE_STORE,
        "%s needs %s, but the disk has only %s left: write to another disk, or set --images lower", c->path,
        rue_format_bytes(bytes, needed, sizeof needed),
        rue_format_bytes(free_bytes, available, sizeof available));
}

/* ---- the destination ---- */

static rue_status check_destination(const struct conversion *c, rue_error *error)
{
    struct stat info;
    if (lstat(c->path, &info) != 0) return RUE_OK;
    if (!c->options->overwrite) {
        rue_part_sweep(c->path); /* a run killed after the rename did not remove its folder */
        return rue_fail(error, RUE_USAGE, "%s exists: give another name, or %s", c->path,
                        S_ISREG(info.st_mode) ? "--force to replace it" : "remove it first");
    }
    if (!S_ISREG(info.st_mode))
        return rue_fail(
            error, RUE_USAGE,
            "--force replaces only files, and %s is not one: give another name, or remove it first", c->path);
    return RUE_OK;
}

static rue_status open_part(struct conversion *c, rue_error *error)
{
    c->part_fd = rue_part_open(c->path, c->part);
    if (c->part_fd < 0)
        return rue_fail(error, RUE_STORE, "cannot create %s: %s%s", c->path, strerror(errno),
                        rue_advice_or(errno, "; write to another folder"));
    snprintf(c->data, sizeof c->data, "%s/data", c->part);
    return RUE_OK;
}

static void close_part(struct conversion *c)
{
    if (c->part_fd >= 0) close(c->part_fd); /* first: the removal may need this descriptor */
    rue_part_remove(c->part);
}

/* ---- items ---- */

static rue_status add_item(struct conversion *c, const void *data, uint64_t bytes, int32_t label,
                           rue_error *error)
{
    char key[2 * PATH_MAX];
    uint64_t number = rue_sampler_item(&c->sampler, c->done);
    if (c->sink_options.unlabelled) label = -1;
    const struct rue_item item = {key, label, data, bytes};
    rue_source_name(c->source, number, key, sizeof key);
    rue_status status = rue_sink_check_label(c->sink, key, label, error);
    if (!c->format->lists_files) rue_source_key(c->source, number, key, sizeof key);
    if (status == RUE_OK) status = rue_sink_add(c->sink, &item, error);
    c->done += status == RUE_OK;
    if (c->progress) rue_progress_count(c->progress, "preparing", c->done, c->sink_options.count);
    if (status != RUE_OK || rue_interrupt_status() == RUE_OK) return status;
    return rue_fail(error, rue_interrupt_status(), "interrupted; nothing was written");
}

/* Adds an item unchanged, or as float32 in `tensor` unless that is NULL. */
static rue_status add_copy(struct conversion *c, const void *data, uint64_t bytes, int32_t label,
                           void *tensor, rue_error *error)
{
    if (!tensor) return add_item(c, data, bytes, label, error);
    const struct rue_variant variant = rue_source_variant(c->source);
    int dtype = rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, variant.dtype);
    rue_transform_convert(c->transform, c->sink_options.shape, (enum rue_dtype)dtype, data, tensor);
    return add_item(c, tensor, rue_sink_item_bytes(&c->sink_options), label, error);
}

static rue_status list_items(struct conversion *c, rue_error *error)
{
    rue_status status = RUE_OK;
    while (status == RUE_OK && c->done < c->sink_options.count) {
        uint64_t item = rue_sampler_item(&c->sampler, c->done);
        status = add_item(c, NULL, 0, rue_source_label(c->source, item), error);
    }
    return status;
}

/* Copies items without decoding, and verifies each. */
static rue_status copy_items(struct conversion *c, void *tensor, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t capacity = 0;
    unsigned char *buffer = NULL;
    while (status == RUE_OK && c->done < c->sink_options.count) {
        uint64_t item = rue_sampler_item(&c->sampler, c->done);
        uint64_t bytes = rue_source_bytes(c->source, item);
        if (bytes > capacity) {
            free(buffer);
            capacity = bytes + bytes / 2;
            buffer = malloc(capacity);
            if (!buffer) return rue_fail_memory(error, "an item", capacity);
        }
        status = rue_source_read(c->source, item, buffer, error);
        if (status == RUE_OK) status = rue_source_verify(c->source, item, buffer, error);
        if (status == RUE_OK)
            status = add_copy(c, buffer, bytes, rue_source_label(c->source, item), tensor, error);
    }
    free(buffer);
    return status;
}

/* Copies tensors, normalised if the type changes. */
static rue_status copy_tensors(struct conversion *c, rue_error *error)
{
    const struct rue_variant variant = rue_source_variant(c->source);
    if (strcmp(variant.dtype, rue_dtype_names[c->sink_options.dtype]) == 0) return copy_items(c, NULL, error);
    if (c->sink_options.dtype == RUE_UINT8)
        return rue_fail(error, RUE_USAGE,
                        "%s holds %s values, which cannot become uint8; convert the images instead",
                        variant.path, variant.dtype);
    void *tensor = malloc(rue_sink_item_bytes(&c->sink_options));
    if (!tensor) return rue_fail_memory(error, "a tensor", rue_sink_item_bytes(&c->sink_options));
    const struct rue_transform_options options = {.geometry = c->options->geometry};
    rue_status status = rue_transform_open(&options, &c->transform, error);
    if (status == RUE_OK) status = copy_items(c, tensor, error);
    rue_transform_close(c->transform);
    free(tensor);
    return status;
}

static struct rue_loader_options loader_options(const struct conversion *c)
{
    const struct rue_prepare_options *options = c->options;
    int workers = options->num_workers ? options->num_workers : rue_machine_read().usable_cpus;
    if (rue_source_is_sequential(c->source)) workers = 0;
    struct rue_loader_options loader = {
        .batch_size = PREPARE_BATCH,
        .num_workers = workers < RUE_NUM_WORKERS_MAX ? workers : RUE_NUM_WORKERS_MAX,
        .prefetch_factor = 2,
        .parallelism = RUE_PARALLEL_SAMPLE,
        .sampler = c->sampler,
        .images = c->sink_options.count,
        .fetcher = {.dtype = c->sink_options.dtype,
                    .max_pixels = options->max_pixels,
                    .geometry = options->geometry,
                    .orientation = options->orientation,
                    .bad_images = options->bad_images},
        .max_held = 1,
    };
    return loader;
}

static rue_status add_batch(struct conversion *c, const struct rue_batch *batch, rue_error *error)
{
    size_t bytes = rue_sink_item_bytes(&c->sink_options);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < batch->count; i++)
        status = add_item(c, (char *)batch->images + i * bytes, bytes, batch->labels[i], error);
    return status;
}

/* Makes tensors of photos with the loader. Without workers if the system refuses their threads or memory. */
static rue_status load_items(struct conversion *c, rue_error *error)
{
    struct rue_loader *loader = NULL;
    struct rue_loader_options options = loader_options(c);
    rue_error why = {0};
    rue_status status = rue_loader_open(c->source, &options, &loader, &why);
    if (options.num_workers > 0 && (status == RUE_INFEASIBLE || status == RUE_MEMORY)) {
        options.num_workers = 0;
        rue_error_clear(&why);
        status = rue_loader_open(c->source, &options, &loader, &why);
    }
    bool bad_image = false;
    for (struct rue_batch *batch; status == RUE_OK;) {
        status = rue_loader_next(loader, &batch, &why);
        bad_image = status == RUE_DATA;
        if (status != RUE_OK || !batch) break;
        c->out->bad_images = rue_loader_bad_images(loader, NULL);
        status = add_batch(c, batch, &why);
        rue_loader_release(loader, batch);
    }
    if (why.message[0])
        rue_fail(error, status, "%s%s", why.message,
                 bad_image ? "; remove or replace the file, or use --bad-images replace" : "");
    if (loader) c->out->bad_images = rue_loader_bad_images(loader, NULL);
    rue_loader_close(loader);
    return status;
}

/* ---- the end ---- */

/* A folder never replaces a file. */
static rue_status check_file_kind(const struct conversion *c, rue_error *error)
{
    struct stat written, existing;
    if (stat(c->path, &existing) != 0 || stat(c->data, &written) != 0 || !S_ISDIR(written.st_mode))
        return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s is a file, but the format %s writes a folder: give another name",
                    c->path, c->format->format);
}

static void note_remark(const struct conversion *c)
{
    char remark[256];
    rue_sink_remark(c->sink, remark, sizeof remark);
    if (remark[0] && c->progress && !c->progress->quiet)
        rue_progress_note(c->progress, "%s: %s", c->path, remark);
}

static rue_status write_data(struct conversion *c, rue_error *error)
{
    rue_status status = rue_sink_open(c->format, c->data, &c->sink_options, &c->sink, error);
    if (status == RUE_OK) note_remark(c);
    if (status == RUE_OK) status = check_file_kind(c, error);
    if (status == RUE_OK)
        status = c->format->lists_files                          ? list_items(c, error)
                 : c->sink_options.mode == RUE_RAW               ? copy_items(c, NULL, error)
                 : rue_source_variant(c->source).mode == RUE_RAW ? load_items(c, error)
                                                                 : copy_tensors(c, error);
    if (status == RUE_OK) status = rue_sink_finish(c->sink, error);
    rue_sink_close(c->sink);
    c->sink = NULL;
    c->out->elapsed_ns = rue_clock_now_ns() - c->start_ns;
    if (status != RUE_OK) return status;
    return rue_part_publish(c->data, c->path, c->options->overwrite, error);
}

rue_status rue_prepare_convert(const char *source_path, const char *path,
                               const struct rue_prepare_options *options, struct rue_progress *progress,
                               struct rue_prepared *out, rue_error *error)
{
    struct conversion c = {.options = options, .progress = progress, .out = out, .part_fd = -1};
    c.format = rue_sink_find(options->format);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length + 32 >= sizeof c.path)
        return rue_fail(error, RUE_USAGE, "the path %.64s... is too long", path);
    snprintf(c.path, sizeof c.path, "%.*s", (int)length, path);
    struct rue_source_options opening = options->source;
    opening.stop = rue_interrupt_status;
    opening.sequential = true;
    rue_status status = rue_source_open(source_path, &opening, &c.source, error);
    if (status != RUE_OK) return status;
    c.start_ns = rue_clock_now_ns();
    status = rue_data_options_check_key(options->given_key, c.source, error);
    if (status == RUE_OK) status = plan_conversion(&c, error);
    if (status == RUE_OK) status = check_destination(&c, error);
    rue_interrupt_defer(true);
    if (status == RUE_OK) status = open_part(&c, error);
    if (status == RUE_OK) status = check_space(&c, error);
    if (status == RUE_OK) status = write_data(&c, error);
    close_part(&c);
    rue_interrupt_defer(false);
    if (status == RUE_OK) out->bytes_after = (uint64_t)fmax(0, rue_storage_bytes(c.path));
    rue_prepare_classes_close(&c.classes);
    rue_source_close(c.source);
    return status;
}
