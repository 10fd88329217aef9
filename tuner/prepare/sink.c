#include "sink.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "item_file.h"

#define X(name) extern const struct rue_sink_ops rue_sink_##name;
RUE_SINKS(X)
#undef X
#define X(name) &rue_sink_##name,
const struct rue_sink_ops *const rue_sink_formats[] = {RUE_SINKS(X) NULL};
#undef X
#define X(name) #name,
const char *const rue_sink_names[] = {RUE_SINKS(X) NULL};
#undef X

struct rue_sink {
    const struct rue_sink_ops *ops;
    void *state;
    uint64_t item_bytes; /* of each item; 0: they differ */
    uint64_t left;
    int64_t label_min, label_max; /* labels that can be read back */
};

const struct rue_sink_ops *rue_sink_find(const char *format)
{
    for (size_t i = 0; rue_sink_formats[i]; i++)
        if (strcmp(rue_sink_formats[i]->format, format) == 0) return rue_sink_formats[i];
    return NULL;
}

static bool ends_with(const char *path, size_t length, const char *suffix)
{
    size_t own = suffix ? strlen(suffix) : 0;
    return own && length > own && strncmp(path + length - own, suffix, own) == 0;
}

const struct rue_sink_ops *rue_sink_for_path(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    for (size_t i = 0; rue_sink_formats[i]; i++)
        if (ends_with(path, length, rue_sink_formats[i]->suffix) ||
            ends_with(path, length, rue_sink_formats[i]->other_suffix))
            return rue_sink_formats[i];
    return NULL;
}

struct rue_chunking rue_chunking_find(const struct rue_source *source)
{
    const struct rue_blocks *blocks = rue_source_blocks(source);
    int codec = rue_word_find(rue_zarr_codec_names, RUE_ZARR_CODEC_COUNT, blocks->codec);
    struct rue_chunking chunks = {.codec = codec < 0 ? RUE_ZARR_NONE : (enum rue_zarr_codec)codec};
    memcpy(chunks.shape, blocks->chunk, sizeof chunks.shape);
    return chunks;
}

rue_status rue_sink_open(const struct rue_sink_ops *ops, const char *path,
                         const struct rue_sink_options *options, struct rue_sink **out, rue_error *error)
{
    assert(options->count > 0);
    if (!ops->has_mode[options->mode])
        return rue_fail(error, RUE_USAGE,
                        "the format %s cannot hold %s data: give another --format or --mode", ops->format,
                        rue_mode_names[options->mode]);
    struct rue_sink *sink = calloc(1, sizeof *sink);
    void *state = sink ? calloc(1, ops->state_bytes) : NULL;
    if (!state) return free(sink), rue_fail_memory(error, "a sink", ops->state_bytes);
    sink->ops = ops;
    sink->state = state;
    sink->left = options->count;
    sink->label_min = ops->lists_files && !options->class_count ? INT32_MIN : 0;
    sink->label_max = options->class_count ? (int64_t)options->class_count - 1 : INT32_MAX;
    if (options->unlabelled) sink->label_min = sink->label_max = -1;
    if (options->mode == RUE_PREPROCESSED) sink->item_bytes = rue_sink_item_bytes(options);
    rue_status status = ops->open(state, path, options, error);
    if (status != RUE_OK)
        rue_sink_close(sink);
    else
        *out = sink;
    return status;
}

void rue_sink_close(struct rue_sink *sink)
{
    if (!sink) return;
    sink->ops->close(sink->state);
    free(sink->state);
    free(sink);
}

void rue_sink_remark(const struct rue_sink *sink, char *out, size_t bytes)
{
    *out = 0;
    if (sink->ops->remark) sink->ops->remark(sink->state, out, bytes);
}

rue_status rue_sink_check_label(const struct rue_sink *sink, const char *name, int32_t label,
                                rue_error *error)
{
    if (label >= sink->label_min && label <= sink->label_max) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s has the label %" PRId32 ", but the format %s holds labels from 0 to %" PRId64
                    ": give it the number of a class, or remove it",
                    name, label, sink->ops->format, sink->label_max);
}

rue_status rue_sink_add(struct rue_sink *sink, const struct rue_item *item, rue_error *error)
{
    bool names_files = !sink->ops->lists_files && !sink->ops->unnamed;
    if (names_files && !rue_item_file_name_is_safe(item->key))
        return rue_fail(error, RUE_DATA, "'%.200s' cannot name a file: rename the item", item->key);
    assert(item->label >= sink->label_min && item->label <= sink->label_max);
    assert(sink->left > 0 && (sink->item_bytes == 0 || item->bytes == sink->item_bytes));
    sink->left--;
    return sink->ops->add(sink->state, item, error);
}

rue_status rue_sink_finish(struct rue_sink *sink, rue_error *error)
{
    assert(sink->left == 0);
    return sink->ops->finish(sink->state, error);
}
