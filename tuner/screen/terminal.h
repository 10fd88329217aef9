/* The abilities of the terminal behind a stream. */
#ifndef RUE_TERMINAL_H
#define RUE_TERMINAL_H

#include <stdio.h>

#include "report.h"
#include "section.h"

/* Default widths of tables and plans, and of texts. */
enum { RUE_TABLE_COLUMNS = 100, RUE_TEXT_COLUMNS = 80 };

/* The real columns now, without COLUMNS in the environment; 0: not a terminal, or unknown. */
int rue_terminal_columns(FILE *stream);

/* Columns: COLUMNS in the environment, else the terminal's, else `fallback`. Colour needs a terminal that is
 * not dumb and an unset NO_COLOR; its depth is that of COLORTERM or TERM. Unicode needs a UTF-8 locale; call
 * setlocale() before. */
struct rue_report_style rue_terminal_style(FILE *stream, int fallback);

/* Writes a page to standard output in that style, and closes it. */
rue_status rue_terminal_show(struct rue_page *page, int fallback, rue_error *error) RUE_MUST_CHECK;

/* Writes a text without control characters, wrapped to the terminal. */
void rue_terminal_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a line on the stream can be redrawn: a terminal that is not dumb. */
bool rue_terminal_redraws(FILE *stream);

#endif
