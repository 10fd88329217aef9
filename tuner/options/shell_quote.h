/* Words written so that a POSIX shell reads them back as they are. */
#ifndef RUE_SHELL_QUOTE_H
#define RUE_SHELL_QUOTE_H

#include <stddef.h>

/* Writes `word` into `out` [bytes], bare where a shell takes it for one plain word, else in single quotes.
 * Returns the length; what does not fit whole is left out: then `out` is "" and the length is at least
 * `bytes`. */
size_t rue_shell_quote(const char *word, char *out, size_t bytes);

/* Writes the words as one line. What does not fit is cut behind a whole word, with " ..." for the rest. */
void rue_shell_quote_line(const char *const *words, size_t count, char *out, size_t bytes);

#endif
