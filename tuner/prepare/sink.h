/* A sink writes a data set. Each format has a file sink_<format>.c with a const table of operations. Not
 * thread-safe. */
#ifndef RUE_SINK_H
#define RUE_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "sink_options.h"

struct rue_sink;

struct rue_sink_ops {
    const char *format;
    const char *suffix;       /* (optional) a destination with it has this format */
    const char *other_suffix; /* (optional) another one */
    const char *help;
    bool has_mode[RUE_MODE_COUNT];
    bool shards;        /* it uses shard_bytes and split */
    bool chunks;        /* it uses `chunks` of the options */
    bool by_name;       /* it stores labels only as class names */
    bool lists_files;   /* it names the files of the source: keys are their paths, and items have no data */
    bool unnamed;       /* it does not store the keys of items */
    size_t state_bytes; /* of the zeroed state */
    /* Begins a data set at `path`, which does not exist. */
    rue_status (*open)(void *state, const char *path, const struct rue_sink_options *options,
                       rue_error *error);
    /* (optional) See rue_sink_remark. */
    void (*remark)(const void *state, char *out, size_t bytes);
    rue_status (*add)(void *state, const struct rue_item *item, rue_error *error);
    /* Completes the data after the last item, and flushes them to the disk. */
    rue_status (*finish)(void *state, rue_error *error);
    /* Also called after a failed open. */
    void (*close)(void *state);
};

/* The known formats and their names, NULL at the end. */
#define RUE_SINKS(X)   X(csv) X(folder) X(lmdb) X(tensor) X(tfrecord) X(webdataset) X(zarr)
#define RUE_SINK_NAMES "csv, folder, lmdb, tensor, tfrecord, webdataset or zarr"
extern const struct rue_sink_ops *const rue_sink_formats[];
extern const char *const rue_sink_names[];

/* NULL: unknown. */
const struct rue_sink_ops *rue_sink_find(const char *format);

/* The format with the suffix of `path`; NULL: none. */
const struct rue_sink_ops *rue_sink_for_path(const char *path);

/* How a source stores its chunks; {0}: it has none. */
struct rue_chunking rue_chunking_find(const struct rue_source *source);

/* Bytes of a preprocessed item. */
static inline uint64_t rue_sink_item_bytes(const struct rue_sink_options *options)
{
    const uint32_t *shape = options->shape;
    return (uint64_t)shape[0] * shape[1] * shape[2] * rue_dtype_bytes[options->dtype];
}

/* `path` becomes a file or a folder, as the format needs. RUE_USAGE: the format cannot hold these data;
 * RUE_STORE with path and reason; RUE_MEMORY. */
rue_status rue_sink_open(const struct rue_sink_ops *ops, const char *path,
                         const struct rue_sink_options *options, struct rue_sink **out,
                         rue_error *error) RUE_MUST_CHECK;
void rue_sink_close(struct rue_sink *sink);

/* Writes to `out` [bytes] what users should know before the items are written; "": nothing. */
void rue_sink_remark(const struct rue_sink *sink, char *out, size_t bytes);

/* RUE_DATA: the label of the item `name` could not be read back. */
rue_status rue_sink_check_label(const struct rue_sink *sink, const char *name, int32_t label,
                                rue_error *error) RUE_MUST_CHECK;

/* Adds an item whose label rue_sink_check_label accepts. RUE_STORE with file and reason; RUE_DATA: a key that
 * is stored leads out of the destination or is not unique. */
rue_status rue_sink_add(struct rue_sink *sink, const struct rue_item *item, rue_error *error) RUE_MUST_CHECK;
rue_status rue_sink_finish(struct rue_sink *sink, rue_error *error) RUE_MUST_CHECK;

#endif
