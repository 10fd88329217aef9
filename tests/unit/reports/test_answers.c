#include <criterion/criterion.h>
#include <math.h>

#include "answers.h"
#include "random.h"

enum { CONFIGS = 40, SETS = 300 };

/* The front of times of one model, NaN where a configuration has none, and of memory. */
static size_t find_front(const double *times, const double *bytes, size_t count, size_t *out)
{
    static const char *const names[] = {"a"};
    static const struct rue_config configs[CONFIGS];
    const struct rue_selection_rules rules = {.top_n = 1, .objective = RUE_OBJECTIVE_MEAN};
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection;
    struct rue_answers *answers;
    cr_assert_eq(rue_cost_matrix_open(configs, count, names, 1, &matrix, NULL), RUE_OK);
    for (size_t c = 0; c < count; c++)
        if (!isnan(times[c])) cr_assert_eq(rue_cost_matrix_add(matrix, 0, c, times[c], false, NULL), RUE_OK);
    cr_assert_eq(rue_selection_open(matrix, &rules, &selection, NULL), RUE_OK);
    cr_assert_eq(rue_answers_open(matrix, selection, 0.05, bytes, &answers, NULL), RUE_OK);
    size_t found = answers->front_count;
    for (size_t k = 0; k < found; k++) out[k] = answers->front[k];
    rue_answers_close(answers);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
    return found;
}

Test(answers, the_front_has_of_each_memory_the_fastest)
{
    static const double times[] = {102, 101, 101, 105, 100, NAN}, bytes[] = {4, 6, 6, 4, 9, 1};
    size_t front[6];
    cr_assert_eq(find_front(times, bytes, 6, front), 3);
    cr_assert(front[0] == 4 && front[1] == 1 && front[2] == 0, "of equal ones the first");
}

Test(answers, the_front_has_configurations_that_no_other_beats)
{
    uint64_t seed = 3;
    for (int s = 0; s < SETS; s++) {
        double times[CONFIGS], bytes[CONFIGS];
        size_t front[CONFIGS], count = rue_random_below(&seed, CONFIGS), on_front[CONFIGS] = {0};
        for (size_t i = 0; i < count; i++) {
            times[i] = rue_random_below(&seed, 9) ? 100 + (double)rue_random_below(&seed, 12) : NAN;
            bytes[i] = (double)rue_random_below(&seed, 12);
        }
        size_t found = find_front(times, bytes, count, front);
        for (size_t k = 0; k < found; k++) on_front[front[k]] = 1;
        for (size_t i = 0; i < count; i++) {
            bool beaten = isnan(times[i]);
            for (size_t j = 0; j < count; j++)
                beaten |= times[j] <= times[i] && bytes[j] <= bytes[i] &&
                          (times[j] < times[i] || bytes[j] < bytes[i] || j < i);
            cr_assert_eq(on_front[i], !beaten, "set %d, configuration %zu", s, i);
        }
        for (size_t k = 1; k < found; k++) cr_assert_lt(times[front[k - 1]], times[front[k]]);
    }
}
