/* The webdataset format: tar shards whose members are grouped into samples (sample_group.h). Plain shards are
 * read at any place, compressed ones in order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sample_group.h"
#include "sharded.h"
#include "tar_header.h"

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), own = strlen(suffix);
    return length > own && strcasecmp(name + length - own, suffix) == 0;
}

static bool takes(const char *name)
{
    static const char *const suffixes[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.lz4"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_with(name, suffixes[i])) return true;
    return false;
}

/* ---- looking ---- */

/* What the folder format would read. */
static bool avoids(const char *name)
{
    return ends_with(name, ".jpg") || ends_with(name, ".jpeg");
}

static bool begins_with_header(const char *path)
{
    struct rue_shard_set *set;
    struct rue_byte_stream *stream;
    char block[RUE_TAR_BLOCK];
    uint64_t got = 0;
    if (rue_shard_set_open(path, takes, &set, NULL) != RUE_OK) return false;
    struct rue_shard_place place = {set, 0};
    bool is = rue_shard_stream_open(&place, &stream, NULL) == RUE_OK;
    if (is) {
        is = rue_byte_stream_read(stream, block, sizeof block, &got, NULL) == RUE_OK && got == sizeof block &&
             rue_tar_is_header(block);
        rue_byte_stream_close(stream);
    }
    rue_shard_set_close(set);
    return is;
}

/* ---- opening ---- */

static rue_status index_shard(struct rue_shard_set *set, struct rue_sample_group *group, size_t shard,
                              rue_error *error)
{
    const char *file = rue_shard_set_path(set, shard);
    struct rue_shard_place place = {set, shard};
    struct rue_byte_stream *stream;
    struct rue_tar_reader *reader;
    rue_status status = rue_shard_stream_open(&place, &stream, error);
    if (status != RUE_OK) return status;
    if (rue_byte_stream_compression(stream) != RUE_COMPRESS_NONE)
        group->index->facts[RUE_SHARDED_COMPRESSED] = 1;
    status = rue_tar_reader_open(stream, file, rue_shard_set_identity(set, shard).bytes, &reader, error);
    if (status == RUE_OK) {
        status = rue_sample_group_add(group, (uint32_t)shard, file, reader, error);
        rue_tar_reader_close(reader);
    }
    rue_byte_stream_close(stream);
    return status;
}

static const char *without_dot(const char *key)
{
    return key && key[0] == '.' ? key + 1 : key;
}

static rue_status build_index(struct rue_shard_set *set, const char *path,
                              const struct rue_source_options *options, struct rue_item_index *out,
                              rue_error *error)
{
    struct rue_sample_group group = {.index = out,
                                     .options = options,
                                     .image_key = without_dot(options->image_key),
                                     .label_key = without_dot(options->label_key)};
    size_t count = rue_shard_set_count(set);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < count; i++) status = index_shard(set, &group, i, error);
    if (status == RUE_OK) status = rue_sample_group_end(&group, error);
    if (status != RUE_OK) return status;
    if (out->count == 0)
        return rue_fail(error, RUE_DATA,
                        "%s holds no sample with an image (%s) in its %zu shards: name its extension with "
                        "--image-key",
                        path, group.image_key ? group.image_key : ".jpg, .jpeg, .npy", count);
    out->facts[RUE_SHARDED_MODE] = group.mode;
    out->facts[RUE_SHARDED_DTYPE] = group.npy.dtype;
    out->facts[RUE_SHARDED_SHAPE] = rue_sharded_pack(group.npy.shape);
    return RUE_OK;
}

static const struct rue_sharded_format format = {
    .version = "webdataset 3", .takes = takes, .avoids = avoids, .index = build_index};

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    bool regular;
    rue_status status = rue_sharded_probe(&format, path, is, &regular, error);
    if (status == RUE_OK && regular && !*is) *is = begins_with_header(path);
    return status;
}

static rue_status open_webdataset(const char *path, const struct rue_source_options *options, void **state,
                                  rue_error *error)
{
    return rue_sharded_open(&format, path, options, state, error);
}

/* ---- items ---- */

static void name(const void *state, uint64_t item, char *out, size_t bytes)
{
    const struct rue_sharded *sharded = state;
    const struct rue_index_entry *entry = &sharded->index.entries[item];
    snprintf(out, bytes, "%s member %s at byte %" PRIu64, rue_shard_set_path(sharded->set, entry->shard),
             rue_item_index_name(&sharded->index, item), entry->offset);
}

static void key(const void *state, uint64_t item, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s", rue_item_index_name(&((const struct rue_sharded *)state)->index, item));
}

const struct rue_source_ops rue_source_webdataset = {
    RUE_SHARDED_OPS,
    .format = "webdataset",
    .help = "tar shards of JPEG or npy members, plain or compressed",
    .probe = probe,
    .open = open_webdataset,
    .name = name,
    .key = key,
    .read = rue_sharded_read,
};
