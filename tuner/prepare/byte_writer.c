#include "byte_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lz4frame.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "advice.h"
#include "file_io.h"
#include "part.h"

enum {
    PIECE_BYTES = 1 << 16, /* of what is compressed at once */
    BUFFER_BYTES = 1 << 18,
    GZIP_WINDOW = 15 + 16,
    GZIP_MEMORY = 8,
    ZSTD_LEVEL = 3,
};

static const LZ4F_preferences_t lz4_how = {.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled};

struct rue_byte_writer {
    enum rue_compression compression;
    z_stream gzip;
    ZSTD_CCtx *zstd;
    LZ4F_cctx *lz4;
    char path[PATH_MAX];
    int fd;
    uint64_t position, written; /* before compression, and behind it */
    unsigned char *buffer;      /* [BUFFER_BYTES] */
    size_t used;
};

static rue_status empty(struct rue_byte_writer *writer, rue_error *error)
{
    rue_status status =
        rue_write_at(writer->fd, writer->path, writer->buffer, writer->used, writer->written, error);
    writer->written += writer->used;
    writer->used = 0;
    return status;
}

static rue_status fail_writer(const struct rue_byte_writer *writer, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_INTERNAL, "cannot compress %s: %s", writer->path, why);
}

/* Each compresses a piece into what is free of the buffer, and empties that when it is full; with `last` it
 * ends what it began. */

static rue_status put_gzip(struct rue_byte_writer *writer, const void *piece, size_t bytes, bool last,
                           rue_error *error)
{
    z_stream *z = &writer->gzip;
    z->next_in = (unsigned char *)piece;
    z->avail_in = (unsigned)bytes;
    for (int answer = Z_OK; z->avail_in || (last && answer != Z_STREAM_END);) {
        z->next_out = writer->buffer + writer->used;
        z->avail_out = (unsigned)(BUFFER_BYTES - writer->used);
        answer = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
        writer->used = BUFFER_BYTES - z->avail_out;
        if (answer == Z_STREAM_ERROR) return fail_writer(writer, "zlib refuses", error);
        rue_status status = z->avail_out ? RUE_OK : empty(writer, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

static rue_status put_zstd(struct rue_byte_writer *writer, const void *piece, size_t bytes, bool last,
                           rue_error *error)
{
    ZSTD_inBuffer in = {piece, bytes, 0};
    for (size_t left = 1; in.pos < bytes || (last && left);) {
        ZSTD_outBuffer out = {writer->buffer, BUFFER_BYTES, writer->used};
        left = ZSTD_compressStream2(writer->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) return fail_writer(writer, ZSTD_getErrorName(left), error);
        writer->used = out.pos;
        rue_status status = writer->used < BUFFER_BYTES ? RUE_OK : empty(writer, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

static rue_status put_lz4(struct rue_byte_writer *writer, const void *piece, size_t bytes, bool last,
                          rue_error *error)
{
    size_t most = LZ4F_compressBound(PIECE_BYTES, &lz4_how);
    rue_status status = writer->used + most > BUFFER_BYTES ? empty(writer, error) : RUE_OK;
    unsigned char *at = writer->buffer + writer->used;
    size_t room = BUFFER_BYTES - writer->used;
    size_t made = last ? LZ4F_compressEnd(writer->lz4, at, room, NULL)
                       : LZ4F_compressUpdate(writer->lz4, at, room, piece, bytes, NULL);
    if (LZ4F_isError(made)) return fail_writer(writer, LZ4F_getErrorName(made), error);
    writer->used += made;
    return status;
}

static rue_status put_plain(struct rue_byte_writer *writer, const void *piece, size_t bytes, bool last,
                            rue_error *error)
{
    (void)last;
    rue_status status = writer->used + bytes > BUFFER_BYTES ? empty(writer, error) : RUE_OK;
    memcpy(writer->buffer + writer->used, piece, bytes);
    writer->used += bytes;
    return status;
}

static rue_status put(struct rue_byte_writer *writer, const void *piece, size_t bytes, bool last,
                      rue_error *error)
{
    static rue_status (*const ways[RUE_COMPRESSION_COUNT])(struct rue_byte_writer *, const void *, size_t,
                                                           bool, rue_error *) = {
        [RUE_COMPRESS_NONE] = put_plain,
        [RUE_COMPRESS_GZIP] = put_gzip,
        [RUE_COMPRESS_ZSTD] = put_zstd,
        [RUE_COMPRESS_LZ4] = put_lz4,
    };
    return ways[writer->compression](writer, piece, bytes, last, error);
}

/* False without memory. */
static bool begin_compression(struct rue_byte_writer *writer)
{
    switch (writer->compression) {
    case RUE_COMPRESS_GZIP:
        return deflateInit2(&writer->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    case RUE_COMPRESS_ZSTD:
        writer->zstd = ZSTD_createCCtx();
        if (!writer->zstd) return false;
        ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
        ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1);
        return true;
    case RUE_COMPRESS_LZ4:
        if (LZ4F_isError(LZ4F_createCompressionContext(&writer->lz4, LZ4F_VERSION))) return false;
        writer->used = LZ4F_compressBegin(writer->lz4, writer->buffer, BUFFER_BYTES, &lz4_how);
        return !LZ4F_isError(writer->used);
    default:
        return true;
    }
}

void rue_byte_writer_close(struct rue_byte_writer *writer)
{
    if (!writer) return;
    if (writer->fd >= 0) close(writer->fd);
    if (writer->gzip.state) deflateEnd(&writer->gzip);
    ZSTD_freeCCtx(writer->zstd);
    LZ4F_freeCompressionContext(writer->lz4);
    free(writer->buffer);
    free(writer);
}

rue_status rue_byte_writer_open(const char *path, enum rue_compression compression,
                                struct rue_byte_writer **out, rue_error *error)
{
    struct rue_byte_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return rue_fail_memory(error, "writing a shard", sizeof *writer);
    snprintf(writer->path, sizeof writer->path, "%s", path);
    writer->compression = compression;
    writer->buffer = malloc(BUFFER_BYTES);
    writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    rue_status status = RUE_OK;
    if (writer->fd < 0)
        status = rue_fail(error, RUE_STORE, "cannot create %s: %s%s", path, strerror(errno),
                          rue_advice_or(errno, "; write to another folder"));
    else if (!writer->buffer || !begin_compression(writer))
        status = rue_fail_memory(error, "writing a shard", BUFFER_BYTES);
    if (status != RUE_OK) return rue_byte_writer_close(writer), status;
    *out = writer;
    return RUE_OK;
}

rue_status rue_byte_writer_write(struct rue_byte_writer *writer, const void *data, uint64_t bytes,
                                 rue_error *error)
{
    const unsigned char *at = data;
    rue_status status = RUE_OK;
    for (uint64_t done = 0; status == RUE_OK && done < bytes;) {
        size_t piece = bytes - done < PIECE_BYTES ? (size_t)(bytes - done) : PIECE_BYTES;
        status = put(writer, at + done, piece, false, error);
        done += piece;
    }
    writer->position += bytes;
    return status;
}

rue_status rue_byte_writer_finish(struct rue_byte_writer *writer, rue_error *error)
{
    rue_status status = put(writer, "", 0, true, error);
    if (status == RUE_OK) status = empty(writer, error);
    return status == RUE_OK ? rue_write_flush(writer->fd, writer->path, error) : status;
}

uint64_t rue_byte_writer_position(const struct rue_byte_writer *writer)
{
    return writer->position;
}
