/* Text in HTML and SVG. */
#ifndef RUE_MARKUP_H
#define RUE_MARKUP_H

#include <stdio.h>

/* Writes `text` escaped for an element or a quoted attribute. Unsafe code points (utf8.h) and bytes that are
 * not UTF-8 become '?'. Failures show in ferror(stream). */
void rue_markup_put(FILE *stream, const char *text);

#endif
