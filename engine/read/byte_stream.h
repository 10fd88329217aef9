/* A file read in order, plain or through gzip, zstd or lz4 (told by its first bytes), in constant memory.
 * Several gzip members or frames one after the other are one stream, as their own tools have it. A stream
 * belongs to one thread at a time. */
#ifndef RUE_BYTE_STREAM_H
#define RUE_BYTE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec.h"
#include "source_index.h"

struct rue_byte_stream;

/* RUE_DATA where the first bytes cannot be read; RUE_MEMORY. */
rue_status rue_byte_stream_open(struct rue_files *files, size_t file, struct rue_byte_stream **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_byte_stream_close(struct rue_byte_stream *stream);

enum rue_compression rue_byte_stream_compression(const struct rue_byte_stream *stream);

/* Reads `bytes`; fewer only at the end: `*got`. RUE_DATA names file and byte where the compressed data are
 * damaged, end too soon, or are a bomb: more than 16,000 times as large as what they come from. */
rue_status rue_byte_stream_read(struct rue_byte_stream *stream, void *into, uint64_t bytes, uint64_t *got,
                                rue_error *error) RUE_MUST_CHECK;

/* The same, without the bytes: of a plain file none is read. */
rue_status rue_byte_stream_skip(struct rue_byte_stream *stream, uint64_t bytes, uint64_t *got,
                                rue_error *error) RUE_MUST_CHECK;

/* Uncompressed bytes before the next one. */
uint64_t rue_byte_stream_position(const struct rue_byte_stream *stream);

#endif
