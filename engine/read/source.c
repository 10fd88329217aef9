#include "source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"
#include "shard_set.h"
#include "suggest.h"

extern const struct rue_source_ops rue_source_csv;
extern const struct rue_source_ops rue_source_folder;
extern const struct rue_source_ops rue_source_lmdb;
extern const struct rue_source_ops rue_source_tensor;
extern const struct rue_source_ops rue_source_tfrecord;
extern const struct rue_source_ops rue_source_webdataset;

/* A folder takes any other folder, so that it comes after those that look into one. */
/* clang-format off */
const struct rue_source_ops *const rue_source_formats[] = {
    &rue_source_lmdb,
    &rue_source_csv,
    &rue_source_webdataset,
    &rue_source_tfrecord,
    &rue_source_folder,
    &rue_source_tensor,
    NULL,
};
/* clang-format on */

struct rue_source {
    const struct rue_source_ops *ops;
    void *state;
    char path[PATH_MAX];
};

static const struct rue_source_ops *find_format(const char *format)
{
    for (size_t i = 0; rue_source_formats[i]; i++)
        if (strcmp(rue_source_formats[i]->format, format) == 0) return rue_source_formats[i];
    return NULL;
}

static rue_status fail_format(const char *format, const char *path, rue_error *error)
{
    const char *names[sizeof rue_source_formats / sizeof *rue_source_formats];
    size_t count = 0, used = 0;
    char known[256] = "";
    for (; rue_source_formats[count]; count++) {
        names[count] = rue_source_formats[count]->format;
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", count ? ", " : "", names[count]);
    }
    char near[RUE_SUGGESTION_BYTES];
    if (*rue_did_you_mean(format, names, count, "", near))
        return rue_fail(error, RUE_USAGE, "unknown data format '%s' for %s%s", format, path, near);
    return rue_fail(error, RUE_USAGE, "unknown data format '%s' for %s; known are %s", format, path, known);
}

/* The format that `path` looks like. */
static rue_status probe(const char *path, const struct rue_source_ops **out, rue_error *error)
{
    struct stat about;
    bool pattern = rue_shard_set_is_pattern(path);
    if (!pattern && stat(path, &about) != 0)
        return rue_fail(error, rue_source_failure(errno), "cannot open %s: %s%s", path, strerror(errno),
                        rue_advice_or(errno, "; give a folder of JPEG files, or what 'rue prepare' wrote"));
    for (size_t i = 0; rue_source_formats[i]; i++) {
        bool is = false;
        if (pattern && !rue_source_formats[i]->patterns) continue;
        rue_status status = rue_source_formats[i]->probe(path, &is, error);
        if (status != RUE_OK) return status;
        if (is) return *out = rue_source_formats[i], RUE_OK;
    }
    return rue_fail(
        error, RUE_DATA,
        "%s is of no format that rue knows: give a folder of JPEG files, or what 'rue prepare' wrote", path);
}

rue_status rue_source_detect(const char *path, const struct rue_source_options *options,
                             struct rue_variant *out, rue_error *error)
{
    const struct rue_source_ops *ops;
    struct rue_source_options opening = options ? *options : (struct rue_source_options){0};
    rue_status status = probe(path, &ops, error);
    if (status != RUE_OK) return status;
    opening.format = ops->format;
    *out = (struct rue_variant){.mode = ops->holds[RUE_RAW] ? RUE_RAW : RUE_PREPROCESSED};
    snprintf(out->format, sizeof out->format, "%s", ops->format);
    snprintf(out->image_key, sizeof out->image_key, "%s", opening.image_key ? opening.image_key : "");
    snprintf(out->label_key, sizeof out->label_key, "%s", opening.label_key ? opening.label_key : "");
    if (!ops->mode) return RUE_OK;
    struct rue_source *source;
    status = rue_source_open(path, &opening, &source, error);
    if (status != RUE_OK) return status;
    out->mode = rue_source_variant(source).mode;
    rue_source_close(source);
    return RUE_OK;
}

rue_status rue_source_adopt(const struct rue_source_ops *ops, void *state, const char *path,
                            struct rue_source **out, rue_error *error)
{
    struct rue_source *source = calloc(1, sizeof *source);
    if (!source) return ops->close(state), rue_fail_memory(error, "a source", sizeof *source);
    source->ops = ops;
    source->state = state;
    snprintf(source->path, sizeof source->path, "%s", path);
    *out = source;
    return RUE_OK;
}

rue_status rue_source_open(const char *path, const struct rue_source_options *options,
                           struct rue_source **out, rue_error *error)
{
    static const struct rue_source_options usual;
    const struct rue_source_ops *ops = NULL;
    if (!options) options = &usual;
    if (strlen(path) >= PATH_MAX) return rue_fail(error, RUE_DATA, "the path %.64s... is too long", path);
    if (!options->format) {
        rue_status status = probe(path, &ops, error);
        if (status != RUE_OK) return status;
    } else if (!(ops = find_format(options->format))) {
        return fail_format(options->format, path, error);
    }
    void *state;
    rue_status status = ops->open(path, options, &state, error);
    return status == RUE_OK ? rue_source_adopt(ops, state, path, out, error) : status;
}

