/* Text fields of CSV tables (RFC 4180) that neither spreadsheets nor terminals execute. */
#ifndef RUE_CSV_FIELD_H
#define RUE_CSV_FIELD_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a field of at most PATH_MAX bytes, in double quotes if needed. Control characters become '?', as on
 * a terminal (utf8.h). Text that spreadsheets read as a formula gets a single quote in front (OWASP, "CSV
 * Injection"): it begins with '=', '+', '-' or '@', and is not a number. Failures show in ferror(stream). */
void rue_csv_put_text(FILE *stream, const char *text);

/* The text of a field without that single quote. */
const char *rue_csv_get_text(const char *field);

/* Parses a plain decimal number. False: anything else, such as strtod's hexadecimal numbers, infinity and
 * words. */
bool rue_csv_get_number(const char *field, double *out);

#endif
