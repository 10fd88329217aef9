/* Reads text as UTF-8, which may contain other bytes. */
#ifndef RUE_UTF8_POINT_H
#define RUE_UTF8_POINT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the code point at `*at` and moves `*at` behind it; 0 at the end. -1: a byte that does not begin a
 * well-formed sequence (RFC 3629); only this byte is skipped. */
int32_t rue_utf8_next(const char **at);

bool rue_utf8_is_valid(const char *text);

#endif
