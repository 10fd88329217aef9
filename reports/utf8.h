/* Names and paths from outside, made fit for a terminal or a JSON document. */
#ifndef RUE_UTF8_H
#define RUE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at `*at`, which moves behind it; 0 at the end, where it stays. A byte that does not begin a
 * well-formed sequence (RFC 3629) gives -1 and is skipped alone. */
int32_t rue_utf8_next(const char **at);

/* Columns that a terminal needs for `text`. A byte that is not UTF-8 counts as one. */
int rue_utf8_width(const char *text);

/* Control characters, and marks that change the writing direction. */
bool rue_utf8_is_unsafe(int32_t point);

/* `text` for a terminal: unsafe code points and bytes that are not UTF-8 become '?', a no-break space becomes
 * a space. Without `unicode` all beyond ASCII becomes '?', except an ellipsis ("..."). Cut at a whole
 * character. */
void rue_utf8_clean(const char *text, bool unicode, char *out, size_t bytes);

/* The same without a limit, in owned memory; NULL without memory. */
char *rue_utf8_cleaned(const char *text, bool unicode, bool keep_no_break);

/* At most `width` columns of `text`; an ellipsis ("…", or "..." without `unicode`) replaces its middle. `out`
 * needs room for `text` and 3 bytes. */
void rue_utf8_shorten(const char *text, int width, bool unicode, char *out, size_t bytes);

/* `text` with U+FFFD for each byte that is not UTF-8, in owned memory; NULL without memory. */
char *rue_utf8_repair(const char *text);

#endif
