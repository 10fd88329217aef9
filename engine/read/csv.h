/* Parses comma-separated values: RFC 4180 and what programs write. Quoted fields may contain commas, quotes
 * and line ends. Lines end with LF, CRLF or CR. A byte order mark and blank lines are skipped. Blanks around
 * fields and quotes are removed, except inside quotes. */
#ifndef RUE_CSV_H
#define RUE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct rue_csv;

struct rue_csv_record {
    uint64_t line; /* line on which the record begins, from 1 */
    size_t count;
    char *const *fields; /* [count], valid until the next call; the texts stay valid until rue_csv_close */
};

/* Parses `text`: `bytes`, then a NUL, from malloc. Takes ownership of it, also on failure. `name` is for
 * messages. RUE_DATA: it is not a text file; the message names the line. RUE_MEMORY. */
rue_status rue_csv_open(const char *name, char *text, size_t bytes, struct rue_csv **out,
                        rue_error *error) RUE_MUST_CHECK;
void rue_csv_close(struct rue_csv *csv);
const char *rue_csv_name(const struct rue_csv *csv);

/* Returns the field without the blanks around it; changes it in place. */
char *rue_csv_trim(char *field);

/* What a text is, apart from blanks around it. */
enum rue_csv_kind {
    RUE_CSV_WORD,
    RUE_CSV_WHOLE, /* a decimal number with a whole value that int32_t holds: 7, 007, +7, 7.0, 7e0 */
    RUE_CSV_NUMBER /* numbers of another kind: 7.5, nan, 0x7, 3000000000; several numbers; 7,000 */
};

/* Sets `*value` if the result is RUE_CSV_WHOLE. */
enum rue_csv_kind rue_csv_kind(const char *text, int32_t *value);

/* The line number of `at` in `text`, from 1. */
uint64_t rue_csv_line(const char *text, const char *at);

/* Parses the next record that is not blank; `*found` is false at the end. RUE_DATA: quotes do not match; the
 * message names the line. RUE_MEMORY. */
rue_status rue_csv_next(struct rue_csv *csv, bool *found, struct rue_csv_record *out,
                        rue_error *error) RUE_MUST_CHECK;

#endif
