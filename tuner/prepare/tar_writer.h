/* A tar archive written in order: ustar, with a pax header before members whose name or size does not fit.
 * The same members make the same bytes: no times, no users. */
#ifndef RUE_TAR_WRITER_H
#define RUE_TAR_WRITER_H

#include "byte_writer.h"

/* Adds a file that holds `head` and `data` behind it. `name` is a safe path. The status is that of the
 * writer. */
rue_status rue_tar_put(struct rue_byte_writer *writer, const char *name, const void *head,
                       uint64_t head_bytes, const void *data, uint64_t bytes,
                       rue_error *error) RUE_MUST_CHECK;

/* The two blocks of zeros that end an archive. */
rue_status rue_tar_end(struct rue_byte_writer *writer, rue_error *error) RUE_MUST_CHECK;

#endif
