#include "codec.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { GZIP_WINDOW = 15 + 16 /* with the header and checksum of gzip, no other */ };

const char *const rue_compression_names[RUE_COMPRESSION_COUNT + 1] = {"none", "gzip", "zstd", "lz4", NULL};

static void move_on(struct rue_pieces *pieces, size_t in, size_t out)
{
    pieces->in += in;
    pieces->in_bytes -= in;
    pieces->out += out;
    pieces->out_bytes -= out;
}

static const char *step_none(void *state, struct rue_pieces *pieces, bool *inside)
{
    size_t bytes = pieces->in_bytes < pieces->out_bytes ? pieces->in_bytes : pieces->out_bytes;
    (void)state, (void)inside;
    memcpy(pieces->out, pieces->in, bytes);
    move_on(pieces, bytes, bytes);
    return NULL;
}

struct gzip {
    z_stream z;
    bool again; /* behind a member */
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
    inflateEnd(&((struct gzip *)state)->z);
    free(state);
}

static const char *step_gzip(void *state, struct rue_pieces *pieces, bool *inside)
{
    struct gzip *gzip = state;
    if (!*inside) {
        /* Zeros behind a member are padding, as gzip(1) has it. */
        while (gzip->again && pieces->in_bytes && !*pieces->in) move_on(pieces, 1, 0);
        if (!pieces->in_bytes) return NULL;
        inflateReset(&gzip->z);
    }
    gzip->z.next_in = (unsigned char *)pieces->in;
    gzip->z.avail_in = (unsigned)pieces->in_bytes;
    gzip->z.next_out = pieces->out;
    gzip->z.avail_out = (unsigned)pieces->out_bytes;
    int answer = inflate(&gzip->z, Z_NO_FLUSH);
    move_on(pieces, pieces->in_bytes - gzip->z.avail_in, pieces->out_bytes - gzip->z.avail_out);
    *inside = answer != Z_STREAM_END;
    gzip->again |= !*inside;
    if (answer == Z_OK || answer == Z_STREAM_END || answer == Z_BUF_ERROR) return NULL;
    return gzip->z.msg ? gzip->z.msg : "the gzip data are damaged";
}

static void *open_zstd(void)
{
    return ZSTD_createDStream();
}

static void close_zstd(void *state)
{
    ZSTD_freeDStream(state);
}

static const char *step_zstd(void *state, struct rue_pieces *pieces, bool *inside)
{
    ZSTD_inBuffer in = {pieces->in, pieces->in_bytes, 0};
    ZSTD_outBuffer out = {pieces->out, pieces->out_bytes, 0};
    size_t answer = ZSTD_decompressStream(state, &out, &in);
    if (ZSTD_isError(answer)) return ZSTD_getErrorName(answer);
    move_on(pieces, in.pos, out.pos);
    *inside = answer != 0;
    return NULL;
}

static void *open_lz4(void)
{
    LZ4F_dctx *context;
    return LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) ? NULL : context;
}

static void close_lz4(void *state)
{
    LZ4F_freeDecompressionContext(state);
}

static const char *step_lz4(void *state, struct rue_pieces *pieces, bool *inside)
{
    size_t in = pieces->in_bytes, out = pieces->out_bytes;
    size_t answer = LZ4F_decompress(state, pieces->out, &out, pieces->in, &in, NULL);
    if (LZ4F_isError(answer)) return LZ4F_getErrorName(answer);
    move_on(pieces, in, out);
    *inside = answer != 0;
    return NULL;
}

const struct rue_codec rue_codecs[RUE_COMPRESSION_COUNT] = {
    [RUE_COMPRESS_NONE] = {.suffix = "", .step = step_none},
    [RUE_COMPRESS_GZIP] = {".gz", "\x1f\x8b", 2, open_gzip, close_gzip, step_gzip},
    [RUE_COMPRESS_ZSTD] = {".zst", "\x28\xb5\x2f\xfd", 4, open_zstd, close_zstd, step_zstd},
    [RUE_COMPRESS_LZ4] = {".lz4", "\x04\x22\x4d\x18", 4, open_lz4, close_lz4, step_lz4},
};
