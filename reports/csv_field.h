/* Fields of tables that reports write as RFC 4180 says. */
#ifndef RUE_CSV_FIELD_H
#define RUE_CSV_FIELD_H

#include <stdio.h>

/* A field of text, quoted where it has to be. Failures show in ferror(stream). */
void rue_csv_put_text(FILE *stream, const char *text);

#endif
