#include "zarr_metadata.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES_MAX = INT32_MAX - 1024 /* the limit of blosc */, WHY_BYTES = 256, STORED_AXES_MAX = 16 };

const char *const rue_zarr_codec_names[RUE_ZARR_CODEC_COUNT + 1] = {"none", "gzip", "zstd", "blosc", NULL};
const char *const rue_zarr_cf_names[RUE_ZARR_CF_COUNT] = {"scale_factor", "add_offset", "_FillValue",
                                                          "missing_value"};

/* The state of parsing: the array and the first fault. */
struct parser {
    struct rue_zarr_array *out;
    size_t axes; /* of the stored array */
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

/* Leaves out axes of length 1 until at most RUE_ZARR_AXES remain. */
static void read_axes(struct parser *parser, const json_t *shape)
{
    struct rue_zarr_array *out = parser->out;
    size_t axes = json_array_size(shape), rank = axes;
    out->coordinate |= json_is_array(shape) && axes == 0;
    for (size_t i = 1; axes <= STORED_AXES_MAX && i < axes && rank > RUE_ZARR_AXES; i++)
        if (json_integer_value(json_array_get(shape, i)) == 1) out->left_out |= 1u << i, rank--;
    if (rank < 1 || rank > RUE_ZARR_AXES)
        refuse(parser, "has a shape of %zu axes, and 2 to 4 axes that are longer than 1 are supported", axes);
    parser->axes = axes;
    out->rank = parser->why[0] ? 0 : (int)rank;
}

/* Reads one length for each axis that is not left out. The missing axes get the length 1. */
static void read_lengths(struct parser *parser, const json_t *list, const char *what,
                         uint64_t out[RUE_ZARR_AXES])
{
    size_t axis = 0, missing = RUE_ZARR_AXES - (size_t)parser->out->rank;
    if (json_array_size(list) != parser->axes)
        refuse(parser, "has a shape of %zu axes, but a %s of %zu axes", parser->axes, what,
               json_array_size(list));
    for (size_t i = 0; i < RUE_ZARR_AXES; i++) out[i] = 1;
    for (size_t i = 0; i < parser->axes && !parser->why[0]; i++) {
        const json_t *length = json_array_get(list, i);
        json_int_t value = json_is_integer(length) ? json_integer_value(length) : 0;
        bool left_out = parser->out->left_out >> i & 1;
        if (value < 1 || value > INT64_C(1) << 40)
            refuse(parser, "has a %s with an axis that is not from 1 to 2^40 long", what);
        else if (left_out && value != 1)
            refuse(parser, "has more than 4 axes, and a %s that is longer than an axis of length 1", what);
        if (left_out) continue;
        out[axis] = (uint64_t)value;
        axis += axis ? 1 : 1 + missing;
    }
}

/* `text` is as of NumPy: "<f4". */
static void read_type(struct parser *parser, const char *text)
{
    struct rue_zarr_array *out = parser->out;
    static const char *const kinds[] = {"f248", "i1248", "u1248", "b1"};
    bool known = false;
    for (size_t i = 0; text[0] && strchr("<>|", text[0]) && i < sizeof kinds / sizeof *kinds; i++)
        known |= text[1] == kinds[i][0] && text[2] && strchr(kinds[i] + 1, text[2]) && !text[3];
    if (!known) {
        refuse(parser, "has values of the type '%.40s', which is not supported: save numbers", text);
        return;
    }
    out->kind = text[1];
    out->value_bytes = (unsigned)(text[2] - '0');
    if (text[0] == '>' && out->value_bytes > 1)
        refuse(parser, "is big-endian (%.20s): save it little-endian", text);
}

/* The types of version 3 and those of NumPy. */
static const char *const type_names[][2] = {{"float32", "<f4"}, {"float16", "<f2"}, {"uint8", "|u1"},
                                            {"int8", "|i1"},    {"int16", "<i2"},   {"int32", "<i4"},
                                            {"int64", "<i8"},   {"uint16", "<u2"},  {"uint32", "<u4"},
                                            {"uint64", "<u8"},  {"float64", "<f8"}, {"bool", "|b1"}};

static void read_named_type(struct parser *parser, const char *name)
{
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (strcmp(type_names[i][0], name) == 0) {
            read_type(parser, type_names[i][1]);
            return;
        }
    refuse(parser, "has values of the type '%.40s', which is not supported: save numbers", name);
}

static const char fill_fault[] = "has a fill value that does not fit in the type of its values";

/* The nearest float16; infinite: `value` does not fit. */
static uint16_t narrow_half(double value)
{
    int exponent;
    double size = fabs(value);
    if (isnan(value)) return 0x7E00;
    frexp(size, &exponent);
    if (size < 0x1p-14) exponent = -13; /* subnormal */
    uint16_t half =
        size >= 65520 ? 0x7C00 : (uint16_t)(nearbyint(ldexp(size, 11 - exponent)) + 1024 * (exponent + 13));
    return signbit(value) ? half | 0x8000 : half;
}

static double widen_half(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double digits = half & 1023, size = exponent == 31 ? (digits > 0 ? NAN : INFINITY)
                                        : exponent     ? ldexp(1024 + digits, exponent - 25)
                                                       : ldexp(digits, -24);
    return half & 0x8000 ? -size : size;
}

static void fill_float(struct parser *parser, double value)
{
    struct rue_zarr_array *out = parser->out;
    bool finite = isfinite(value), wide = finite && fabs(value) > FLT_MAX;
    float narrow = wide ? 0 : (float)value;
    uint16_t half = narrow_half(value);
    out->fill_number = value;
    if ((out->value_bytes == 4 && wide) || (out->value_bytes == 2 && finite && (half & 0x7C00) == 0x7C00))
        refuse(parser, "%s", fill_fault);
    memcpy(out->fill, &value, sizeof value);
    if (out->value_bytes == 2) memcpy(out->fill, &half, sizeof half);
    if (out->value_bytes == 4) memcpy(out->fill, &narrow, sizeof narrow);
}

/* Reads the bits of a float of 16, 32 or 64 bits: "0x7fc00000". False: it is not one. */
static bool read_bits(const char *text, double *out)
{
    size_t digits = strncmp(text, "0x", 2) == 0 ? strlen(text + 2) : 0;
    if (digits == 0 || strspn(text + 2, "0123456789abcdefABCDEF") != digits) return false;
    uint64_t bits = strtoull(text + 2, NULL, 16);
    uint32_t low = (uint32_t)bits;
    float narrow;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(out, &bits, sizeof bits);
    if (digits == 4) *out = widen_half((uint16_t)bits);
    if (digits == 8) *out = narrow;
    return digits == 4 || digits == 8 || digits == 16;
}

/* `text` is what JSON cannot hold, else NULL. */
static void fill_integer(struct parser *parser, double number, const char *text, const json_t *value)
{
    struct rue_zarr_array *out = parser->out;
    bool is_signed = out->kind == 'i',
         digits = text && !text[(text[0] == '-') + strspn(text + (text[0] == '-'), "0123456789")];
    double end = out->kind == 'b' ? 2 : ldexp(1, 8 * (int)out->value_bytes - is_signed);
    bool fits = number >= (is_signed ? -end : 0) && number == floor(number);
    bool exact = digits || json_is_integer(value);
    errno = 0;
    uint64_t whole = !digits     ? (uint64_t)json_integer_value(value)
                     : is_signed ? (uint64_t)strtoll(text, NULL, 10)
                                 : strtoull(text, NULL, 10);
    if (!fits || errno || (number >= end && !(exact && out->value_bytes == 8))) {
        refuse(parser, "%s", fill_fault);
        return;
    }
    if (!exact) whole = number < 0 ? (uint64_t)(int64_t)number : (uint64_t)number;
    memcpy(out->fill, &whole, out->value_bytes);
    out->fill_number = number;
}

static void read_fill(struct parser *parser, const json_t *value)
{
    const char *text = json_string_value(value);
    double number = json_is_true(value) ? 1 : json_number_value(value);
    bool floating = parser->out->kind == 'f', known = json_is_number(value) || json_is_boolean(value);
    if (!value || json_is_null(value) || parser->why[0]) return;
    if (text) known = floating && read_bits(text, &number);
    if (text && !known) {
        char *end;
        number = strtod(text, &end);
        known = end > text && !*end && !strpbrk(text, "xX");
    }
    if (!known)
        refuse(parser, "has a fill value that is not a number");
    else if (floating)
        fill_float(parser, number);
    else
        fill_integer(parser, number, text, value);
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

/* zarr-python gives some codecs the names of the package numcodecs: "numcodecs.gzip". */
static bool is_codec(const char *name, const char *expected)
{
    static const char prefix[] = "numcodecs.";
    size_t length = strncmp(name, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    return strcmp(name + length, expected) == 0;
}

static void set_codec(struct parser *parser, const char *name)
{
    enum rue_zarr_codec found = is_codec(name, "zlib") ? RUE_ZARR_GZIP : RUE_ZARR_NONE;
    for (int c = RUE_ZARR_GZIP; c < RUE_ZARR_CODEC_COUNT; c++)
        if (is_codec(name, rue_zarr_codec_names[c])) found = (enum rue_zarr_codec)c;
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

static void check_endian(struct parser *parser, const json_t *codec, size_t value_bytes)
{
    if (value_bytes > 1 && strcmp(read_text(codec_configuration(codec), "endian"), "big") == 0)
        refuse(parser, "is big-endian: save it little-endian");
}

/* A CRC-32C after the bytes. */
static bool is_checksum(const json_t *codec)
{
    return is_codec(extension_name(codec), "crc32c") &&
           strcmp(read_text(codec_configuration(codec), "location"), "start") != 0;
}

static void read_index_codecs(struct parser *parser, const json_t *codecs)
{
    for (size_t i = 0; i < json_array_size(codecs); i++) {
        const json_t *codec = json_array_get(codecs, i);
        if (strcmp(extension_name(codec), "bytes") == 0)
            check_endian(parser, codec, sizeof(uint64_t));
        else if (is_checksum(codec) && !parser->out->index_checksum)
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
            shards ? read_shards(parser, codec) : check_endian(parser, codec, parser->out->value_bytes);
        } else if (is_checksum(codec)) {
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
    read_lengths(parser, json_object_get(codec_configuration(grid), "chunk_shape"), "shape of chunks",
                 out->file);
    memcpy(out->chunk, out->file, sizeof out->chunk);
    read_named_type(parser, extension_name(json_object_get(object, "data_type")));
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

/* Notes what the attributes say. Values that are 1 value in a list count as that value. */
static void read_attributes(struct parser *parser, const char *name, const json_t *metadata,
                            const json_t *attributes)
{
    enum { FILL_VALUE = 2 };
    static const double without_effect[RUE_ZARR_CF_COUNT] = {1, 0, [FILL_VALUE] = NAN, NAN};
    struct rue_zarr_array *out = parser->out;
    const json_t *names = json_object_get(metadata, "dimension_names");
    if (!json_is_array(names)) {
        names = json_object_get(attributes, "_ARRAY_DIMENSIONS");
        bool marks = names && out->fill_number != 0 && !isnan(out->fill_number);
        out->cf |= (unsigned)marks << FILL_VALUE; /* where xarray keeps _FillValue in version 2 */
    }
    const char *only = json_array_size(names) == 1 ? json_string_value(json_array_get(names, 0)) : NULL;
    out->coordinate |= parser->axes == 1 && only && strcmp(only, name) == 0;
    for (size_t i = 0; i < RUE_ZARR_CF_COUNT; i++) {
        const json_t *value = json_object_get(attributes, rue_zarr_cf_names[i]);
        if (json_is_array(value)) value = json_array_get(value, 0);
        const char *text = json_string_value(value);
        bool nan = text && (strcmp(text, "NaN") == 0 || strcmp(text, "AAAAAAAA+H8=") == 0 /* base64 */);
        bool number = json_is_number(value) && json_number_value(value) != without_effect[i];
        if (number || (text && !nan)) out->cf |= 1u << i;
    }
}

rue_status rue_zarr_parse(const char *name, const json_t *metadata, const json_t *attributes,
                          struct rue_zarr_array *out, rue_error *error)
{
    *out = (struct rue_zarr_array){0};
    struct parser parser = {.out = out};
    json_int_t version = json_integer_value(json_object_get(metadata, "zarr_format"));
    const json_t *shape = json_object_get(metadata, "shape");
    if (version != 2 && version != 3) refuse(&parser, "does not have the version 2 or 3 of the Zarr format");
    read_axes(&parser, shape);
    read_lengths(&parser, shape, "shape", out->shape);
    version == 2 ? read_version_2(&parser, metadata) : read_version_3(&parser, metadata);
    read_attributes(&parser, name, metadata, attributes);
    if (!parser.why[0]) check_sizes(&parser);
    return parser.why[0] ? rue_fail(error, RUE_DATA, "%s", parser.why) : RUE_OK;
}

const char *rue_zarr_unknown_field(json_t *metadata)
{
    static const char *const known[] = {"zarr_format",        "node_type",
                                        "attributes",         "shape",
                                        "data_type",          "chunk_grid",
                                        "chunk_key_encoding", "codecs",
                                        "fill_value",         "storage_transformers",
                                        "dimension_names",    "consolidated_metadata"};
    const char *name;
    json_t *value;
    json_object_foreach(metadata, name, value)
    {
        bool ignored = json_is_false(json_object_get(value, "must_understand"));
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) ignored |= strcmp(name, known[i]) == 0;
        if (!ignored) return name;
    }
    return NULL;
}

const char *rue_zarr_type_name(const struct rue_zarr_array *array)
{
    size_t i = 0;
    while (type_names[i][1][1] != array->kind || type_names[i][1][2] != (char)('0' + array->value_bytes)) i++;
    return type_names[i][0];
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
    unsigned left_out = array->left_out;
    int axis = 0, missing = RUE_ZARR_AXES - array->rank;
    size_t used = (size_t)snprintf(out, bytes, "%s", array->prefix ? "c" : "");
    for (; (axis < RUE_ZARR_AXES || left_out) && used < bytes; left_out >>= 1) {
        char separator[2] = {used ? array->separator : 0};
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%" PRIu64, separator, left_out & 1 ? 0 : at[axis]);
        if (!(left_out & 1)) axis += axis ? 1 : 1 + missing;
    }
}