void rue_source_close(struct rue_source *source)
{
    if (!source) return;
    source->ops->close(source->state);
    free(source);
}

uint64_t rue_source_count(const struct rue_source *source)
{
    return source->ops->count(source->state);
}

uint64_t rue_source_bytes(const struct rue_source *source, uint64_t item)
{
    return source->ops->bytes(source->state, item);
}

uint64_t rue_source_total_bytes(const struct rue_source *source)
{
    uint64_t total = 0, count = rue_source_count(source);
    for (uint64_t i = 0; i < count; i++) total += rue_source_bytes(source, i);
    return total;
}

rue_status rue_source_label(const struct rue_source *source, uint64_t item, int32_t *out, rue_error *error)
{
    return source->ops->label(source->state, item, out, error);
}

void rue_source_name(const struct rue_source *source, uint64_t item, char *out, size_t bytes)
{
    source->ops->name(source->state, item, out, bytes);
}

void rue_source_key(const struct rue_source *source, uint64_t item, char *out, size_t bytes)
{
    if (source->ops->key)
        source->ops->key(source->state, item, out, bytes);
    else
        snprintf(out, bytes, "%08" PRIu64, item);
}

rue_status rue_source_read(const struct rue_source *source, uint64_t item, void *into, rue_error *error)
{
    return source->ops->read(source->state, item, into, error);
}

bool rue_source_allows(const struct rue_source *source, enum rue_access access)
{
    if (access == RUE_ACCESS_READ) return true;
    return source->ops->allows && source->ops->allows(source->state, access);
}

uint64_t rue_source_window(const struct rue_source *source, uint64_t in_flight)
{
    return source->ops->window ? source->ops->window(source->state, in_flight) : 0;
}

void rue_source_rewind(const struct rue_source *source)
{
    if (source->ops->rewind) source->ops->rewind(source->state);
}

rue_status rue_source_view(const struct rue_source *source, uint64_t item, const void **out, rue_error *error)
{
    return source->ops->view(source->state, item, out, error);
}

bool rue_source_place(const struct rue_source *source, enum rue_access access, uint64_t item,
                      struct rue_place *out)
{
    if (source->ops->place) source->ops->place(source->state, access, item, out);
    return source->ops->place;
}

bool rue_source_locate(const struct rue_source *source, uint64_t item, struct rue_location *out)
{
    struct rue_place place;
    struct stat about;
    if (source->ops->locate) return source->ops->locate(source->state, item, out), true;
    if (rue_source_place(source, RUE_ACCESS_READ, item, &place)) {
        snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", place.fd);
        out->offset = place.offset;
        out->bytes = place.bytes;
        return true;
    }
    if (stat(source->path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    snprintf(out->path, sizeof out->path, "%s", source->path);
    out->offset = 0;
    out->bytes = (uint64_t)about.st_size;
    return true;
}

void rue_source_forget(const struct rue_source *source)
{
    if (source->ops->forget) source->ops->forget(source->state);
}

rue_status rue_source_check(const struct rue_source *source, rue_error *error)
{
    return source->ops->check ? source->ops->check(source->state, error) : RUE_OK;
}

rue_status rue_source_verify(const struct rue_source *source, uint64_t item, const void *data,
                             rue_error *error)
{
    return source->ops->verify ? source->ops->verify(source->state, item, data, error) : RUE_OK;
}

uint64_t rue_source_skipped(const struct rue_source *source, char *example, size_t bytes)
{
    example[0] = 0;
    return source->ops->skipped ? source->ops->skipped(source->state, example, bytes) : 0;
}

size_t rue_source_class_count(const struct rue_source *source)
{
    return source->ops->class_count(source->state);
}

const char *rue_source_class_name(const struct rue_source *source, size_t class_index)
{
    return source->ops->class_name(source->state, class_index);
}

uint64_t rue_source_digest(const struct rue_source *source)
{
    return source->ops->digest(source->state);
}

bool rue_source_has_keys(const struct rue_source *source)
{
    return source->ops->keys;
}

struct rue_variant rue_source_variant(const struct rue_source *source)
{
    struct rue_variant variant = {.mode = source->ops->holds[RUE_RAW] ? RUE_RAW : RUE_PREPROCESSED};
    if (source->ops->mode) variant.mode = source->ops->mode(source->state);
    snprintf(variant.format, sizeof variant.format, "%s", source->ops->format);
    snprintf(variant.path, sizeof variant.path, "%s", source->path);
    if (source->ops->dtype && variant.mode == RUE_PREPROCESSED)
        snprintf(variant.dtype, sizeof variant.dtype, "%s",
                 rue_dtype_names[source->ops->dtype(source->state)]);
    return variant;
}

bool rue_source_shape(const struct rue_source *source, uint32_t out[3])
{
    if (!source->ops->shape || rue_source_variant(source).mode == RUE_RAW) return false;
    source->ops->shape(source->state, out);
    return true;
}
