#include "array.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 64 };

rue_status rue_array_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *what,
                          rue_error *error)
{
    if (needed <= *capacity) return RUE_OK;
    size_t more = *capacity ? 2 * *capacity : LEAST, bytes;
    if (more < needed) more = needed;
    void *first;
    memcpy(&first, array, sizeof first); /* copied, because a void ** must not alias it */
    void *grown = __builtin_mul_overflow(more, size, &bytes) ? NULL : realloc(first, bytes);
    if (!grown) return rue_fail_memory(error, what, (unsigned long long)more * size);
    memcpy(array, &grown, sizeof grown);
    *capacity = more;
    return RUE_OK;
}
