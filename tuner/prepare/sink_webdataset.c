/* The webdataset format: a folder of tar shards, ustar, with a pax header before members whose name or size
 * does not fit. The same members make the same bytes: no times, no users. */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shard_writer.h"
#include "tar_reader.h"

enum { NPY_BYTES = 128 /* of a header, as NumPy has it for such arrays */ };
enum { NUMBER_BYTES = 24, STEM_BYTES = PATH_MAX - 16 /* with an extension it is a path */ };

struct webdataset {
    struct rue_shard_writer shards;
    char before[STEM_BYTES]; /* the key of the last item in this shard */
    char member[PATH_MAX];   /* of the last item */
};

/* ---- archives ---- */

static const uint64_t size_max = UINT64_C(077777777777); /* what eleven octal digits hold */
static const char zeros[2 * RUE_TAR_BLOCK];

/* Splits a long name at a slash into prefix and name; false where it does not fit. */
static bool split_name(struct rue_tar_header *header, const char *name)
{
    size_t length = strlen(name);
    if (length <= sizeof header->name) return memcpy(header->name, name, length), true;
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t before = (size_t)(slash - name), behind = length - before - 1;
        if (before == 0 || before > sizeof header->prefix || behind > sizeof header->name) continue;
        memcpy(header->prefix, name, before);
        memcpy(header->name, slash + 1, behind);
        return true;
    }
    return false;
}

static void fill_header(struct rue_tar_header *header, char kind, uint64_t bytes)
{
    memcpy(header->mode, "0000644", 8);
    memcpy(header->uid, "0000000", 8);
    memcpy(header->gid, "0000000", 8);
    memcpy(header->mtime, "00000000000", 12);
    memcpy(header->magic, "ustar", 6);
    memcpy(header->version, "00", 2);
    header->kind = kind;
    snprintf(header->size, sizeof header->size, "%011" PRIo64, bytes <= size_max ? bytes : 0);
    snprintf(header->checksum, sizeof header->checksum, "%06o", rue_tar_sum(header));
    header->checksum[7] = ' ';
}

static rue_status put_padding(struct rue_byte_writer *writer, uint64_t bytes, rue_error *error)
{
    return rue_byte_writer_write(writer, zeros, rue_tar_padded(bytes) - bytes, error);
}

/* "<length> <key>=<value>\n", whose length counts its own digits. */
static size_t put_record(char *out, size_t room, const char *key, const char *value)
{
    size_t length = strlen(key) + strlen(value) + 3, digits = 1;
    for (size_t most = 10; length + digits >= most; most *= 10) digits++;
    return (size_t)snprintf(out, room, "%zu %s=%s\n", length + digits, key, value);
}

static rue_status put_pax(struct rue_byte_writer *writer, const char *name, bool named, uint64_t bytes,
                          rue_error *error)
{
    char records[PATH_MAX + 128], size[32];
    size_t length = 0;
    if (!named) length += put_record(records, sizeof records, "path", name);
    snprintf(size, sizeof size, "%" PRIu64, bytes);
    if (bytes > size_max) length += put_record(records + length, sizeof records - length, "size", size);
    struct rue_tar_header header = {.name = "pax"};
    fill_header(&header, 'x', length);
    rue_status status = rue_byte_writer_write(writer, &header, sizeof header, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, records, length, error);
    return status == RUE_OK ? put_padding(writer, length, error) : status;
}

/* Adds a file that holds `head` and `data` behind it. */
static rue_status put_member(struct rue_byte_writer *writer, const char *name, const void *head,
                             uint64_t head_bytes, const void *data, uint64_t bytes, rue_error *error)
{
    struct rue_tar_header header = {0};
    uint64_t all = head_bytes + bytes;
    bool named = split_name(&header, name);
    if (!named) memcpy(header.name, name, sizeof header.name - 1);
    fill_header(&header, '0', all);
    rue_status status = named && all <= size_max ? RUE_OK : put_pax(writer, name, named, all, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, &header, sizeof header, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, head, head_bytes, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, data, bytes, error);
    return status == RUE_OK ? put_padding(writer, all, error) : status;
}

/* ---- the sink ---- */

static rue_status complete(struct rue_shard_writer *writer, rue_error *error)
{
    struct webdataset *w = (struct webdataset *)writer;
    w->before[0] = 0;
    return rue_byte_writer_write(writer->shard, zeros, sizeof zeros, error); /* as archives end */
}

static rue_status open_webdataset(void *state, const char *path, const struct rue_sink_options *options,
                                  const struct rue_sink_mark *mark, rue_error *error)
{
    struct webdataset *w = state;
    rue_status status = rue_shard_writer_open(&w->shards, path, ".tar", options, mark, error);
    w->shards.complete = complete;
    return status;
}

