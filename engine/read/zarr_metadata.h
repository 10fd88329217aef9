/* The metadata of a Zarr array: .zarray of version 2, zarr.json of version 3. Supported: C order, little
 * endian, regular chunks, the codecs gzip, zlib, zstd, blosc and crc32c, and shards (sharding_indexed). */
#ifndef RUE_ZARR_METADATA_H
#define RUE_ZARR_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "variant.h"

/* An array has the axis of the items, and up to three more. Missing axes follow the first one, with length 1.
 */
enum { RUE_ZARR_AXES = 4, RUE_ZARR_FILES_MAX = 1 << 22 };

enum rue_zarr_codec { RUE_ZARR_NONE, RUE_ZARR_GZIP, RUE_ZARR_ZSTD, RUE_ZARR_BLOSC, RUE_ZARR_CODEC_COUNT };
extern const char *const rue_zarr_codec_names[RUE_ZARR_CODEC_COUNT + 1]; /* "none", ..., NULL */

struct rue_zarr_array {
    char kind;            /* of the values: 'f', 'i' or 'u' */
    unsigned value_bytes; /* of one value */
    int rank;
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
};

/* Parses metadata [bytes] of an array; those of a group have the rank 0. RUE_DATA: not valid or not
 * supported; the message does not name the file: "has the codec lz4, ...". RUE_MEMORY. */
rue_status rue_zarr_parse(const char *text, size_t bytes, struct rue_zarr_array *out,
                          rue_error *error) RUE_MUST_CHECK;

/* Whether the values can be those of batches, and their dtype. */
bool rue_zarr_dtype(const struct rue_zarr_array *array, enum rue_dtype *out);

/* The name of the file at these numbers along the axes, without the name of the array: "0.0.0.0". */
void rue_zarr_file_name(const struct rue_zarr_array *array, const uint64_t at[RUE_ZARR_AXES], char *out,
                        size_t bytes);

/* Decodes a chunk from `from` [bytes] to `into` [chunk_bytes]. NULL, or what is wrong: "is truncated". */
const char *rue_zarr_decode(const struct rue_zarr_array *array, const void *from, size_t bytes, void *into);

#endif
