/* One text for JSON of one value, however it was written. */
#ifndef RUE_JSON_CANONICAL_H
#define RUE_JSON_CANONICAL_H

#include <stddef.h>

/* JSON of the same value has the same canonical text; `out` is "" where `text` is no object or too long. */
void rue_json_canonical(const char *text, char *out, size_t bytes);

#endif
