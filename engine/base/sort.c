#include "sort.h"

#include <stdlib.h>

static int compare_integers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

void rue_sort_integers(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_integers);
}
