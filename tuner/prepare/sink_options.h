/* What a sink writes: the data set, and each item. */
#ifndef RUE_SINK_OPTIONS_H
#define RUE_SINK_OPTIONS_H

#include "source.h"
#include "variant.h"
#include "zarr_metadata.h"

/* How a format that stores chunks writes them. */
struct rue_chunking {
    uint64_t shape[RUE_ZARR_AXES]; /* items, channels, height and width; 0: the format chooses */
    enum rue_zarr_codec codec;
    int version; /* of the format: 2 or 3; 0: 2 */
};

/* Strings are borrowed until the close. */
struct rue_sink_options {
    enum rue_mode mode;
    enum rue_dtype dtype; /* of preprocessed items */
    uint32_t shape[3];    /* of preprocessed items: channels, height, width */
    uint64_t count;       /* number of items, at least 1 */
    bool unlabelled;      /* no item has a label: all are -1 */
    size_t class_count;   /* 0: labels have no names */
    const char *const *classes;
    const char *made_with; /* of preprocessed items (made_with.h); NULL: not recorded */
    const char *name;      /* the final name of the path; NULL: its current name */
    const char *split;     /* prefix of shards: "train" */
    uint64_t shard_bytes;  /* start a new shard at this size */
    struct rue_chunking chunks;
};

/* `path` as messages name it: by its final name. */
static inline const char *rue_sink_path(const struct rue_sink_options *options, const char *path)
{
    return options->name ? options->name : path;
}

struct rue_item {
    const char *key; /* as of rue_source_key; see also lists_files */
    int32_t label;
    const void *data;
    uint64_t bytes;
};

#endif
