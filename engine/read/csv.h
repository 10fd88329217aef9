/* Comma-separated values as RFC 4180 has them, and as programs write them: quoted fields that hold commas,
 * quotes and line ends, lines ended by LF, CRLF or CR, a byte order mark, blank lines (passed over), blanks
 * around fields and quotes (dropped: what is meant to have some is quoted). The text holds no NUL. */
#ifndef RUE_CSV_H
#define RUE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct rue_csv;

struct rue_csv_record {
    uint64_t line; /* where it begins, from 1 */
    size_t count;
    char *const *fields; /* [count], valid until the next call; what they point to stays until the end */
};

/* Takes records out of `text`, which it takes, also where it fails: of malloc, `bytes` and a NUL behind them.
 * `name` is what messages call it. RUE_DATA with the line where it is no text; RUE_MEMORY. */
rue_status rue_csv_open(const char *name, char *text, size_t bytes, struct rue_csv **out,
                        rue_error *error) RUE_MUST_CHECK;
void rue_csv_close(struct rue_csv *csv);
const char *rue_csv_name(const struct rue_csv *csv);

/* Where the field begins behind its blanks, cut before those at its end. */
char *rue_csv_trim(char *field);

/* The line of `at` in `text`, as records count them. */
uint64_t rue_csv_line(const char *text, const char *at);

/* The next record that is not blank; `*found` is false at the end. RUE_DATA with the line when quotes do not
 * match; RUE_MEMORY. */
rue_status rue_csv_next(struct rue_csv *csv, bool *found, struct rue_csv_record *out,
                        rue_error *error) RUE_MUST_CHECK;

#endif
