#include <blosc.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "crc32c.h"
#include "zarr_metadata.h"

enum { GZIP_BEGIN = 0x1F, GZIP_ONLY = 16 /* of inflateInit2 */ };

static const char size_fault[] = "does not have the bytes that its shape needs";
static const char excess_fault[] = "has bytes after its end";

/* A file of gzip may have several members, and zeros after each. */
static const char *decode_gzip(const unsigned char *from, size_t bytes, void *into, size_t expected)
{
    z_stream stream = {
        .next_in = (Bytef *)from, .avail_in = (uInt)bytes, .next_out = into, .avail_out = (uInt)expected};
    bool gzip = bytes && from[0] == GZIP_BEGIN;
    if (inflateInit2(&stream, MAX_WBITS + (gzip ? GZIP_ONLY : 0)) != Z_OK) return "could not be decompressed";
    int code = inflate(&stream, Z_FINISH);
    for (; code == Z_STREAM_END && gzip; code = inflate(&stream, Z_FINISH)) {
        while (stream.avail_in && !*stream.next_in) stream.next_in++, stream.avail_in--;
        if (!stream.avail_in || *stream.next_in != GZIP_BEGIN) break;
        inflateReset(&stream);
    }
    inflateEnd(&stream);
    if (code == Z_DATA_ERROR) return "is damaged";
    if (code == Z_BUF_ERROR && stream.avail_in == 0) return "is truncated";
    if (code == Z_STREAM_END && gzip && stream.avail_in) return excess_fault;
    return code == Z_STREAM_END && stream.avail_out == 0 ? NULL : size_fault;
}

static const char *decode_zstd(const void *from, size_t bytes, void *into, size_t expected)
{
    size_t decoded = ZSTD_decompress(into, expected, from, bytes);
    if (!ZSTD_isError(decoded)) return decoded == expected ? NULL : size_fault;
    ZSTD_ErrorCode code = ZSTD_getErrorCode(decoded);
    if (code == ZSTD_error_dstSize_tooSmall) return size_fault;
    if (code != ZSTD_error_srcSize_wrong) return "is damaged";
    return ZSTD_isError(ZSTD_findFrameCompressedSize(from, bytes)) ? "is truncated" : excess_fault;
}

static const char *decode_blosc(const void *from, size_t bytes, void *into, size_t expected)
{
    size_t decoded = 0;
    if (blosc_cbuffer_validate(from, bytes, &decoded) != 0)
        return "is damaged, is truncated or has bytes after its end";
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
