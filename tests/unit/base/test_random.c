#include "random.h"

#include <criterion/criterion.h>

Test(random, streams_are_those_of_splitmix64)
{
    /* The first words of SplitMix64 from the state 1234567, as its authors' reference program prints them. */
    static const uint64_t expected[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                        UINT64_C(16408922859458223821)};
    uint64_t state = 1234567;
    for (int i = 0; i < 5; i++) cr_assert_eq(rue_random_next(&state), expected[i], "word %d", i);
}

Test(random, mixing_is_injective_on_a_sample)
{
    enum { COUNT = 1 << 12 };
    static uint64_t words[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) words[i] = rue_mix64(i);
    for (int i = 0; i < COUNT; i++)
        for (int j = i + 1; j < COUNT; j++) cr_assert_neq(words[i], words[j], "%d and %d", i, j);
}

Test(random, numbers_stay_below_their_bound_and_reach_every_value)
{
    uint64_t state = 5;
    for (uint64_t bound = 1; bound <= 20; bound++) {
        int seen[20] = {0};
        for (int i = 0; i < 2000; i++) {
            uint64_t value = rue_random_below(&state, bound);
            cr_assert_lt(value, bound);
            seen[value]++;
        }
        for (uint64_t v = 0; v < bound; v++) cr_assert_gt(seen[v], 0, "%d of %d", (int)v, (int)bound);
    }
    cr_assert_lt(rue_random_below(&state, UINT64_MAX), UINT64_MAX);
}
