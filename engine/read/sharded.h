/* What sources of shards have in common: a set of files, an index of their items that is kept beside them,
 * class names, and a stream where a shard is compressed. A format says how its shards are called, makes the
 * index and names its items; the state of its source is a struct rue_sharded. */
#ifndef RUE_SHARDED_H
#define RUE_SHARDED_H

#include "class_list.h"
#include "item_stream.h"
#include "source.h"

struct rue_sharded {
    struct rue_shard_set *set;
    struct rue_item_index index;
    struct rue_class_list classes;
    struct rue_item_stream *stream; /* where a shard is compressed; else NULL */
};

/* What the index keeps beside its entries. */
enum { RUE_SHARDED_MODE, RUE_SHARDED_DTYPE, RUE_SHARDED_SHAPE, RUE_SHARDED_COMPRESSED };

/* Channels, height and width, each below RUE_SHARDED_AXIS_MAX, as one fact. */
enum { RUE_SHARDED_AXIS_MAX = 1 << 21 };
uint64_t rue_sharded_pack(const uint32_t shape[3]);

struct rue_sharded_format {
    const char *version;             /* of the index: "webdataset 1" */
    bool (*takes)(const char *name); /* whether a file of that name is a shard */
    bool (*avoids)(
        const char *name); /* (optional) whether one beside the shards says that a folder is not ours */
    rue_status (*index)(struct rue_shard_set *set, const char *path, const struct rue_source_options *options,
                        struct rue_item_index *out, rue_error *error);
};

/* Whether `path`, a pattern or what is there, names shards, or is a folder that holds some and neither
 * folders nor what the format avoids. Where it is a regular file of another name, only `*regular` is set. */
rue_status rue_sharded_probe(const struct rue_sharded_format *format, const char *path, bool *is,
                             bool *regular, rue_error *error) RUE_MUST_CHECK;

/* As open of rue_source_ops. */
rue_status rue_sharded_open(const struct rue_sharded_format *format, const char *path,
                            const struct rue_source_options *options, void **state,
                            rue_error *error) RUE_MUST_CHECK;

/* ---- operations of rue_source_ops ---- */

void rue_sharded_close(void *state);
uint64_t rue_sharded_count(const void *state);
uint64_t rue_sharded_bytes(const void *state, uint64_t item);
rue_status rue_sharded_label(const void *state, uint64_t item, int32_t *out, rue_error *error);
enum rue_mode rue_sharded_mode(const void *state);
rue_status rue_sharded_read(const void *state, uint64_t item, void *into, rue_error *error);
uint64_t rue_sharded_window(const void *state, uint64_t in_flight);
void rue_sharded_rewind(void *state);
void rue_sharded_locate(const void *state, uint64_t item, struct rue_location *out);
size_t rue_sharded_class_count(const void *state);
const char *rue_sharded_class_name(const void *state, size_t class_index);
uint64_t rue_sharded_skipped(const void *state, char *example, size_t bytes);
enum rue_dtype rue_sharded_dtype(const void *state);
void rue_sharded_shape(const void *state, uint32_t out[3]);
uint64_t rue_sharded_digest(const void *state);

#define RUE_SHARDED_OPS                                                                                 \
    .holds = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true}, .keys = true, .patterns = true,             \
    .close = rue_sharded_close, .count = rue_sharded_count, .bytes = rue_sharded_bytes,                 \
    .label = rue_sharded_label, .mode = rue_sharded_mode, .window = rue_sharded_window,                 \
    .rewind = rue_sharded_rewind, .locate = rue_sharded_locate, .class_count = rue_sharded_class_count, \
    .class_name = rue_sharded_class_name, .skipped = rue_sharded_skipped, .dtype = rue_sharded_dtype,   \
    .shape = rue_sharded_shape, .digest = rue_sharded_digest

#endif
