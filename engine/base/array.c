#include "array.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 64 };

rue_status rue_array_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *purpose,
                          rue_error *error)
{
    if (needed <= *capacity) return RUE_OK;
    size_t larger = *capacity ? 2 * *capacity : LEAST, bytes;
    if (larger < needed) larger = needed;
    void *elements;
    memcpy(&elements, array, sizeof elements); /* copied, because a void ** must not alias it */
    void *grown = __builtin_mul_overflow(larger, size, &bytes) ? NULL : realloc(elements, bytes);
    if (!grown) return rue_fail_memory(error, purpose, (unsigned long long)larger * size);
    memcpy(array, &grown, sizeof grown);
    *capacity = larger;
    return RUE_OK;
}
