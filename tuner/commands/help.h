/* What --help and `rue help` print, made from the tables. */
#ifndef RUE_HELP_H
#define RUE_HELP_H

#include "options.h"

/* What `rue` alone prints: three examples. */
void rue_help_show_examples(FILE *out);

/* The program: its commands, and if `whole` its settings and exit codes. Lines of at most `columns`. */
void rue_help_show(bool whole, int columns, FILE *out);

/* A command: its options, one line each or, if `whole`, with explanations. */
void rue_help_show_command(const struct rue_command *command, bool whole, int columns, FILE *out);

#endif
