/* Breaks sentences into lines. */
#ifndef RUE_WRAP_H
#define RUE_WRAP_H

#include <stdio.h>

/* A space that no line breaks at: "2.0" RUE_NO_BREAK "%". Printed as a plain space. */
#define RUE_NO_BREAK "\xC2\xA0"

/* Writes `text` (UTF-8) in lines of at most `columns` columns, each indented by `indent` spaces, the last one
 * without a newline. Breaks at spaces, and inside words that do not fit on a line. `columns` <= indent: one
 * line. Failures show in ferror(stream). */
void rue_wrap(FILE *stream, const char *text, int columns, int indent);

/* The same after a label. The text begins at column `indent`, or below the label if the label is too long. In
 * a window that is too narrow for two columns it is always below the label, with a smaller indent. */
void rue_wrap_item(FILE *stream, const char *label, const char *text, int columns, int indent);

#endif
