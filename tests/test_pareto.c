#include <criterion/criterion.h>
#include <math.h>

#include "pareto.h"
#include "random.h"

enum { POINTS = 40, SETS = 300 };

static size_t front_of(const double *costs, const double *bytes, size_t count, size_t *out)
{
    size_t found;
    cr_assert_eq(rue_pareto_front(costs, bytes, count, out, &found, NULL), RUE_OK);
    return found;
}

Test(pareto, of_each_memory_the_fastest)
{
    static const double costs[] = {0.02, 0.01, 0.01, 0.05, 0.00, NAN, 0.03},
                        bytes[] = {4, 6, 6, 4, 9, 1, NAN};
    size_t front[7];
    cr_assert_eq(front_of(costs, bytes, 7, front), 3);
    cr_assert(front[0] == 4 && front[1] == 1 && front[2] == 0, "of equal ones the first");
}

Test(pareto, holds_what_no_other_point_beats)
{
    uint64_t seed = 3;
    for (int s = 0; s < SETS; s++) {
        double costs[POINTS], bytes[POINTS];
        size_t front[POINTS], count = rue_random_below(&seed, POINTS), on_front[POINTS] = {0};
        for (size_t i = 0; i < count; i++) {
            costs[i] = rue_random_below(&seed, 9) ? (double)rue_random_below(&seed, 12) : NAN;
            bytes[i] = rue_random_below(&seed, 9) ? (double)rue_random_below(&seed, 12) : NAN;
        }
        size_t found = front_of(costs, bytes, count, front);
        for (size_t k = 0; k < found; k++) on_front[front[k]] = 1;
        for (size_t i = 0; i < count; i++) {
            bool beaten = isnan(costs[i]) || isnan(bytes[i]);
            for (size_t j = 0; j < count; j++)
                beaten |= costs[j] <= costs[i] && bytes[j] <= bytes[i] &&
                          (costs[j] < costs[i] || bytes[j] < bytes[i] || j < i);
            cr_assert_eq(on_front[i], !beaten, "set %d, point %zu", s, i);
        }
        for (size_t k = 1; k < found; k++) cr_assert_lt(costs[front[k - 1]], costs[front[k]]);
    }
}
