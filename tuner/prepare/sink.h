/* A sink writes a data set: one file a format (sink_<format>.c), a const table of operations. Items come one
 * after the other, in their order. Not thread-safe. */
#ifndef RUE_SINK_H
#define RUE_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "variant.h"

struct rue_sink;

/* What is to be written. Strings are borrowed for the sink's life. */
struct rue_sink_options {
    enum rue_mode mode;
    enum rue_dtype dtype; /* of preprocessed items */
    uint32_t shape[3];    /* of them: channels, height, width */
    uint64_t count;       /* items to come in all, at least 1 */
    size_t class_count;   /* 0: labels are numbers without names */
    const char *const *classes;
    const char *name;     /* what the path will be called in the end; NULL: as it is */
    const char *split;    /* names shards: "train" */
    uint64_t shard_bytes; /* a shard that holds so much is full */
};

struct rue_item {
    const char *key; /* as rue_source_key has it */
    int32_t label;
    const void *data;
    uint64_t bytes;
};

struct rue_sink_ops {
    const char *format;
    const char *suffix;       /* of a destination that says the format by its name; (optional) */
    const char *other_suffix; /* another one; (optional) */
    const char *help;
    bool holds[RUE_MODE_COUNT];
    bool shards;        /* whether shard_bytes and split mean anything to it */
    bool by_name;       /* a label is told by its class's name alone */
    size_t state_bytes; /* of what the operations are given; zeros at first */
    /* Begins at `path`, where nothing is. */
    rue_status (*open)(void *state, const char *path, const struct rue_sink_options *options,
                       rue_error *error);
    rue_status (*add)(void *state, const struct rue_item *item, rue_error *error);
    /* All items were added: completes the data, on the disk. */
    rue_status (*finish)(void *state, rue_error *error);
    /* Also where opening failed. */
    void (*close)(void *state);
};

/* The known formats, NULL at the end. */
extern const struct rue_sink_ops *const rue_sink_formats[];

/* NULL where there is none. */
const struct rue_sink_ops *rue_sink_find(const char *format);

/* The one whose suffix the name of `path` has; NULL. */
const struct rue_sink_ops *rue_sink_for_path(const char *path);

/* Bytes of a preprocessed item. */
static inline uint64_t rue_sink_item_bytes(const struct rue_sink_options *options)
{
    const uint32_t *shape = options->shape;
    return (uint64_t)shape[0] * shape[1] * shape[2] * rue_dtype_bytes[options->dtype];
}

/* `path` is a file or a folder, as the format has it, which only this sink writes. RUE_USAGE where the format
 * holds no such data; RUE_STORE with path and reason (disk full); RUE_MEMORY. */
rue_status rue_sink_open(const struct rue_sink_ops *ops, const char *path,
                         const struct rue_sink_options *options, struct rue_sink **out,
                         rue_error *error) RUE_MUST_CHECK;
void rue_sink_close(struct rue_sink *sink);

/* As the operations. RUE_STORE names the file and the reason; RUE_DATA for a key that would lead out of the
 * destination, or that two items have where they may not, and for a label that could not be read back. */
rue_status rue_sink_add(struct rue_sink *sink, const struct rue_item *item, rue_error *error) RUE_MUST_CHECK;
rue_status rue_sink_finish(struct rue_sink *sink, rue_error *error) RUE_MUST_CHECK;

#endif
