/* What the terminal behind a stream can show. */
#ifndef RUE_TERMINAL_H
#define RUE_TERMINAL_H

#include <stdio.h>

#include "report.h"

/* Columns of lines that nothing limits: tables and plans, and texts to be read. */
enum { RUE_TABLE_COLUMNS = 100, RUE_TEXT_COLUMNS = 80 };

/* Its columns now, COLUMNS in the environment aside; 0 when the stream is no terminal or does not tell. */
int rue_terminal_columns(FILE *stream);

/* COLUMNS in the environment, else the terminal's own, else `fallback`. Colour needs a terminal that is not
 * dumb, and no NO_COLOR; what is beyond ASCII a UTF-8 locale (setlocale has been called). */
struct rue_report_style rue_terminal_style(FILE *stream, int fallback);

/* Writes a text, whatever it holds, made fit for the terminal and in lines that fit it. */
void rue_terminal_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a line on the stream can be taken back: a terminal that is not dumb. */
bool rue_terminal_redraws(FILE *stream);

#endif
