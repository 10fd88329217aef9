/* A file written in order, plain or compressed: the counterpart of rue_byte_stream. Not thread-safe. */
#ifndef RUE_BYTE_WRITER_H
#define RUE_BYTE_WRITER_H

#include <stdint.h>

#include "codec.h"
#include "error.h"

struct rue_byte_writer;

/* Creates the file at `path`, or cuts it to nothing. RUE_STORE names it and the reason; RUE_MEMORY. */
rue_status rue_byte_writer_open(const char *path, enum rue_compression compression,
                                struct rue_byte_writer **out, rue_error *error) RUE_MUST_CHECK;
rue_status rue_byte_writer_write(struct rue_byte_writer *writer, const void *data, uint64_t bytes,
                                 rue_error *error) RUE_MUST_CHECK;

/* Completes the file and brings it to the disk; nothing is written after it. */
rue_status rue_byte_writer_finish(struct rue_byte_writer *writer, rue_error *error) RUE_MUST_CHECK;

/* What was not finished stays as it is: not whole. */
void rue_byte_writer_close(struct rue_byte_writer *writer);

/* Uncompressed bytes so far. */
uint64_t rue_byte_writer_position(const struct rue_byte_writer *writer);

#endif
