/* Fields of text in the tables that rue writes: RFC 4180, and nothing in them that a spreadsheet computes or
 * a terminal obeys. */
#ifndef RUE_CSV_FIELD_H
#define RUE_CSV_FIELD_H

#include <stdbool.h>
#include <stdio.h>

/* A field of text, of PATH_MAX bytes at most, in double quotes where it needs them. Control characters become
 * '?', as on a terminal (utf8.h). Text that begins as a formula does in spreadsheets, with '=', '+', '-' or
 * '@', and is not a number, is written behind a single quote, as OWASP's page on CSV injection advises.
 * Failures show in ferror(stream). */
void rue_csv_put_text(FILE *stream, const char *text);

/* The text of a field as it was before that single quote. */
const char *rue_csv_get_text(const char *field);

/* A plain decimal number; none of strtod's hexadecimal, infinity and words. */
bool rue_csv_get_number(const char *field, double *out);

#endif
