/* The zarr format: a group with the arrays images and labels, of version 2 or 3. */
#include <blosc.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "interrupt.h"
#include "item_file.h"
#include "sink.h"
#include "units.h"
#include "zarr_metadata.h"

enum { BLOCK_BYTES = 16 << 20, BLOCK_ITEMS = 16, GZIP_LEVEL = 1, ZSTD_LEVEL = 3, BLOSC_LEVEL = 5 };
enum { MANY_FILES = 100000, SMALL_BYTES = 1 << 20 };

struct zarr {
    struct rue_item_folder to;
    const struct rue_sink_options *options;
    struct rue_zarr_array array;
    uint64_t files; /* of images */
    char *block;    /* the items of one chunk along the first axis */
    char *chunk;    /* one chunk */
    char *packed;   /* the same, compressed */
    size_t packed_bytes;
    int32_t *labels; /* [count] */
    uint64_t added;
};

static void close_zarr(void *state)
{
    struct zarr *zarr = state;
    if (zarr->to.fd >= 0) close(zarr->to.fd);
    free(zarr->block);
    free(zarr->chunk);
    free(zarr->packed);
    free(zarr->labels);
}

/* ---- metadata ---- */

static rue_status write_json(const struct zarr *zarr, const char *name, json_t *object, rue_error *error)
{
    char *text = json_dumps(object, JSON_INDENT(2));
    rue_status status = text ? rue_item_folder_write(&zarr->to, name, text, strlen(text), error)
                             : rue_fail(error, RUE_DATA, "a class has a name that is not UTF-8: rename it");
    free(text);
    json_decref(object);
    return status;
}

/* The lengths of the last `rank` axes, the first axis before them. */
static json_t *lengths_json(const uint64_t *lengths, int rank)
{
    json_t *list = json_array();
    for (int axis = 0; axis < rank; axis++)
        json_array_append_new(list, json_integer((json_int_t)lengths[axis]));
    return list;
}

static json_t *codec_2(enum rue_zarr_codec codec)
{
    switch (codec) {
    case RUE_ZARR_GZIP:
        return json_pack("{s:s, s:i}", "id", "gzip", "level", GZIP_LEVEL);
    case RUE_ZARR_ZSTD:
        return json_pack("{s:s, s:i}", "id", "zstd", "level", ZSTD_LEVEL);
    case RUE_ZARR_BLOSC:
        return json_pack("{s:s, s:s, s:i, s:i, s:i}", "id", "blosc", "cname", "lz4", "clevel", BLOSC_LEVEL,
                         "shuffle", BLOSC_SHUFFLE, "blocksize", 0);
    default:
        return json_null();
    }
}

static json_t *codecs_3(const struct rue_zarr_array *array)
{
    json_t *list = json_pack("[{s:s, s:{s:s}}]", "name", "bytes", "configuration", "endian", "little");
    const char *name = rue_zarr_codec_names[array->codec];
    json_t *configuration =
        array->codec == RUE_ZARR_GZIP ? json_pack("{s:i}", "level", GZIP_LEVEL)
        : array->codec == RUE_ZARR_ZSTD
            ? json_pack("{s:i, s:b}", "level", ZSTD_LEVEL, "checksum", 0)
            : json_pack("{s:s, s:i, s:s, s:i, s:i}", "cname", "lz4", "clevel", BLOSC_LEVEL, "shuffle",
                        "shuffle", "typesize", (int)array->value_bytes, "blocksize", 0);
    json_t *codec = json_pack("{s:s, s:o}", "name", name, "configuration", configuration);
    if (array->codec == RUE_ZARR_NONE)
        json_decref(codec);
    else
        json_array_append_new(list, codec);
    return list;
}

static json_t *array_json(const struct rue_zarr_array *array, int version, const char *type, const char *name)
{
    json_t *shape = lengths_json(array->shape, array->rank), *chunk = lengths_json(array->chunk, array->rank);
    json_t *fill = array->kind == 'f' ? json_real(0) : json_integer(0);
    if (version != 3)
        return json_pack("{s:i, s:o, s:o, s:s, s:o, s:o, s:s, s:n, s:s}", "zarr_format", 2, "shape", shape,
                         "chunks", chunk, "dtype", type, "compressor", codec_2(array->codec), "fill_value",
                         fill, "order", "C", "filters", "dimension_separator", ".");
    return json_pack("{s:i, s:s, s:o, s:s, s:{s:s, s:{s:o}}, s:{s:s, s:{s:s}}, s:o, s:o, s:{}}",
                     "zarr_format", 3, "node_type", "array", "shape", shape, "data_type", name, "chunk_grid",
                     "name", "regular", "configuration", "chunk_shape", chunk, "chunk_key_encoding", "name",
                     "default", "configuration", "separator", ".", "fill_value", fill, "codecs",
                     codecs_3(array), "attributes");
}

