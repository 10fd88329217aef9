/* The tfrecord format: shards of Examples (tf_record.h), plain or through gzip. Plain shards are read at any
 * place, compressed ones in order. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read_at.h"
#include "sharded.h"
#include "tf_index.h"
#include "tf_record.h"

enum { PIECE_BYTES = 4096 };

static bool ends_a_name(const char *at)
{
    return !*at || strcmp(at, ".gz") == 0;
}

/* "train-00001-of-01024", as the scripts for ImageNet call shards; also a pattern of such. */
static bool is_numbered(const char *base)
{
    const char *of = strstr(base, "-of-");
    if (!of || of == base || (!isdigit((unsigned char)of[-1]) && of[-1] != '}')) return false;
    const char *total = of + strlen("-of-"), *end = total;
    while (isdigit((unsigned char)*end)) end++;
    return end > total && ends_a_name(end);
}

/* "x.tfrecord", "x.tfrecords.gz", "x.tfrecord-00001-of-00004", and "x-00001-of-00004". */
static bool takes(const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *at = strstr(base, ".tfrecord");
    if (!at || at == base) return is_numbered(base);
    at += strlen(".tfrecord");
    at += *at == 's';
    return *at == '-' || ends_a_name(at);
}

/* ---- looking ---- */

static rue_status build_index(struct rue_shard_set *set, const char *path,
                              const struct rue_source_options *options, struct rue_item_index *out,
                              rue_error *error)
{
    (void)path;
    return rue_tf_index_build(set, options, out, error);
}

static const struct rue_sharded_format format = {
    .version = "tfrecord 2", .takes = takes, .index = build_index};

static rue_status begins_with_head(const char *path, bool *is, rue_error *error)
{
    unsigned char head[RUE_TF_RECORD_HEAD];
    uint64_t bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, path);
    *is = rue_read_at(fd, head, sizeof head, 0) && rue_tf_record_head_is(head, &bytes);
    close(fd);
    return RUE_OK;
}

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    bool regular;
    rue_status status = rue_sharded_probe(&format, path, is, &regular, error);
    return status == RUE_OK && regular && !*is ? begins_with_head(path, is, error) : status;
}

static rue_status open_tfrecord(const char *path, const struct rue_source_options *options, void **state,
                                rue_error *error)
{
    return rue_sharded_open(&format, path, options, state, error);
}

/* ---- items ---- */

/* What the name of an entry holds. */
struct told {
    uint64_t begin, record;
    const char *key;
};

static struct told told_of(const struct rue_sharded *t, uint64_t item)
{
    char *at;
    struct told told;
    told.begin = strtoull(rue_item_index_name(&t->index, item), &at, 16);
    told.record = strtoull(at, &at, 16);
    told.key = at + (*at == ' ');
    return told;
}

static void name(const void *state, uint64_t item, char *out, size_t bytes)
{
    const struct rue_sharded *t = state;
    struct told told = told_of(t, item);
    snprintf(out, bytes, "%s record %" PRIu64 " at byte %" PRIu64,
             rue_shard_set_path(t->set, t->index.entries[item].shard), told.record, told.begin);
}

static void key(const void *state, uint64_t item, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s", told_of(state, item).key);
}

/* Continues `*crc` over `bytes` of the item's shard at `offset`. */
static rue_status add_crc(const struct rue_sharded *t, uint64_t item, uint64_t offset, uint64_t bytes,
                          uint32_t *crc, rue_error *error)
{
    unsigned char piece[PIECE_BYTES];
    for (uint64_t some; bytes > 0; bytes -= some, offset += some) {
        some = bytes < sizeof piece ? bytes : sizeof piece;
        rue_status status =
            rue_shard_set_read(t->set, t->index.entries[item].shard, piece, some, offset, error);
        if (status != RUE_OK) return status;
        *crc = rue_crc32c(*crc, piece, some);
    }
    return RUE_OK;
}

/* Whether the record that the item was read from has the checksum that it had when it was written. */
static rue_status check_record(const struct rue_sharded *t, uint64_t item, const void *data, rue_error *error)
{
    const struct rue_index_entry *entry = &t->index.entries[item];
    unsigned char head[RUE_TF_RECORD_HEAD];
    char text[PATH_MAX + 64];
    uint64_t begin = told_of(t, item).begin, first = begin + sizeof head, bytes,
             end = entry->offset + entry->bytes;
    uint32_t crc = 0, expected;
    rue_status status = rue_shard_set_read(t->set, entry->shard, head, sizeof head, begin, error);
    if (status != RUE_OK) return status;
    bool good = rue_tf_record_head_is(head, &bytes) && bytes < INT64_MAX && first + bytes >= end;
    if (good) {
        status = add_crc(t, item, first, entry->offset - first, &crc, error);
        crc = rue_crc32c(crc, data, entry->bytes);
        if (status == RUE_OK) status = add_crc(t, item, end, first + bytes - end, &crc, error);
        if (status == RUE_OK)
            status =
                rue_shard_set_read(t->set, entry->shard, &expected, sizeof expected, first + bytes, error);
        if (status != RUE_OK) return status;
        good = expected == rue_tf_mask(crc);
    }
    name(t, item, text, sizeof text);
    if (good) return RUE_OK;
    return rue_fail(error, RUE_DATA, "%s is damaged: the CRC-32C of its data is wrong; make it again", text);
}

static rue_status read_item(const void *state, uint64_t item, void *into, rue_error *error)
{
    const struct rue_sharded *sharded = state;
    rue_status status = rue_sharded_read(state, item, into, error);
    if (status != RUE_OK || sharded->stream) return status; /* gzip has its own checksum */
    return check_record(sharded, item, into, error);
}

const struct rue_source_ops rue_source_tfrecord = {
    RUE_SHARDED_OPS, .format = "tfrecord",  .help = "TFRecord shards of Examples, plain or through gzip",
    .probe = probe,  .open = open_tfrecord, .name = name,
    .key = key,      .read = read_item,
};
