#include "sort.h"

#include <criterion/criterion.h>

Test(sort, numbers_of_any_size_ascend)
{
    uint64_t integers[] = {UINT64_MAX, 0, UINT64_C(1) << 63, 7};
    rue_sort_integers(integers, 4);
    for (int i = 1; i < 4; i++) cr_assert(integers[i - 1] <= integers[i], "%d", i);
    cr_assert(integers[3] == UINT64_MAX);
}
