/* Sorts numbers in place, in ascending order. NaN is not allowed. */
#ifndef RUE_SORT_H
#define RUE_SORT_H

#include <stddef.h>
#include <stdint.h>

void rue_sort_doubles(double *values, size_t count);
void rue_sort_integers(uint64_t *values, size_t count);

#endif
