/* Quoting of words for a POSIX shell. */
#ifndef RUE_SHELL_QUOTE_H
#define RUE_SHELL_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes `word` to `out` [bytes], in single quotes if a shell needs them. Returns the length. If it does not
 * fit, `out` is "" and the length is at least `bytes`. */
size_t rue_shell_quote(const char *word, char *out, size_t bytes);

/* Quotes a path for a command that a message shows, and returns `out`: "DIR" if it does not fit. A path like
 * an option gets "./" before it. */
enum { RUE_SHELL_WORD_BYTES = 1024 };
const char *rue_shell_word(const char *path, char out[RUE_SHELL_WORD_BYTES]);

/* Writes the words as one line. A line that does not fit is truncated after a whole word, with " ..." at the
 * end. */
void rue_shell_quote_line(const char *const *words, size_t count, char *out, size_t bytes);

/* Finds the value of "--runner" in a line of rue_shell_quote_line, quoted as there; false without it, or if
 * it does not fit. */
bool rue_shell_find_option(const char *line, const char *option, char *out, size_t bytes);

#endif
