#include "sharded.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"

enum { AXIS_BITS = 21 };
static_assert(1 << AXIS_BITS == RUE_SHARDED_AXIS_MAX, "an axis fits its bits");

uint64_t rue_sharded_pack(const uint32_t shape[3])
{
    return shape[0] | (uint64_t)shape[1] << AXIS_BITS | (uint64_t)shape[2] << 2 * AXIS_BITS;
}

/* ---- looking ---- */

static rue_status probe_folder(const struct rue_sharded_format *format, const char *path, bool *is,
                               rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s%s", path, strerror(errno),
                        rue_advice(errno));
    bool shards = false, others = false;
    for (struct dirent *entry; !others && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        struct stat about;
        if (name[0] == '.') continue;
        shards |= format->takes(name);
        others = (format->avoids && format->avoids(name)) ||
                 (fstatat(dirfd(folder), name, &about, 0) == 0 && S_ISDIR(about.st_mode));
    }
    closedir(folder);
    *is = shards && !others;
    return RUE_OK;
}

rue_status rue_sharded_probe(const struct rue_sharded_format *format, const char *path, bool *is,
                             bool *regular, rue_error *error)
{
    struct stat about;
    bool named = format->takes(path), pattern = rue_shard_set_is_pattern(path);
    *regular = false;
    *is = pattern && named;
    if (pattern) return RUE_OK;
    if (stat(path, &about) != 0) return rue_fail_open(error, path);
    if (S_ISDIR(about.st_mode)) return probe_folder(format, path, is, error);
    *regular = S_ISREG(about.st_mode);
    *is = *regular && named;
    return RUE_OK;
}

/* ---- opening ---- */

void rue_sharded_close(void *state)
{
    struct rue_sharded *sharded = state;
    rue_item_stream_close(sharded->stream);
    rue_class_list_free(&sharded->classes);
    rue_item_index_free(&sharded->index);
    rue_shard_set_close(sharded->set);
    free(sharded);
}

static const char *or_nothing(const char *key)
{
    return key ? key : "";
}

rue_status rue_sharded_open(const struct rue_sharded_format *format, const char *path,
                            const struct rue_source_options *options, void **state, rue_error *error)
{
    char asked[512], folder[PATH_MAX];
    struct rue_sharded *sharded = calloc(1, sizeof *sharded);
    if (!sharded) return rue_fail_memory(error, "a source of shards", sizeof *sharded);
    snprintf(asked, sizeof asked, "%s image %.200s label %.200s", format->version,
             or_nothing(options->image_key), or_nothing(options->label_key));
    rue_status status = rue_shard_set_open(path, format->takes, &sharded->set, error);
    if (status == RUE_OK && !rue_item_index_load(&sharded->index, sharded->set, asked)) {
        status = format->index(sharded->set, path, options, &sharded->index, error);
        if (status == RUE_OK && !options->writes_nothing)
            rue_item_index_keep(&sharded->index, sharded->set, asked);
    }
    if (status == RUE_OK) {
        rue_shard_set_folder(sharded->set, folder);
        status = rue_class_list_read(folder, &sharded->classes, error);
    }
    if (status == RUE_OK && sharded->index.facts[RUE_SHARDED_COMPRESSED])
        status = rue_item_stream_open(sharded->set, &sharded->index, &sharded->stream, error);
    if (status != RUE_OK) return rue_sharded_close(sharded), status;
    *state = sharded;
    return RUE_OK;
}

/* ---- operations ---- */

static const struct rue_sharded *of(const void *state)
{
    return state;
}

uint64_t rue_sharded_count(const void *state)
{
    return of(state)->index.count;
}

uint64_t rue_sharded_bytes(const void *state, uint64_t item)
{
    return of(state)->index.entries[item].bytes;
}

rue_status rue_sharded_label(const void *state, uint64_t item, int32_t *out, rue_error *error)
{
    (void)error;
    *out = of(state)->index.entries[item].label;
    return RUE_OK;
}

enum rue_mode rue_sharded_mode(const void *state)
{
    return (enum rue_mode)of(state)->index.facts[RUE_SHARDED_MODE];
}

rue_status rue_sharded_read(const void *state, uint64_t item, void *into, rue_error *error)
{
    const struct rue_sharded *sharded = state;
    const struct rue_index_entry *entry = &sharded->index.entries[item];
    if (sharded->stream) return rue_item_stream_read(sharded->stream, item, into, error);
    return rue_shard_set_read(sharded->set, entry->shard, into, entry->bytes, entry->offset, error);
}

uint64_t rue_sharded_window(const void *state, uint64_t in_flight)
{
    const struct rue_sharded *sharded = state;
    return sharded->stream ? rue_item_stream_window(sharded->stream, in_flight) : 0;
}

void rue_sharded_rewind(void *state)
{
    if (of(state)->stream) rue_item_stream_rewind(of(state)->stream);
}

/* Whoever reads an item of a compressed shard has read what lies before it, too. */
void rue_sharded_locate(const void *state, uint64_t item, struct rue_location *out)
{
    const struct rue_sharded *sharded = state;
    const struct rue_index_entry *entry = &sharded->index.entries[item];
    bool streams = sharded->stream;
    snprintf(out->path, sizeof out->path, "%s", rue_shard_set_path(sharded->set, entry->shard));
    out->offset = streams ? 0 : entry->offset;
    out->bytes = streams ? rue_shard_set_identity(sharded->set, entry->shard).bytes : entry->bytes;
}

size_t rue_sharded_class_count(const void *state)
{
    return of(state)->classes.count;
}

const char *rue_sharded_class_name(const void *state, size_t class_index)
{
    return of(state)->classes.names[class_index];
}

uint64_t rue_sharded_skipped(const void *state, char *example, size_t bytes)
{
    snprintf(example, bytes, "%s", of(state)->index.skipped_example);
    return of(state)->index.skipped;
}

enum rue_dtype rue_sharded_dtype(const void *state)
{
    return (enum rue_dtype)of(state)->index.facts[RUE_SHARDED_DTYPE];
}

void rue_sharded_shape(const void *state, uint32_t out[3])
{
    uint64_t packed = of(state)->index.facts[RUE_SHARDED_SHAPE];
    for (int axis = 0; axis < 3; axis++)
        out[axis] = (uint32_t)(packed >> axis * AXIS_BITS) & ((UINT32_C(1) << AXIS_BITS) - 1);
}

uint64_t rue_sharded_digest(const void *state)
{
    return rue_item_index_digest(&of(state)->index);
}
