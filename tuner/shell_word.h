/* A text as one word of a shell's command line, for commands that people are told to type. */
#ifndef RUE_SHELL_WORD_H
#define RUE_SHELL_WORD_H

#include <stddef.h>

/* `text` as it is where a shell takes it so, else inside single quotes; cut where `out` is too small, with
 * the quotes closed. `bytes` is at least 8. Returns `out`. */
const char *rue_shell_word(const char *text, char *out, size_t bytes);

#endif
