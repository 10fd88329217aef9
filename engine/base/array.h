/* Arrays that grow as things are added to them. */
#ifndef RUE_ARRAY_H
#define RUE_ARRAY_H

#include <stddef.h>

#include "error.h"

/* Gives an array room for `needed` elements of `size` bytes, and for at least twice as many as before where
 * it had less. `array` is the address of the pointer to the first one (NULL before there is any), which
 * realloc made; `*capacity` is how many it has room for. RUE_MEMORY names `what` they are, and leaves all as
 * it was. */
rue_status rue_array_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *what,
                          rue_error *error) RUE_MUST_CHECK;

#endif
