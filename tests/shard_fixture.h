/* Shards in the temporary folder, written by rue's own sink. */
#ifndef RUE_SHARD_FIXTURE_H
#define RUE_SHARD_FIXTURE_H

#include "data_fixture.h"
#include "random.h"
#include "sink.h"

/* Items hold what no compression makes smaller, so that what was read of a shard tells where in it that was.
 */
static bool shard_noise;

/* Items hold "item <number>." again and again, or noise, and have their number as their label. */
static inline void shard_fill(char *out, uint64_t bytes, uint64_t item)
{
    char text[32];
    for (uint64_t i = 0, state = item; shard_noise && i < bytes; i++) out[i] = (char)rue_random_next(&state);
    if (shard_noise) return;
    int length = snprintf(text, sizeof text, "item %06d.", (int)item);
    for (uint64_t i = 0; i < bytes; i++) out[i] = text[i % (uint64_t)length];
}

/* The items from `small` on are of `large_bytes`. */
static inline void shard_make_uneven(const char *name, uint64_t count, uint64_t bytes, uint64_t small,
                                     uint64_t large_bytes, uint64_t shard_bytes,
                                     enum rue_compression compression)
{
    const struct rue_sink_options options = {
        .count = count, .split = "train", .shard_bytes = shard_bytes, .compression = compression};
    const struct rue_sink_mark mark = {0};
    struct rue_sink *sink;
    rue_error error = {0};
    char key[32], *data = malloc(large_bytes > bytes ? large_bytes : bytes);
    rue_status status =
        rue_sink_open(rue_sink_find("webdataset"), temporary_path(name), &options, &mark, &sink, &error);
    data_require(status == RUE_OK, "open a sink", &error);
    for (uint64_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "%06d.jpg", (int)i);
        uint64_t own = i < small ? bytes : large_bytes;
        shard_fill(data, own, i);
        const struct rue_item item = {key, (int32_t)i, data, own};
        data_require(rue_sink_add(sink, &item, &error) == RUE_OK, "add", &error);
    }
    data_require(rue_sink_finish(sink, &error) == RUE_OK, "finish", &error);
    rue_sink_close(sink);
    free(data);
}

static inline void shard_make(const char *name, uint64_t count, uint64_t bytes, uint64_t shard_bytes,
                              enum rue_compression compression)
{
    shard_make_uneven(name, count, bytes, count, bytes, shard_bytes, compression);
}

/* The tensors of another source as shards. */
static inline void shard_convert(const struct rue_source *from, const char *name,
                                 enum rue_compression compression)
{
    struct rue_sink_options options = {.mode = RUE_PREPROCESSED,
                                       .dtype = RUE_UINT8,
                                       .count = rue_source_count(from),
                                       .split = "train",
                                       .shard_bytes = 500000,
                                       .compression = compression};
    const struct rue_sink_mark mark = {0};
    struct rue_sink *sink;
    rue_error error = {0};
    rue_source_shape(from, options.shape);
    rue_status status =
        rue_sink_open(rue_sink_find("webdataset"), temporary_path(name), &options, &mark, &sink, &error);
    data_require(status == RUE_OK, "open a sink", &error);
    for (uint64_t i = 0; i < options.count; i++) {
        char key[16];
        struct rue_item item = {.key = key, .bytes = rue_source_bytes(from, i)};
        void *data = malloc(item.bytes);
        snprintf(key, sizeof key, "%04d", (int)i);
        item.data = data;
        data_require(rue_source_read(from, i, data, &error) == RUE_OK, "read", &error);
        data_require(rue_source_label(from, i, &item.label, &error) == RUE_OK, "label", &error);
        data_require(rue_sink_add(sink, &item, &error) == RUE_OK, "add", &error);
        free(data);
    }
    data_require(rue_sink_finish(sink, &error) == RUE_OK, "finish", &error);
    rue_sink_close(sink);
}

/* Whether reading the item gives what was put. */
static inline bool shard_holds(const struct rue_source *source, uint64_t item, rue_error *error)
{
    uint64_t bytes = rue_source_bytes(source, item);
    char *data = malloc(bytes), *expected = malloc(bytes);
    shard_fill(expected, bytes, item);
    bool good = rue_source_read(source, item, data, error) == RUE_OK && memcmp(data, expected, bytes) == 0;
    free(data);
    free(expected);
    return good;
}

#endif