/* A key ends at its first dot, so that dots become "%2E", and no two names the same key. Where the key ends;
 * NULL where there is no room for it. */
static char *escape(char *at, const char *end, const char *from, size_t bytes)
{
    for (const char *last = from + bytes; from < last; from++) {
        if (end - at < 4) return NULL;
        if (*from == '.' || *from == '%')
            at += sprintf(at, "%%%02X", (unsigned char)*from);
        else
            *at++ = *from;
    }
    *at = 0;
    return at;
}

/* Members of one sample follow each other: not the key of the sample before. The extension of a JPEG file
 * stays as it is. */
static rue_status make_key(struct webdataset *w, const char *name, char stem[STEM_BYTES], char extension[8],
                           rue_error *error)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    bool raw = w->shards.options->mode == RUE_RAW;
    bool jpeg = dot && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg"));
    bool known = jpeg || (dot && (!strcasecmp(dot, ".jpe") || !strcasecmp(dot, ".npy")));
    if (!known || dot == base) dot = NULL;
    snprintf(extension, 8, "%s", !raw ? "npy" : dot && jpeg ? dot + 1 : "jpg");
    memcpy(stem, name, (size_t)(base - name));
    char *end = escape(stem + (base - name), stem + STEM_BYTES - NUMBER_BYTES, base,
                       dot ? (size_t)(dot - base) : strlen(base));
    if (!end)
        return rue_fail(error, RUE_DATA, "'%.200s...' is too long a name for a sample: rename the item",
                        name);
    if (strcmp(stem, w->before) == 0) snprintf(end, NUMBER_BYTES, "_%" PRIu64, w->shards.added);
    snprintf(w->before, sizeof w->before, "%s", stem);
    return RUE_OK;
}

/* The header of a file as numpy.save writes it (npy.h). */
static void write_npy_header(enum rue_dtype dtype, const uint32_t shape[3], char out[NPY_BYTES])
{
    static const char *const descriptions[RUE_DTYPE_COUNT] = {[RUE_FLOAT32] = "<f4", [RUE_UINT8] = "|u1"};
    char text[NPY_BYTES];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%u, %u, %u), }",
             descriptions[dtype], shape[0], shape[1], shape[2]);
    memcpy(out, "\x93NUMPY\1\0\x76\0", 10);
    snprintf(out + 10, NPY_BYTES - 10, "%-117s", text);
    out[NPY_BYTES - 1] = '\n';
}

static rue_status add_to_webdataset(void *state, const struct rue_item *item, rue_error *error)
{
    struct webdataset *w = state;
    const struct rue_sink_options *options = w->shards.options;
    char stem[STEM_BYTES], extension[8], label_name[PATH_MAX], label[16], head[NPY_BYTES];
    rue_status status = rue_shard_writer_begin(&w->shards, error);
    if (status == RUE_OK) status = make_key(w, item->key, stem, extension, error);
    if (status != RUE_OK) return status;
    if (options->mode == RUE_PREPROCESSED) write_npy_header(options->dtype, options->shape, head);
    snprintf(w->member, sizeof w->member, "%s.%s", stem, extension);
    status = put_member(w->shards.shard, w->member, head, options->mode == RUE_PREPROCESSED ? sizeof head : 0,
                        item->data, item->bytes, error);
    snprintf(label_name, sizeof label_name, "%s.cls", stem);
    int digits = snprintf(label, sizeof label, "%" PRId32, item->label);
    if (status == RUE_OK)
        status = put_member(w->shards.shard, label_name, label, (uint64_t)digits, "", 0, error);
    if (status != RUE_OK) return status;
    return rue_shard_writer_count(&w->shards, error);
}

static void key(const void *state, const struct rue_item *item, char *out, size_t bytes)
{
    (void)item;
    snprintf(out, bytes, "%s", ((const struct webdataset *)state)->member);
}

const struct rue_sink_ops rue_sink_webdataset = {
    .format = "webdataset",
    .help = "a folder of tar shards, as the webdataset library has them",
    .holds = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .compresses = {[RUE_COMPRESS_NONE] = true,
                   [RUE_COMPRESS_GZIP] = true,
                   [RUE_COMPRESS_ZSTD] = true,
                   [RUE_COMPRESS_LZ4] = true},
    .shards = true,
    .splits = true,
    .state_bytes = sizeof(struct webdataset),
    .open = open_webdataset,
    .add = add_to_webdataset,
    .key = key,
    .flush = rue_shard_writer_flush,
    .finish = rue_shard_writer_finish,
    .close = rue_shard_writer_close,
};
