/* Completion scripts for shells, made from the tables of the commands and of the models. */
#ifndef RUE_COMPLETION_H
#define RUE_COMPLETION_H

#include <stdio.h>

/* Failures show in ferror(out). */
void rue_completion_bash(FILE *out);
void rue_completion_zsh(FILE *out);

#endif
