/* Comma-separated values as RFC 4180 has them, and as programs write them: quoted fields that hold commas,
 * quotes and line ends, lines ended by LF, CRLF or CR, a byte order mark, blank lines (passed over), spaces
 * around fields (dropped where not quoted). The text is UTF-8 and holds no NUL. */
#ifndef RUE_CSV_H
#define RUE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* The largest file that is read, all of it at once. */
#define RUE_CSV_BYTES_MAX ((size_t)1 << 30)

struct rue_csv;

struct rue_csv_record {
    uint64_t line; /* where it begins, from 1 */
    size_t count;
    char *const *fields; /* [count], valid until the next call; what they point to stays until the end */
};

/* Reads all of the file at `path`, or of the standard input for "-"; pipes are waited for, until a signal
 * asks for an end. RUE_DATA, with what to do, when it cannot be read, is no text in UTF-8, or too large;
 * RUE_MEMORY; the signals' statuses. */
rue_status rue_csv_open(const char *path, struct rue_csv **out, rue_error *error) RUE_MUST_CHECK;
void rue_csv_close(struct rue_csv *csv);

/* What messages call it: the path, or "standard input". */
const char *rue_csv_name(const struct rue_csv *csv);

/* FNV-1a of all bytes. */
uint64_t rue_csv_digest(const struct rue_csv *csv);

/* The next record that is not blank; `*found` is false at the end. RUE_DATA with the line when quotes do not
 * match; RUE_MEMORY. */
rue_status rue_csv_next(struct rue_csv *csv, bool *found, struct rue_csv_record *out,
                        rue_error *error) RUE_MUST_CHECK;

#endif
