/* Sorts numbers in place, ascending; none is NaN. */
#ifndef RUE_SORT_H
#define RUE_SORT_H

#include <stddef.h>
#include <stdint.h>

void rue_sort_doubles(double *values, size_t count);
void rue_sort_integers(uint64_t *values, size_t count);

#endif
