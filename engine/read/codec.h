/* The ways in which a stream of bytes can be compressed: what their files are called and begin with, and
 * decompression piece by piece. */
#ifndef RUE_CODEC_H
#define RUE_CODEC_H

#include <stdbool.h>
#include <stddef.h>

enum rue_compression {
    RUE_COMPRESS_NONE,
    RUE_COMPRESS_GZIP,
    RUE_COMPRESS_ZSTD,
    RUE_COMPRESS_LZ4,
    RUE_COMPRESSION_COUNT
};

extern const char *const rue_compression_names[RUE_COMPRESSION_COUNT + 1]; /* "none", "gzip", .., NULL */

/* The pieces at hand; `step` moves them on. */
struct rue_pieces {
    const unsigned char *in;
    size_t in_bytes;
    unsigned char *out;
    size_t out_bytes;
};

struct rue_codec {
    const char *suffix; /* ".gz" */
    const char *magic;
    size_t magic_bytes;
    void *(*open)(void); /* NULL: no memory. (optional: there is no state) */
    void (*close)(void *state);
    /* Takes from `in`, gives to `out`, as far as either goes. `*inside`: whether the data have begun and not
     * come to their end; where it is false, `in` is not empty. NULL, or why the data are damaged. */
    const char *(*step)(void *state, struct rue_pieces *pieces, bool *inside);
};

/* [RUE_COMPRESS_NONE] copies. */
extern const struct rue_codec rue_codecs[RUE_COMPRESSION_COUNT];

#endif
