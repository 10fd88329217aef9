#include "null_test.h"

#include <criterion/criterion.h>

#include "units.h"

/* How well it does is the machine's business; no figure may be better than the truth. */
static void expect_sound(uint64_t sleep_ns, uint64_t time_ns, size_t batches)
{
    struct rue_null_test test;
    rue_error error = {0};
    cr_assert_eq(rue_null_test_run(sleep_ns, time_ns, &test, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(test.sleep_ns, sleep_ns);
    cr_assert_eq(test.batches, batches);
    cr_assert(test.utilisation_ratio > 0 && test.utilisation_ratio <= 1, "%f", test.utilisation_ratio);
    cr_assert_eq(test.passed, test.utilisation_ratio >= RUE_NULL_TEST_UTILISATION);
    /* One batch in a hundred may be later than that, and those cost no more than all of the rest. */
    double spent_ns = (double)sleep_ns * (double)batches / test.utilisation_ratio;
    cr_assert_leq((double)test.p99_lateness_ns, spent_ns);
}

Test(null_test, short_batches_fill_the_time)
{
    expect_sound(200 * RUE_NS_PER_US, 40 * RUE_NS_PER_MS, 200);
}

Test(null_test, long_ones_come_twice)
{
    expect_sound(30 * RUE_NS_PER_MS, 1, 2);
}
