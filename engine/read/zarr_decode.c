#include <blosc.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "crc32c.h"
#include "zarr_metadata.h"

static const char size_fault[] = "does not have the bytes that its shape needs";

static const char *decode_gzip(const void *from, size_t bytes, void *into, size_t expected)
{
    z_stream stream = {
        .next_in = (Bytef *)from, .avail_in = (uInt)bytes, .next_out = into, .avail_out = (uInt)expected};
    if (inflateInit2(&stream, MAX_WBITS + 32 /* gzip or zlib */) != Z_OK) return "could not be decompressed";
    int code = inflate(&stream, Z_FINISH);
    size_t decoded = stream.total_out;
    inflateEnd(&stream);
    if (code == Z_DATA_ERROR) return "is damaged";
    if (code == Z_BUF_ERROR && stream.avail_in == 0) return "is truncated";
    return code == Z_STREAM_END && decoded == expected ? NULL : size_fault;
}

static const char *decode_zstd(const void *from, size_t bytes, void *into, size_t expected)
{
    size_t decoded = ZSTD_decompress(into, expected, from, bytes);
    if (!ZSTD_isError(decoded)) return decoded == expected ? NULL : size_fault;
    ZSTD_ErrorCode code = ZSTD_getErrorCode(decoded);
    return code == ZSTD_error_dstSize_tooSmall ? size_fault
           : code == ZSTD_error_srcSize_wrong  ? "is truncated"
                                               : "is damaged";
}

static const char *decode_blosc(const void *from, size_t bytes, void *into, size_t expected)
{
    size_t decoded = 0;
    if (blosc_cbuffer_validate(from, bytes, &decoded) != 0) return "is damaged or truncated";
    if (decoded != expected) return size_fault;
    return blosc_decompress_ctx(from, into, expected, 1) == (int)expected ? NULL : "is damaged";
}

const char *rue_zarr_decode(const struct rue_zarr_array *array, const void *from, size_t bytes, void *into)
{
    for (unsigned i = 0; i < array->checksums; i++) {
        uint32_t recorded;
        if (bytes < sizeof recorded) return "is truncated";
        bytes -= sizeof recorded;
        memcpy(&recorded, (const char *)from + bytes, sizeof recorded);
        if (rue_crc32c(0, from, bytes) != recorded) return "is damaged (its CRC-32C is wrong)";
    }
    if (bytes > INT32_MAX) return size_fault;
    switch (array->codec) {
    case RUE_ZARR_GZIP:
        return decode_gzip(from, bytes, into, array->chunk_bytes);
    case RUE_ZARR_ZSTD:
        return decode_zstd(from, bytes, into, array->chunk_bytes);
    case RUE_ZARR_BLOSC:
        return decode_blosc(from, bytes, into, array->chunk_bytes);
    default:
        break;
    }
    if (bytes != array->chunk_bytes) return size_fault;
    memcpy(into, from, bytes);
    return NULL;
}