static json_t *classes_json(const struct rue_sink_options *options)
{
    json_t *classes = json_array(), *attributes = json_object();
    for (size_t c = 0; c < options->class_count; c++)
        json_array_append_new(classes, json_string(options->classes[c]));
    json_object_set_new(attributes, "classes", classes);
    return attributes;
}

static rue_status write_group(const struct zarr *zarr, rue_error *error)
{
    json_t *attributes = classes_json(zarr->options);
    if (zarr->options->chunks.version == 3)
        return write_json(
            zarr, "zarr.json",
            json_pack("{s:i, s:s, s:o}", "zarr_format", 3, "node_type", "group", "attributes", attributes),
            error);
    rue_status status = write_json(zarr, ".zgroup", json_pack("{s:i}", "zarr_format", 2), error);
    if (status != RUE_OK) return json_decref(attributes), status;
    return write_json(zarr, ".zattrs", attributes, error);
}

static rue_status write_array(const struct zarr *zarr, const char *name, const struct rue_zarr_array *array,
                              const char *type, const char *word, rue_error *error)
{
    char file[64];
    int version = zarr->options->chunks.version;
    if (mkdirat(zarr->to.fd, name, 0777) != 0) return rue_item_file_fail(zarr->to.path, name, error);
    const char *made_with = array == &zarr->array ? zarr->options->made_with : NULL;
    json_t *object = array_json(array, version, type, word),
           *attributes = made_with ? json_pack("{s:s}", RUE_ZARR_MADE_WITH, made_with) : NULL;
    if (attributes && version == 3) json_object_set(object, "attributes", attributes);
    snprintf(file, sizeof file, "%s/%s", name, version == 3 ? "zarr.json" : ".zarray");
    rue_status status = write_json(zarr, file, object, error);
    snprintf(file, sizeof file, "%s/.zattrs", name);
    if (status == RUE_OK && attributes && version != 3)
        status = write_json(zarr, file, json_incref(attributes), error);
    json_decref(attributes);
    return status;
}

/* ---- chunks ---- */

/* Compresses the chunk; sets `*bytes`. NULL: it could not be compressed. */
static const void *pack_chunk(struct zarr *zarr, size_t *bytes)
{
    size_t whole = zarr->array.chunk_bytes;
    *bytes = 0;
    if (zarr->array.codec == RUE_ZARR_NONE) return *bytes = whole, zarr->chunk;
    if (zarr->array.codec == RUE_ZARR_ZSTD) {
        size_t packed = ZSTD_compress(zarr->packed, zarr->packed_bytes, zarr->chunk, whole, ZSTD_LEVEL);
        if (!ZSTD_isError(packed)) *bytes = packed;
    } else if (zarr->array.codec == RUE_ZARR_BLOSC) {
        int packed = blosc_compress_ctx(BLOSC_LEVEL, BLOSC_SHUFFLE, zarr->array.value_bytes, whole,
                                        zarr->chunk, zarr->packed, zarr->packed_bytes, "lz4", 0, 1);
        if (packed > 0) *bytes = (size_t)packed;
    } else {
        z_stream stream = {.next_in = (Bytef *)zarr->chunk,
                           .avail_in = (uInt)whole,
                           .next_out = (Bytef *)zarr->packed,
                           .avail_out = (uInt)zarr->packed_bytes};
        if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, MAX_WBITS + 16 /* gzip */, 8, Z_DEFAULT_STRATEGY) !=
            Z_OK)
            return NULL;
        if (deflate(&stream, Z_FINISH) == Z_STREAM_END) *bytes = stream.total_out;
        deflateEnd(&stream);
    }
    return *bytes ? zarr->packed : NULL;
}

