#include "byte_stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "files.h"

enum {
    IN_BYTES = 1 << 17,
    PLAIN_BYTES = 1 << 13, /* headers and small members; what is larger goes straight to its place */
    SKIP_BYTES = 1 << 16,
    SKIPPABLE_BYTES = 8, /* the head of a skippable frame */
    SKIPPABLE_MAX = 64,  /* before the first one of data */
    BOMB_RATIO = 16000,  /* black tensors have 6,000 with zstd, nothing but zeros twice as much as this */
};
static const uint64_t bomb_from = UINT64_C(64) << 20;

struct rue_byte_stream {
    struct rue_files *files;
    size_t file;
    uint64_t size; /* of the file */
    enum rue_compression compression;
    void *state;        /* of the codec */
    bool inside, ended; /* what is compressed has not come to its end; nothing is left */
    uint64_t position;
    uint64_t next;                     /* offset in the file of what comes behind the buffer */
    unsigned char *buffer;             /* [capacity] bytes as they lie in the file */
    size_t capacity, begin, end;       /* those of them that are still to come */
    unsigned char skipped[SKIP_BYTES]; /* where passed over bytes go */
};

static enum rue_compression compression_of(const unsigned char *magic, uint64_t bytes)
{
    for (int c = RUE_COMPRESS_NONE + 1; c < RUE_COMPRESSION_COUNT; c++) {
        const struct rue_codec *codec = &rue_codecs[c];
        if (bytes >= codec->magic_bytes && memcmp(magic, codec->magic, codec->magic_bytes) == 0)
            return (enum rue_compression)c;
    }
    return RUE_COMPRESS_NONE;
}

/* zstd and lz4 have the same frames for what is not data, which pzstd puts first: a magic with 16 values, and
 * a length. What comes behind them tells which it is. */
static rue_status detect(struct rue_files *files, size_t file, enum rue_compression *out, rue_error *error)
{
    uint64_t at = 0, size = rue_files_identity(files, file).bytes;
    *out = RUE_COMPRESS_NONE;
    for (int frames = 0; frames <= SKIPPABLE_MAX && at < size; frames++) {
        unsigned char head[SKIPPABLE_BYTES];
        uint32_t length;
        uint64_t bytes = size - at < sizeof head ? size - at : sizeof head;
        rue_status status = rue_files_read(files, file, head, bytes, at, error);
        if (status != RUE_OK) return status;
        *out = compression_of(head, bytes);
        if (bytes < sizeof head || head[0] >> 4 != 5 || memcmp(head + 1, "\x2a\x4d\x18", 3) != 0) break;
        memcpy(&length, head + 4, sizeof length);
        at += sizeof head + length;
    }
    return RUE_OK;
}

rue_status rue_byte_stream_open(struct rue_files *files, size_t file, struct rue_byte_stream **out,
                                rue_error *error)
{
    enum rue_compression compression;
    rue_status status = detect(files, file, &compression, error);
    if (status != RUE_OK) return status;
    struct rue_byte_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return rue_fail_memory(error, "a stream", sizeof *stream);
    stream->files = files;
    stream->file = file;
    stream->size = rue_files_identity(files, file).bytes;
    stream->compression = compression;
    stream->capacity = stream->compression == RUE_COMPRESS_NONE ? PLAIN_BYTES : IN_BYTES;
    stream->buffer = malloc(stream->capacity);
    const struct rue_codec *codec = &rue_codecs[stream->compression];
    if (stream->buffer && codec->open) stream->state = codec->open();
    if (!stream->buffer || (codec->open && !stream->state)) {
        rue_byte_stream_close(stream);
        return rue_fail_memory(error, "a stream", IN_BYTES);
    }
    *out = stream;
    return RUE_OK;
}

void rue_byte_stream_close(struct rue_byte_stream *stream)
{
    if (!stream) return;
    if (stream->state) rue_codecs[stream->compression].close(stream->state);
    free(stream->buffer);
    free(stream);
}

enum rue_compression rue_byte_stream_compression(const struct rue_byte_stream *stream)
{
    return stream->compression;
}

uint64_t rue_byte_stream_position(const struct rue_byte_stream *stream)
{
    return stream->position;
}

