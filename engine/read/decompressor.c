#include "decompressor.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

enum { GZIP_WINDOW = 15 + 16 /* with the header and checksum of gzip, no other */ };

struct gzip {
    z_stream z;
    bool inside, again; /* in a member; behind one */
};

static void *open_gzip(void)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);
    if (!gzip || inflateInit2(&gzip->z, GZIP_WINDOW) == Z_OK) return gzip;
    free(gzip);
    return NULL;
}

static void close_gzip(void *state)
{
    struct gzip *gzip = state;
    inflateEnd(&gzip->z);
    free(gzip);
}

static const char *step_gzip(void *state, struct rue_pieces *pieces, bool *inside)
{
    struct gzip *gzip = state;
    /* Zeros behind a member are padding, as gzip(1) has it. */
    while (gzip->again && !gzip->inside && pieces->in_bytes && !*pieces->in) pieces->in++, pieces->in_bytes--;
    *inside = gzip->inside;
    if (!gzip->inside && !pieces->in_bytes) return NULL;
    if (!gzip->inside) inflateReset(&gzip->z);
    gzip->z.next_in = (unsigned char *)pieces->in;
    gzip->z.avail_in = (unsigned)pieces->in_bytes;
    gzip->z.next_out = pieces->out;
    gzip->z.avail_out = (unsigned)pieces->out_bytes;
    int answer = inflate(&gzip->z, Z_NO_FLUSH);
    pieces->in += pieces->in_bytes - gzip->z.avail_in;
    pieces->in_bytes = gzip->z.avail_in;
    pieces->out += pieces->out_bytes - gzip->z.avail_out;
    pieces->out_bytes = gzip->z.avail_out;
    *inside = gzip->inside = answer != Z_STREAM_END;
    gzip->again |= !gzip->inside;
    if (answer == Z_OK || answer == Z_STREAM_END || answer == Z_BUF_ERROR) return NULL;
    return gzip->z.msg ? gzip->z.msg : "the gzip data are damaged";
}

struct zstd {
    ZSTD_DStream *stream;
    bool inside;
};

static void *open_zstd(void)
{
    struct zstd *zstd = calloc(1, sizeof *zstd);
    if (zstd) zstd->stream = ZSTD_createDStream();
    if (zstd && zstd->stream && !ZSTD_isError(ZSTD_initDStream(zstd->stream))) return zstd;
    if (zstd) ZSTD_freeDStream(zstd->stream);
    free(zstd);
    return NULL;
}

static void close_zstd(void *state)
{
    struct zstd *zstd = state;
    ZSTD_freeDStream(zstd->stream);
    free(zstd);
}

static const char *step_zstd(void *state, struct rue_pieces *pieces, bool *inside)
{
    struct zstd *zstd = state;
    *inside = zstd->inside;
    if (!zstd->inside && !pieces->in_bytes) return NULL;
    ZSTD_inBuffer in = {pieces->in, pieces->in_bytes, 0};
    ZSTD_outBuffer out = {pieces->out, pieces->out_bytes, 0};
    size_t answer = ZSTD_decompressStream(zstd->stream, &out, &in);
    if (ZSTD_isError(answer)) return ZSTD_getErrorName(answer);
    pieces->in += in.pos;
    pieces->in_bytes -= in.pos;
    pieces->out += out.pos;
    pieces->out_bytes -= out.pos;
    *inside = zstd->inside = answer != 0;
    return NULL;
}

struct lz4 {
    LZ4F_dctx *context;
    bool inside;
};

static void *open_lz4(void)
{
    struct lz4 *lz4 = calloc(1, sizeof *lz4);
    if (!lz4 || !LZ4F_isError(LZ4F_createDecompressionContext(&lz4->context, LZ4F_VERSION))) return lz4;
    free(lz4);
    return NULL;
}

static void close_lz4(void *state)
{
    struct lz4 *lz4 = state;
    LZ4F_freeDecompressionContext(lz4->context);
    free(lz4);
}

static const char *step_lz4(void *state, struct rue_pieces *pieces, bool *inside)
{
    struct lz4 *lz4 = state;
    *inside = lz4->inside;
    if (!lz4->inside && !pieces->in_bytes) return NULL;
    size_t in = pieces->in_bytes, out = pieces->out_bytes;
    size_t answer = LZ4F_decompress(lz4->context, pieces->out, &out, pieces->in, &in, NULL);
    if (LZ4F_isError(answer)) return LZ4F_getErrorName(answer);
    pieces->in += in;
    pieces->in_bytes -= in;
    pieces->out += out;
    pieces->out_bytes -= out;
    *inside = lz4->inside = answer != 0;
    return NULL;
}

const struct rue_decompressor rue_decompressors[RUE_COMPRESSION_COUNT] = {
    [RUE_COMPRESS_GZIP] = {2, "\x1f\x8b", open_gzip, close_gzip, step_gzip},
    [RUE_COMPRESS_ZSTD] = {4, "\x28\xb5\x2f\xfd", open_zstd, close_zstd, step_zstd},
    [RUE_COMPRESS_LZ4] = {4, "\x04\x22\x4d\x18", open_lz4, close_lz4, step_lz4},
};