/* Copies the part of the block at `at` into the chunk; the rest of the chunk is 0. */
static void gather_chunk(struct zarr *zarr, const uint64_t at[RUE_ZARR_AXES])
{
    const uint64_t *shape = zarr->array.shape, *size = zarr->array.chunk;
    uint64_t width = zarr->array.value_bytes, count[RUE_ZARR_AXES];
    memset(zarr->chunk, 0, zarr->array.chunk_bytes);
    for (int axis = 1; axis < RUE_ZARR_AXES; axis++) {
        uint64_t left = shape[axis] - at[axis] * size[axis];
        count[axis] = left < size[axis] ? left : size[axis];
    }
    for (uint64_t n = 0; n < size[0]; n++)
        for (uint64_t c = 0; c < count[1]; c++)
            for (uint64_t h = 0; h < count[2]; h++) {
                uint64_t to = ((n * size[1] + c) * size[2] + h) * size[3];
                uint64_t row = (n * shape[1] + at[1] * size[1] + c) * shape[2] + at[2] * size[2] + h;
                memcpy(zarr->chunk + to * width, zarr->block + (row * shape[3] + at[3] * size[3]) * width,
                       count[3] * width);
            }
}

static rue_status write_chunk(struct zarr *zarr, const uint64_t at[RUE_ZARR_AXES], rue_error *error)
{
    char name[128] = "images/";
    size_t bytes, length = strlen(name);
    if (rue_interrupt_status() != RUE_OK)
        return rue_fail(error, rue_interrupt_status(), "interrupted; nothing was written");
    gather_chunk(zarr, at);
    const void *data = pack_chunk(zarr, &bytes);
    if (!data) return rue_fail(error, RUE_MEMORY, "a chunk could not be compressed");
    rue_zarr_file_name(&zarr->array, at, name + length, sizeof name - length);
    return rue_item_folder_write(&zarr->to, name, data, bytes, error);
}

/* Writes the chunks of the block that ends with the last item added. */
static rue_status write_block(struct zarr *zarr, rue_error *error)
{
    const uint64_t *shape = zarr->array.shape, *size = zarr->array.chunk;
    uint64_t at[RUE_ZARR_AXES] = {(zarr->added - 1) / size[0]};
    rue_status status = RUE_OK;
    for (at[1] = 0; status == RUE_OK && at[1] * size[1] < shape[1]; at[1]++)
        for (at[2] = 0; status == RUE_OK && at[2] * size[2] < shape[2]; at[2]++)
            for (at[3] = 0; status == RUE_OK && at[3] * size[3] < shape[3]; at[3]++)
                status = write_chunk(zarr, at, error);
    memset(zarr->block, 0, size[0] * shape[1] * shape[2] * shape[3] * zarr->array.value_bytes);
    return status;
}

/* ---- the sink ---- */

static rue_status describe_array(struct zarr *zarr, rue_error *error)
{
    const struct rue_sink_options *options = zarr->options;
    struct rue_zarr_array *array = &zarr->array;
    uint64_t item = rue_sink_item_bytes(options), items = BLOCK_BYTES / item;
    *array = (struct rue_zarr_array){
        .kind = options->dtype == RUE_UINT8 ? 'u' : 'f',
        .value_bytes = rue_dtype_bytes[options->dtype],
        .rank = RUE_ZARR_AXES,
        .shape = {options->count, options->shape[0], options->shape[1], options->shape[2]},
        .codec = options->chunks.codec,
        .prefix = options->chunks.version == 3,
        .separator = '.'};
    array->chunk[0] = items < 1 ? 1 : items < BLOCK_ITEMS ? items : BLOCK_ITEMS;
    for (int axis = 1; axis < RUE_ZARR_AXES; axis++) array->chunk[axis] = array->shape[axis];
    for (int axis = 0; axis < RUE_ZARR_AXES; axis++)
        if (options->chunks.shape[axis]) array->chunk[axis] = options->chunks.shape[axis];
    double chunk_bytes = array->value_bytes, files = 1;
    for (int axis = 0; axis < RUE_ZARR_AXES; axis++) {
        if (array->chunk[axis] > array->shape[axis] && axis)
            return rue_fail(error, RUE_USAGE,
                            "chunks of %" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64
                            " are larger than the items, which have %" PRIu64 " x %" PRIu64 " x %" PRIu64,
                            array->chunk[0], array->chunk[1], array->chunk[2], array->chunk[3],
                            array->shape[1], array->shape[2], array->shape[3]);
        chunk_bytes *= (double)array->chunk[axis];
        files *= (double)((array->shape[axis] + array->chunk[axis] - 1) / array->chunk[axis]);
    }
    if (chunk_bytes > INT32_MAX / 2 || (double)array->chunk[0] * (double)item > INT32_MAX)
        return rue_fail(error, RUE_USAGE, "chunks of more than 1 GiB cannot be written: make them smaller");
    if (files > RUE_ZARR_FILES_MAX)
        return rue_fail(error, RUE_USAGE,
                        "these chunks need %.0f files, and the limit is %d: make larger chunks", files,
                        RUE_ZARR_FILES_MAX);
    array->chunk_bytes = (uint64_t)chunk_bytes;
    zarr->files = (uint64_t)files;
    return RUE_OK;
}

