/* Reads text as UTF-8, which may contain other bytes, and makes names and paths from other programs safe for
 * terminals and JSON documents. */
#ifndef RUE_UTF8_H
#define RUE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the code point at `*at` and moves `*at` behind it; 0 at the end. -1: a byte that does not begin a
 * well-formed sequence (RFC 3629); only this byte is skipped. */
int32_t rue_utf8_next(const char **at);

bool rue_utf8_is_valid(const char *text);

/* Columns that a terminal needs for `text`. A byte that is not UTF-8 counts as one. */
int rue_utf8_width(const char *text);

/* Control characters, and marks that change the writing direction. */
bool rue_utf8_is_unsafe(int32_t point);

/* Writes `text` for a terminal: unsafe code points and bytes that are not UTF-8 become '?', a no-break space
 * becomes a space. Without `unicode`, all code points beyond ASCII become '?', except an ellipsis ("...").
 * Never cuts a character. */
void rue_utf8_clean(const char *text, bool unicode, char *out, size_t bytes);

/* The same without a limit. The caller owns the result; NULL: out of memory. */
char *rue_utf8_cleaned(const char *text, bool unicode, bool keep_no_break);

/* Writes at most `width` columns of `text`; an ellipsis ("…", or "..." without `unicode`) replaces the
 * middle. `out` needs space for `text` and 3 bytes. */
void rue_utf8_shorten(const char *text, int width, bool unicode, char *out, size_t bytes);

/* `text` with U+FFFD for each byte that is not UTF-8. The caller owns the result; NULL: out of memory. */
char *rue_utf8_repair(const char *text);

#endif
