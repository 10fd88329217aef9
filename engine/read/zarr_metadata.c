#include "zarr_metadata.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES_MAX = INT32_MAX - 1024 /* the limit of blosc */, WHY_BYTES = 256 };

const char *const rue_zarr_codec_names[RUE_ZARR_CODEC_COUNT + 1] = {"none", "gzip", "zstd", "blosc", NULL};

/* The state of parsing: the array and the first fault. */
struct parser {
    struct rue_zarr_array *out;
    char why[WHY_BYTES];
};

__attribute__((format(printf, 2, 3))) static void refuse(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    if (parser->why[0]) return;
    va_start(arguments, format);
    vsnprintf(parser->why, sizeof parser->why, format, arguments);
    va_end(arguments);
}

static const char *read_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Reads one length for each axis. The missing axes get the length 1. */
static void read_lengths(struct parser *parser, const json_t *list, const char *what,
                         uint64_t out[RUE_ZARR_AXES])
{
    size_t rank = json_array_size(list), missing = RUE_ZARR_AXES - rank;
    if (rank < 1 || rank > RUE_ZARR_AXES)
        refuse(parser, "has a %s of %zu axes, and arrays of 2 to 4 axes are supported", what, rank);
    else if (parser->out->rank && (int)rank != parser->out->rank)
        refuse(parser, "has a shape of %d axes, but a %s of %zu axes", parser->out->rank, what, rank);
    if (parser->why[0]) return;
    parser->out->rank = (int)rank;
    for (size_t axis = 0; axis < RUE_ZARR_AXES; axis++) out[axis] = 1;
    for (size_t i = 0; i < rank; i++) {
        const json_t *length = json_array_get(list, i);
        json_int_t value = json_is_integer(length) ? json_integer_value(length) : 0;
        if (value < 1 || value > INT64_C(1) << 40)
            refuse(parser, "has a %s with an axis that is not from 1 to 2^40 long", what);
        out[i ? i + missing : 0] = (uint64_t)value;
    }
}

/* `text` is as of NumPy: "<f4". */
static void read_type(struct parser *parser, const char *text)
{
    struct rue_zarr_array *out = parser->out;
    if (text[0] == '>') {
        refuse(parser, "is big-endian (%.20s): save it little-endian", text);
        return;
    }
    bool known = (text[0] == '<' || text[0] == '|') && text[1] && strchr("fiu", text[1]) && text[2] &&
                 strchr("1248", text[2]) && !text[3];
    if (!known) {
        refuse(parser, "has values of the type '%.40s', which is not supported", text);
        return;
    }
    out->kind = text[1];
    out->value_bytes = (unsigned)(text[2] - '0');
}

