#include "sort.h"

#include <criterion/criterion.h>

Test(sort, numbers_of_any_size_ascend)
{
    double reals[] = {3, -1e300, 0.5, 1e-300, 3};
    uint64_t integers[] = {UINT64_MAX, 0, UINT64_C(1) << 63, 7};
    rue_sort_doubles(reals, 5);
    rue_sort_integers(integers, 4);
    for (int i = 1; i < 5; i++) cr_assert(reals[i - 1] <= reals[i], "%d", i);
    for (int i = 1; i < 4; i++) cr_assert(integers[i - 1] <= integers[i], "%d", i);
    cr_assert(reals[0] == -1e300 && integers[3] == UINT64_MAX);
}
