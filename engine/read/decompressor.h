/* Decompression of a stream, piece by piece: one table of operations for each way. */
#ifndef RUE_DECOMPRESSOR_H
#define RUE_DECOMPRESSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "compression.h"

/* The pieces at hand; `step` moves them on. */
struct rue_pieces {
    const unsigned char *in;
    size_t in_bytes;
    unsigned char *out;
    size_t out_bytes;
};

struct rue_decompressor {
    size_t magic_bytes;
    const char *magic;
    void *(*open)(void); /* NULL: no memory */
    void (*close)(void *state);
    /* Takes from `in`, gives to `out`, as far as either goes. `*inside`: whether more has to come. NULL, or
     * why the data are damaged. */
    const char *(*step)(void *state, struct rue_pieces *pieces, bool *inside);
};

/* [RUE_COMPRESS_NONE] is empty. */
extern const struct rue_decompressor rue_decompressors[RUE_COMPRESSION_COUNT];

#endif