/* A type of version 3: "float32", "uint8". */
static void read_named_type(struct parser *parser, const char *name)
{
    static const char *const names[][2] = {
        {"float32", "<f4"}, {"float16", "<f2"}, {"uint8", "|u1"},  {"int8", "|i1"},   {"int16", "<i2"},
        {"int32", "<i4"},   {"int64", "<i8"},   {"uint16", "<u2"}, {"uint32", "<u4"}, {"uint64", "<u8"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0) {
            read_type(parser, names[i][1]);
            return;
        }
    refuse(parser, "has values of the type '%.40s', which is not supported", name);
}

static const char fill_fault[] = "has a fill value that does not fit in the type of its values";

static void fill_float(struct parser *parser, double value)
{
    struct rue_zarr_array *out = parser->out;
    bool wide = isfinite(value) && fabs(value) > FLT_MAX;
    float narrow = wide ? 0 : (float)value;
    uint16_t half = isnan(value) ? 0x7E00 : isinf(value) ? 0x7C00 : 0;
    if (signbit(value)) half |= 0x8000;
    out->fill_number = value;
    if (out->value_bytes == 2 && value != 0 && isfinite(value))
        refuse(parser, "has a float16 fill value that is not 0, infinite or NaN, which is not supported");
    if (wide) refuse(parser, "%s", fill_fault);
    if (out->value_bytes == 2) memcpy(out->fill, &half, sizeof half);
    if (out->value_bytes == 4) memcpy(out->fill, &narrow, sizeof narrow);
}

static void read_fill(struct parser *parser, const json_t *value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    struct rue_zarr_array *out = parser->out;
    const char *text = json_string_value(value);
    if (!value || json_is_null(value)) return;
    if (out->kind == 'f' && json_is_number(value)) {
        fill_float(parser, json_number_value(value));
        return;
    }
    for (size_t i = 0; text && out->kind == 'f' && i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0) {
            fill_float(parser, words[i].value);
            return;
        }
    if (out->kind == 'f' || !json_is_number(value)) {
        refuse(parser, "has a fill value that is not a number");
        return;
    }
    /* A JSON integer fits in 64 bits. */
    double number = json_number_value(value), end = ldexp(1, 8 * (int)out->value_bytes - (out->kind == 'i'));
    bool fits = number >= (out->kind == 'i' ? -end : 0) && number == floor(number);
    if (!fits || (number >= end && !(json_is_integer(value) && out->value_bytes == 8))) {
        refuse(parser, "%s", fill_fault);
        return;
    }
    uint64_t whole = json_is_integer(value) ? (uint64_t)json_integer_value(value)
                     : number < 0           ? (uint64_t)(int64_t)number
                                            : (uint64_t)number;
    memcpy(out->fill, &whole, out->value_bytes);
    out->fill_number = number;
}

static void read_separator(struct parser *parser, const json_t *value, char otherwise)
{
    const char *text = json_string_value(value);
    parser->out->separator = otherwise;
    if (!value || json_is_null(value)) return;
    if (text && (strcmp(text, ".") == 0 || strcmp(text, "/") == 0))
        parser->out->separator = text[0];
    else
        refuse(parser, "does not separate the numbers of chunks by . or /");
}

static void set_codec(struct parser *parser, const char *name)
{
    enum rue_zarr_codec found = RUE_ZARR_NONE;
    for (int c = RUE_ZARR_GZIP; c < RUE_ZARR_CODEC_COUNT; c++)
        if (strcmp(name, rue_zarr_codec_names[c]) == 0) found = (enum rue_zarr_codec)c;
    if (strcmp(name, "zlib") == 0) found = RUE_ZARR_GZIP;
    if (found == RUE_ZARR_NONE)
        refuse(parser, "has the codec '%.40s', and gzip, zstd and blosc are supported", name);
    else if (parser->out->codec != RUE_ZARR_NONE || parser->out->checksums)
        refuse(parser, "has several codecs in an order that is not supported");
    parser->out->codec = found;
}

/* ---- version 2 ---- */

static void read_version_2(struct parser *parser, const json_t *object)
{
    struct rue_zarr_array *out = parser->out;
    const json_t *compressor = json_object_get(object, "compressor"),
                 *filters = json_object_get(object, "filters");
    read_lengths(parser, json_object_get(object, "shape"), "shape", out->shape);
    read_lengths(parser, json_object_get(object, "chunks"), "shape of chunks", out->chunk);
    memcpy(out->file, out->chunk, sizeof out->file);
    read_type(parser, read_text(object, "dtype"));
    if (strcmp(read_text(object, "order"), "C") != 0)
        refuse(parser, "is in Fortran order: save it in C order");
    if (json_array_size(filters))
        refuse(parser, "has the filter '%.40s', which is not supported",
               read_text(json_array_get(filters, 0), "id"));
    if (json_is_object(compressor)) set_codec(parser, read_text(compressor, "id"));
    read_separator(parser, json_object_get(object, "dimension_separator"), '.');
    read_fill(parser, json_object_get(object, "fill_value"));
}

/* ---- version 3 ---- */

static const json_t *codec_configuration(const json_t *extension)
{
    return json_object_get(extension, "configuration");
}

/* A codec may be only its name. */
static const char *extension_name(const json_t *extension)
{
    return json_is_string(extension) ? json_string_value(extension) : read_text(extension, "name");
}

static void check_transpose(struct parser *parser, const json_t *codec)
{
    const json_t *order = json_object_get(codec_configuration(codec), "order");
    bool identity = json_is_string(order) && strcmp(json_string_value(order), "C") == 0;
    if (json_is_array(order)) {
        identity = true;
        for (size_t i = 0; i < json_array_size(order); i++)
            identity &= json_integer_value(json_array_get(order, i)) == (json_int_t)i;
    }
    if (!identity) refuse(parser, "is transposed: save it in C order");
}

static void check_endian(struct parser *parser, const json_t *codec)
{
    if (strcmp(read_text(codec_configuration(codec), "endian"), "big") == 0)
        refuse(parser, "is big-endian: save it little-endian");
}

static void read_index_codecs(struct parser *parser, const json_t *codecs)
{
    for (size_t i = 0; i < json_array_size(codecs); i++) {
        const json_t *codec = json_array_get(codecs, i);
        if (strcmp(extension_name(codec), "bytes") == 0)
            check_endian(parser, codec);
        else if (strcmp(extension_name(codec), "crc32c") == 0 && !parser->out->index_checksum)
            parser->out->index_checksum = true;
        else
            refuse(parser, "has the codec '%.40s' in the index of shards, which is not supported",
                   extension_name(codec));
    }
}

static void read_codecs(struct parser *parser, const json_t *codecs);

static void read_shards(struct parser *parser, const json_t *codec)
{
    struct rue_zarr_array *out = parser->out;
    const json_t *configuration = codec_configuration(codec);
    if (out->sharded) {
        refuse(parser, "has shards within shards, which are not supported");
        return;
    }
    out->sharded = true;
    read_lengths(parser, json_object_get(configuration, "chunk_shape"), "shape of chunks", out->chunk);
    for (int axis = 0; axis < RUE_ZARR_AXES && !parser->why[0]; axis++)
        if (out->file[axis] % out->chunk[axis])
            refuse(parser, "has shards whose shape is not a multiple of their chunks'");
    out->index_first = strcmp(read_text(configuration, "index_location"), "start") == 0;
    read_index_codecs(parser, json_object_get(configuration, "index_codecs"));
    read_codecs(parser, json_object_get(configuration, "codecs"));
}

static void read_codecs(struct parser *parser, const json_t *codecs)
{
    bool serialized = false;
    for (size_t i = 0; i < json_array_size(codecs) && !parser->why[0]; i++) {
        const json_t *codec = json_array_get(codecs, i);
        const char *name = extension_name(codec);
        bool shards = strcmp(name, "sharding_indexed") == 0;
        if (strcmp(name, "transpose") == 0) {
            check_transpose(parser, codec);
        } else if (shards || strcmp(name, "bytes") == 0) {
            if (serialized) refuse(parser, "has several codecs that make bytes");
            serialized = true;
            if (shards && i + 1 < json_array_size(codecs))
                refuse(parser, "has codecs after its shards, which are not supported");
            shards ? read_shards(parser, codec) : check_endian(parser, codec);
        } else if (strcmp(name, "crc32c") == 0) {
            parser->out->checksums++;
        } else {
            set_codec(parser, name);
        }
    }
    if (!serialized) refuse(parser, "has no codec that makes bytes");
}

static void read_version_3(struct parser *parser, const json_t *object)
{
    struct rue_zarr_array *out = parser->out;
    const json_t *grid = json_object_get(object, "chunk_grid"),
                 *keys = json_object_get(object, "chunk_key_encoding");
    if (strcmp(extension_name(grid), "regular") != 0)
        refuse(parser, "has chunks that are not a regular grid");
    if (json_array_size(json_object_get(object, "storage_transformers")))
        refuse(parser, "has storage transformers, which are not supported");
    read_lengths(parser, json_object_get(object, "shape"), "shape", out->shape);
    read_lengths(parser, json_object_get(codec_configuration(grid), "chunk_shape"), "shape of chunks",
                 out->file);
    memcpy(out->chunk, out->file, sizeof out->chunk);
    read_named_type(parser, read_text(object, "data_type"));
    out->prefix = strcmp(extension_name(keys), "default") == 0;
    if (!out->prefix && strcmp(extension_name(keys), "v2") != 0)
        refuse(parser, "names its chunks as '%.40s', which is not supported", extension_name(keys));
    read_separator(parser, json_object_get(codec_configuration(keys), "separator"), out->prefix ? '/' : '.');
    if (!parser->why[0]) read_codecs(parser, json_object_get(object, "codecs"));
    read_fill(parser, json_object_get(object, "fill_value"));
}

/* ---- both ---- */

static void check_sizes(struct parser *parser)
{
    struct rue_zarr_array *out = parser->out;
    double bytes = out->value_bytes; /* never wraps, and is exact up to the limit */
    for (int axis = 0; axis < RUE_ZARR_AXES; axis++) bytes *= (double)out->chunk[axis];
    if (bytes > CHUNK_BYTES_MAX)
        refuse(parser, "has chunks of more than 2 GiB: make them smaller");
    else
        out->chunk_bytes = (uint64_t)bytes;
}

rue_status rue_zarr_parse(const char *text, size_t bytes, struct rue_zarr_array *out, rue_error *error)
{
    *out = (struct rue_zarr_array){0};
    struct parser parser = {.out = out};
    json_error_t fault;
    json_t *object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &fault);
    json_int_t version = json_integer_value(json_object_get(object, "zarr_format"));
    if (!object && json_error_code(&fault) == json_error_duplicate_key)
        refuse(&parser, "has a key of its metadata twice, in line %d", fault.line);
    else if (!object)
        refuse(&parser, "is not valid JSON in line %d", fault.line);
    else if (version == 2)
        read_version_2(&parser, object);
    else if (version == 3 && strcmp(read_text(object, "node_type"), "group") == 0)
        out->rank = 0;
    else if (version == 3)
        read_version_3(&parser, object);
    else
        refuse(&parser, "does not have the version 2 or 3 of the Zarr format");
    json_decref(object);
    if (!parser.why[0] && out->rank) check_sizes(&parser);
    return parser.why[0] ? rue_fail(error, RUE_DATA, "%s", parser.why) : RUE_OK;
}

bool rue_zarr_dtype(const struct rue_zarr_array *array, enum rue_dtype *out)
{
    bool floating = array->kind == 'f' && array->value_bytes <= 4;
    *out = !floating ? RUE_UINT8 : array->value_bytes == 2 ? RUE_FLOAT16 : RUE_FLOAT32;
    return floating || (array->kind == 'u' && array->value_bytes == 1);
}

void rue_zarr_file_name(const struct rue_zarr_array *array, const uint64_t at[RUE_ZARR_AXES], char *out,
                        size_t bytes)
{
    int missing = RUE_ZARR_AXES - array->rank;
    size_t used = (size_t)snprintf(out, bytes, "%s", array->prefix ? "c" : "");
    for (int axis = 0; axis < RUE_ZARR_AXES && used < bytes; axis++) {
        if (axis > 0 && axis <= missing) continue;
        char separator[2] = {used ? array->separator : 0};
        used += (size_t)snprintf(out + used, bytes - used, "%s%" PRIu64, separator, at[axis]);
    }
}
