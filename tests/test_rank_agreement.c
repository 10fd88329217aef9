#include "rank_agreement.h"

#include <criterion/criterion.h>
#include <math.h>

Test(rank_agreement, the_same_order_is_one_and_the_reverse_minus_one)
{
    const double a[] = {3, 1, 2, 10}, same[] = {30, 10, 11, 99}, reverse[] = {3, 5, 4, 1};
    cr_assert_eq(rue_rank_agreement(a, same, 4), 1);
    cr_assert_eq(rue_rank_agreement(a, reverse, 4), -1);
}

Test(rank_agreement, one_swap_costs_two_pairs_of_all)
{
    const double a[] = {1, 2, 3, 4}, b[] = {1, 3, 2, 4};
    cr_assert_float_eq(rue_rank_agreement(a, b, 4), (5.0 - 1.0) / 6, 1e-15);
}

/* scipy.stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]). */
Test(rank_agreement, ties_are_taken_as_tau_b_does)
{
    const double a[] = {12, 2, 1, 12, 2}, b[] = {1, 4, 7, 1, 0};
    cr_assert_float_eq(rue_rank_agreement(a, b, 5), -0.47140452079103173, 1e-12);
}

Test(rank_agreement, what_tells_no_order_is_no_number)
{
    const double a[] = {1, 2}, flat[] = {5, 5};
    cr_assert(isnan(rue_rank_agreement(a, flat, 2)));
    cr_assert(isnan(rue_rank_agreement(a, a, 1)));
    cr_assert(isnan(rue_rank_agreement(a, a, 0)));
}
