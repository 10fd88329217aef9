/* The canonical text of a JSON value. */
#ifndef RUE_JSON_CANONICAL_H
#define RUE_JSON_CANONICAL_H

#include <stddef.h>

/* Equal values give equal texts. `out` is "" if `text` is not an object or too long. */
void rue_json_canonical(const char *text, char *out, size_t bytes);

#endif
