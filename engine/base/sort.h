/* Sorts numbers in place, in ascending order. */
#ifndef RUE_SORT_H
#define RUE_SORT_H

#include <stddef.h>
#include <stdint.h>

void rue_sort_integers(uint64_t *values, size_t count);

#endif
