/* What --help prints, made from the tables. */
#ifndef RUE_HELP_H
#define RUE_HELP_H

#include "options.h"

/* What --help does, wherever it is told. */
#define RUE_HELP_TEXT "show this help"

/* Of the program: its commands. Lines of at most `columns`. */
void rue_help_show(int columns, FILE *out);

/* Of a command: its options. */
void rue_help_show_command(const struct rue_command *command, int columns, FILE *out);

/* The next block of a command's details, which start at `*at`: a paragraph, its lines joined, or an example,
 * a line for a shell that the table indents with two spaces. False at the end. */
bool rue_details_next(const char **at, char *out, size_t bytes, bool *example);

#endif
