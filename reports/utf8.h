/* UTF-8: names and paths that come from outside, as a terminal or a JSON document can take them. Strings
 * only. */
#ifndef RUE_UTF8_H
#define RUE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at `*at`, which moves behind it; 0 at the end of the text, where it stays. A byte that
 * begins no well-formed sequence (RFC 3629) gives -1 and is passed over alone. */
int32_t rue_utf8_next(const char **at);

/* Columns that a terminal needs for `text`. Bytes that are no UTF-8 count as one. */
int rue_utf8_width(const char *text);

/* Whether a terminal obeys the code point rather than shows it: control characters, and marks that turn the
 * writing direction. */
bool rue_utf8_is_unsafe(int32_t point);

/* `text` for a terminal: control characters, bytes that are no UTF-8 and marks that turn the writing
 * direction become '?'; a no-break space becomes a space. Without `unicode` everything beyond ASCII becomes
 * '?', too, but for an ellipsis. Cut at a whole character where `out` is too small. */
void rue_utf8_clean(const char *text, bool unicode, char *out, size_t bytes);

/* All of it, with or without the no-break spaces; returns owned memory, NULL when there is none. */
char *rue_utf8_cleaned(const char *text, bool unicode, bool keep_no_break);

/* At most `width` columns of `text`, its middle replaced by an ellipsis ("…", or "..." without `unicode`)
 * where it needs more. `out` should hold as much as `text`, plus 3 bytes. */
void rue_utf8_shorten(const char *text, int width, bool unicode, char *out, size_t bytes);

/* `text` with U+FFFD for each byte that is no UTF-8; returns owned memory, NULL when there is none. */
char *rue_utf8_repair(const char *text);

#endif
