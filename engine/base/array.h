/* Growing arrays. */
#ifndef RUE_ARRAY_H
#define RUE_ARRAY_H

#include <stddef.h>

#include "error.h"

/* Makes room for `needed` elements of `size` bytes, at least doubling the capacity. `array` is the address of
 * the pointer to the first element, which is NULL or from realloc. `*capacity` is the number of elements that
 * fit. RUE_MEMORY: nothing was changed; the message has `purpose`, such as "a list of files". */
rue_status rue_array_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *purpose,
                          rue_error *error) RUE_MUST_CHECK;

#endif
