/* The text of a table, from a file or a pipe. */
#ifndef RUE_CSV_FILE_H
#define RUE_CSV_FILE_H

#include "csv.h"

/* The largest file that is read, all of it at once. */
#define RUE_CSV_FILE_BYTES_MAX ((size_t)1 << 30)

/* Reads all of the file at `path`, or of the standard input for "-"; pipes are waited for, until a signal
 * asks for an end. `*digest` is FNV-1a of all bytes; `*out` keeps the text, so that fields stay until it is
 * closed. RUE_DATA, with what to do, when it cannot be read, is no text in UTF-8, or too large; RUE_MEMORY;
 * the signals' statuses. */
rue_status rue_csv_file_open(const char *path, struct rue_csv **out, uint64_t *digest,
                             rue_error *error) RUE_MUST_CHECK;

#endif
