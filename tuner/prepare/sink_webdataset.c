/* The webdataset format: a folder of tar shards. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shard_writer.h"
#include "tar_writer.h"

enum { NPY_BYTES = 128 /* of a header, as NumPy has it for such arrays */ };
enum { NUMBER_BYTES = 24, STEM_BYTES = PATH_MAX - 16 /* with an extension it is a path */ };

struct webdataset {
    struct rue_shard_writer shards;
    char before[STEM_BYTES]; /* the key of the last item in this shard */
    char member[PATH_MAX];   /* of the last item */
};

static void close_webdataset(void *state)
{
    struct webdataset *w = state;
    rue_shard_writer_close(&w->shards);
    free(w);
}

static rue_status complete(struct rue_shard_writer *writer, rue_error *error)
{
    struct webdataset *w = (struct webdataset *)writer;
    w->before[0] = 0;
    return rue_tar_end(writer->shard, error);
}

static rue_status open_webdataset(const char *path, const struct rue_sink_options *options,
                                  const struct rue_sink_mark *mark, void **state, rue_error *error)
{
    struct webdataset *w = calloc(1, sizeof *w);
    if (!w) return rue_fail_memory(error, "writing shards", sizeof *w);
    rue_status status = rue_shard_writer_open(&w->shards, path, ".tar", options, mark, error);
    if (status != RUE_OK) return close_webdataset(w), status;
    w->shards.complete = complete;
    *state = w;
    return RUE_OK;
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

static rue_status add(void *state, const struct rue_item *item, rue_error *error)
{
    struct webdataset *w = state;
    const struct rue_sink_options *options = w->shards.options;
    char stem[STEM_BYTES], extension[8], label_name[PATH_MAX], label[16], head[NPY_BYTES];
    rue_status status = rue_shard_writer_begin(&w->shards, error);
    if (status == RUE_OK) status = make_key(w, item->key, stem, extension, error);
    if (status != RUE_OK) return status;
    if (options->mode == RUE_PREPROCESSED) write_npy_header(options->dtype, options->shape, head);
    snprintf(w->member, sizeof w->member, "%s.%s", stem, extension);
    status = rue_tar_put(w->shards.shard, w->member, head,
                         options->mode == RUE_PREPROCESSED ? sizeof head : 0, item->data, item->bytes, error);
    snprintf(label_name, sizeof label_name, "%s.cls", stem);
    int digits = snprintf(label, sizeof label, "%" PRId32, item->label);
    if (status == RUE_OK)
        status = rue_tar_put(w->shards.shard, label_name, label, (uint64_t)digits, "", 0, error);
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
    .open = open_webdataset,
    .add = add,
    .key = key,
    .flush = rue_shard_writer_flush,
    .finish = rue_shard_writer_finish,
    .close = close_webdataset,
};
