#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"
#include "suggest.h"

extern const struct rue_source_ops rue_source_folder, rue_source_tensor;

const struct rue_source_ops *const rue_source_formats[] = {&rue_source_folder, &rue_source_tensor, NULL};

rue_status rue_source_failure(int error_number)
{
    switch (error_number) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return RUE_INFEASIBLE;
    case EIO:
        return RUE_STORE;
    default:
        return RUE_DATA;
    }
}

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

rue_status rue_source_detect(const char *path, const struct rue_source_ops **out, rue_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return rue_fail(error, rue_source_failure(errno), "cannot open %s: %s%s", path, strerror(errno),
                        rue_advice_or(errno, "; give a folder of JPEG files or a tensor file"));
    for (size_t i = 0; rue_source_formats[i]; i++) {
        bool is = false;
        rue_status status = rue_source_formats[i]->probe(path, &is, error);
        if (status != RUE_OK) return status;
        if (is) return *out = rue_source_formats[i], RUE_OK;
    }
    return rue_fail(
        error, RUE_DATA,
        "%s is of no format that rue knows: give a folder of JPEG files, or a tensor file written by "
        "'rue prepare'",
        path);
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

rue_status rue_source_open(const char *path, const char *format, struct rue_source **out, rue_error *error)
{
    const struct rue_source_ops *ops = NULL;
    if (strlen(path) >= PATH_MAX) return rue_fail(error, RUE_DATA, "the path %.64s... is too long", path);
    if (!format) {
        rue_status status = rue_source_detect(path, &ops, error);
        if (status != RUE_OK) return status;
    } else if (!(ops = find_format(format))) {
        return fail_format(format, path, error);
    }
    void *state;
    rue_status status = ops->open(path, &state, error);
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

rue_status rue_source_read(const struct rue_source *source, uint64_t item, void *into, rue_error *error)
{
    return source->ops->read(source->state, item, into, error);
}

bool rue_source_allows(const struct rue_source *source, enum rue_access access)
{
    if (access == RUE_ACCESS_READ) return true;
    return source->ops->allows && source->ops->allows(source->state, access);
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

struct rue_variant rue_source_variant(const struct rue_source *source)
{
    struct rue_variant variant = {.mode = source->ops->mode};
    snprintf(variant.format, sizeof variant.format, "%s", source->ops->format);
    snprintf(variant.path, sizeof variant.path, "%s", source->path);
    if (source->ops->dtype)
        snprintf(variant.dtype, sizeof variant.dtype, "%s",
                 rue_dtype_names[source->ops->dtype(source->state)]);
    return variant;
}

bool rue_source_shape(const struct rue_source *source, uint32_t out[3])
{
    if (!source->ops->shape) return false;
    source->ops->shape(source->state, out);
    return true;
}
