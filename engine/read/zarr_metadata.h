/* The metadata of a Zarr array: .zarray of version 2, zarr.json of version 3. Supported: C order, little
 * endian, regular chunks, the codecs gzip, zlib, zstd, blosc and crc32c (also as `numcodecs.gzip` and so on),
 * and shards (sharding_indexed). */
#ifndef RUE_ZARR_METADATA_H
#define RUE_ZARR_METADATA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "variant.h"

/* An array has the axis of the items, and up to three more. Missing axes follow the first one, with length 1.
 * Where the stored array has more axes, the first ones of length 1 are left out, but not that of the items.
 */
enum { RUE_ZARR_AXES = 4, RUE_ZARR_FILES_MAX = 1 << 22 };

enum rue_zarr_codec { RUE_ZARR_NONE, RUE_ZARR_GZIP, RUE_ZARR_ZSTD, RUE_ZARR_BLOSC, RUE_ZARR_CODEC_COUNT };
extern const char *const rue_zarr_codec_names[RUE_ZARR_CODEC_COUNT + 1]; /* "none", ..., NULL */

/* Attributes of the CF conventions that change the meaning of values, which rue does not apply. */
enum { RUE_ZARR_CF_COUNT = 4, RUE_ZARR_CF_SCALED = 3 /* the bits of the first two */ };
extern const char *const rue_zarr_cf_names[RUE_ZARR_CF_COUNT];

/* The attribute of what items were made with (made_with.h). */
#define RUE_ZARR_MADE_WITH "made_with"

struct rue_zarr_array {
    char kind;            /* of the values: 'f', 'i', 'u' or 'b' */
    unsigned value_bytes; /* of one value */
    int rank;
    unsigned left_out; /* a bit for each axis of the stored array that is left out */
    uint64_t shape[RUE_ZARR_AXES];
    uint64_t chunk[RUE_ZARR_AXES]; /* what is decoded at once */
    uint64_t file[RUE_ZARR_AXES];  /* what one file holds: a chunk, or a shard of several */
    uint64_t chunk_bytes;          /* of a decoded chunk */
    bool sharded;
    bool index_first;    /* the index of a shard is at its begin, not at its end */
    bool index_checksum; /* a CRC-32C follows the index */
    unsigned checksums;  /* number of CRC-32C after the bytes of a chunk */
    enum rue_zarr_codec codec;
    bool prefix;           /* names of chunks begin with "c" */
    char separator;        /* of the numbers in these names */
    unsigned char fill[8]; /* the value where a chunk is missing */
    double fill_number;    /* the same */
    bool coordinate;       /* one number, or one axis that has the name of the array, as xarray writes */
    unsigned cf;           /* a bit for each of rue_zarr_cf_names that the attributes have */
    uint64_t digest;       /* a hash of the metadata */
};

/* Loads JSON [bytes] that a NUL follows, as Python's module json writes it: NaN, Infinity and integers of
 * more than 18 digits become texts; NUL and halves of surrogate pairs in texts become the text of their
 * escape, such as \udce9. NULL: `*fault` says why. */
json_t *rue_zarr_load_json(const char *text, size_t bytes, json_error_t *fault);

/* Parses the metadata of the array `name` (without its groups). `attributes` may be NULL. RUE_DATA: not valid
 * or not supported; the message does not name the array: "has the codec lz4, ...". Then shape, rank and
 * `coordinate` are set if they are valid, and `kind` if values are numbers. */
rue_status rue_zarr_parse(const char *name, const json_t *metadata, const json_t *attributes,
                          struct rue_zarr_array *out, rue_error *error) RUE_MUST_CHECK;

/* The first field of a zarr.json that rue does not know and must not ignore; NULL: there is none. */
const char *rue_zarr_unknown_field(json_t *metadata);

/* The name of the type of the values in version 3. */
const char *rue_zarr_type_name(const struct rue_zarr_array *array);

/* Whether the values can be those of batches, and their dtype. */
bool rue_zarr_dtype(const struct rue_zarr_array *array, enum rue_dtype *out);

/* The name of the file at these numbers along the axes, without the name of the array: "0.0.0.0". */
void rue_zarr_file_name(const struct rue_zarr_array *array, const uint64_t at[RUE_ZARR_AXES], char *out,
                        size_t bytes);

/* Decodes a chunk from `from` [bytes] to `into` [chunk_bytes]. NULL, or what is wrong: "is truncated". */
const char *rue_zarr_decode(const struct rue_zarr_array *array, const void *from, size_t bytes, void *into);

#endif