/* The buffer is empty: fills it. */
static rue_status fill(struct rue_byte_stream *stream, rue_error *error)
{
    uint64_t left = stream->size - stream->next;
    size_t bytes = left < stream->capacity ? (size_t)left : stream->capacity;
    stream->begin = stream->end = 0;
    if (bytes == 0) return RUE_OK;
    rue_status status =
        rue_files_read(stream->files, stream->file, stream->buffer, bytes, stream->next, error);
    if (status != RUE_OK) return status;
    stream->end = bytes;
    stream->next += bytes;
    return RUE_OK;
}

static rue_status fail(const struct rue_byte_stream *stream, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: its %s data at byte %" PRIu64 " are damaged (%s): make it again",
                    rue_files_path(stream->files, stream->file), rue_compression_names[stream->compression],
                    stream->next - (stream->end - stream->begin), why);
}

/* Of a plain file, what is as large as the buffer goes straight to its place. */
static rue_status read_straight(struct rue_byte_stream *stream, unsigned char *into, uint64_t bytes,
                                uint64_t *got, rue_error *error)
{
    uint64_t left = stream->size - stream->next;
    *got = 0;
    if (stream->compression != RUE_COMPRESS_NONE || stream->begin < stream->end || bytes < stream->capacity)
        return RUE_OK;
    *got = bytes < left ? bytes : left;
    stream->next += *got;
    return rue_files_read(stream->files, stream->file, into, *got, stream->next - *got, error);
}

static rue_status read_piece(struct rue_byte_stream *stream, unsigned char *into, uint64_t bytes,
                             uint64_t *got, rue_error *error)
{
    rue_status status = read_straight(stream, into, bytes, got, error);
    if (status != RUE_OK || *got > 0) return status;
    if (stream->begin == stream->end) status = fill(stream, error);
    if (status != RUE_OK) return status;
    size_t piece = bytes < SKIP_BYTES ? (size_t)bytes : SKIP_BYTES;
    bool ended = stream->begin == stream->end;
    struct rue_pieces pieces = {stream->buffer + stream->begin, stream->end - stream->begin, into, piece};
    const char *why = NULL;
    if (!ended || stream->inside)
        why = rue_codecs[stream->compression].step(stream->state, &pieces, &stream->inside);
    stream->begin = stream->end - pieces.in_bytes;
    if (why) return fail(stream, why, error);
    *got = piece - pieces.out_bytes;
    uint64_t expanded = stream->position + *got;
    stream->ended = *got == 0 && ended;
    if (stream->ended && stream->inside) return fail(stream, "they end too soon", error);
    if (expanded > bomb_from && expanded / BOMB_RATIO > stream->next)
        return fail(stream, "they expand to more than 16,000 times their size", error);
    return RUE_OK;
}

rue_status rue_byte_stream_read(struct rue_byte_stream *stream, void *into, uint64_t bytes, uint64_t *got,
                                rue_error *error)
{
    uint64_t some;
    for (*got = 0; *got < bytes && !stream->ended; *got += some) {
        rue_status status = read_piece(stream, (unsigned char *)into + *got, bytes - *got, &some, error);
        if (status != RUE_OK) return status;
        stream->position += some;
    }
    return RUE_OK;
}

static uint64_t skip_plain(struct rue_byte_stream *stream, uint64_t bytes)
{
    size_t ready = stream->end - stream->begin;
    if (bytes <= ready) return stream->begin += bytes, bytes;
    uint64_t left = stream->size - stream->next;
    uint64_t beyond = bytes - ready < left ? bytes - ready : left;
    stream->begin = stream->end;
    stream->next += beyond;
    return ready + beyond;
}

rue_status rue_byte_stream_skip(struct rue_byte_stream *stream, uint64_t bytes, uint64_t *got,
                                rue_error *error)
{
    *got = 0;
    if (stream->compression == RUE_COMPRESS_NONE) {
        *got = skip_plain(stream, bytes);
        stream->position += *got;
        return RUE_OK;
    }
    while (*got < bytes) {
        uint64_t piece = bytes - *got < SKIP_BYTES ? bytes - *got : SKIP_BYTES, read;
        rue_status status = rue_byte_stream_read(stream, stream->skipped, piece, &read, error);
        if (status != RUE_OK) return status;
        *got += read;
        if (read < piece) break;
    }
    return RUE_OK;
}