static rue_status open_zarr(void *state, const char *path, const struct rue_sink_options *options,
                            rue_error *error)
{
    static const char *const types[RUE_DTYPE_COUNT] = {"<f4", "|u1", "<f2"};
    struct zarr *zarr = state;
    zarr->options = options;
    zarr->to.fd = -1;
    rue_status status = describe_array(zarr, error);
    if (status != RUE_OK) return status;
    size_t chunk = zarr->array.chunk_bytes, block = zarr->array.chunk[0] * rue_sink_item_bytes(options);
    zarr->packed_bytes = ZSTD_compressBound(chunk) + chunk / 1000 + 1024; /* also enough for gzip and blosc */
    zarr->block = calloc(1, block);
    zarr->chunk = malloc(chunk);
    zarr->packed = malloc(zarr->packed_bytes);
    zarr->labels = malloc(options->count * sizeof *zarr->labels);
    if (!zarr->block || !zarr->chunk || !zarr->packed || !zarr->labels)
        return rue_fail_memory(error, "chunks", block + chunk + zarr->packed_bytes);
    status = rue_item_folder_open(&zarr->to, path, options, error);
    if (status == RUE_OK) status = write_group(zarr, error);
    if (status != RUE_OK) return status;
    return write_array(zarr, "images", &zarr->array, types[options->dtype], rue_dtype_names[options->dtype],
                       error);
}

static void remark_on_files(const void *state, char *out, size_t bytes)
{
    const struct zarr *zarr = state;
    char files[RUE_UNIT_TEXT_BYTES], chunk[RUE_UNIT_TEXT_BYTES];
    if (zarr->files <= MANY_FILES || zarr->array.chunk_bytes >= SMALL_BYTES) return;
    snprintf(out, bytes,
             "writing %s files, a chunk of %s in each; so many small files are slow to write, copy and "
             "delete: stop and give larger --chunks",
             rue_format_count(zarr->files, files, sizeof files),
             rue_format_bytes(zarr->array.chunk_bytes, chunk, sizeof chunk));
}

static rue_status add_to_zarr(void *state, const struct rue_item *item, rue_error *error)
{
    struct zarr *zarr = state;
    uint64_t row = zarr->added % zarr->array.chunk[0];
    memcpy(zarr->block + row * item->bytes, item->data, item->bytes);
    zarr->labels[zarr->added++] = item->label;
    bool full = row + 1 == zarr->array.chunk[0] || zarr->added == zarr->options->count;
    return full ? write_block(zarr, error) : RUE_OK;
}

static rue_status finish_zarr(void *state, rue_error *error)
{
    struct zarr *zarr = state;
    const struct rue_zarr_array labels = {.kind = 'i',
                                          .value_bytes = sizeof *zarr->labels,
                                          .rank = 1,
                                          .shape = {zarr->options->count},
                                          .chunk = {zarr->options->count},
                                          .separator = '.'};
    rue_status status = RUE_OK;
    if (!zarr->options->unlabelled) status = write_array(zarr, "labels", &labels, "<i4", "int32", error);
    if (status == RUE_OK && !zarr->options->unlabelled)
        status = rue_item_folder_write(&zarr->to, zarr->array.prefix ? "labels/c.0" : "labels/0",
                                       zarr->labels, zarr->options->count * sizeof *zarr->labels, error);
    if (status != RUE_OK) return status;
    return rue_item_folder_flush(&zarr->to, error);
}

const struct rue_sink_ops rue_sink_zarr = {
    .format = "zarr",
    .suffix = ".zarr",
    .help = "a Zarr group of images in chunks, and their labels",
    .has_mode = {[RUE_PREPROCESSED] = true},
    .chunks = true,
    .unnamed = true,
    .state_bytes = sizeof(struct zarr),
    .open = open_zarr,
    .remark = remark_on_files,
    .add = add_to_zarr,
    .finish = finish_zarr,
    .close = close_zarr,
};
