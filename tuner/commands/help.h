/* What --help prints, made from the tables. */
#ifndef RUE_HELP_H
#define RUE_HELP_H

#include "options.h"

/* Of the program: its commands. Lines of at most `columns`. */
void rue_help_show(int columns, FILE *out);

/* Of a command: its options. */
void rue_help_show_command(const struct rue_command *command, int columns, FILE *out);

#endif
