#include "interval.h"

#include <criterion/criterion.h>
#include <math.h>

#include "random.h"

TestSuite(saving_interval, .timeout = 60);

enum { MODELS = 2, CONFIGS = 6, MACHINES = 300 };

static const char *const names[] = {"ape", "bee"};
static uint64_t seed;

static struct rue_cost_matrix *matrix_open(void)
{
    struct rue_cost_matrix *matrix;
    struct rue_config configs[CONFIGS];
    for (int c = 0; c < CONFIGS; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = c + 1;
    }
    cr_assert_eq(rue_cost_matrix_open(configs, CONFIGS, names, MODELS, &matrix, NULL), RUE_OK);
    return matrix;
}

/* Every cell takes `true_ns`, and repeats of it scatter. */
static struct rue_cost_matrix *make_matrix(double true_ns, int repeats, double noise)
{
    struct rue_cost_matrix *matrix = matrix_open();
    for (size_t i = 0; i < MODELS * CONFIGS; i++)
        for (int r = 0; r < repeats; r++)
            cr_assert_eq(rue_cost_matrix_add(matrix, i / CONFIGS, i % CONFIGS,
                                             true_ns * exp(noise * rue_random_normal(&seed)), false, NULL),
                         RUE_OK);
    return matrix;
}

/* Of the first model, or of both, with the third configuration before and the first after. */
static struct rue_saving_interval find(const struct rue_cost_matrix *before,
                                       const struct rue_cost_matrix *after, size_t models)
{
    static const size_t pairs[MODELS][2] = {{0, 0}, {1, 1}};
    const struct rue_saving_side first = {before, 2, 2}, second = {after, 0, 0.5};
    return rue_saving_interval_find(&first, &second, pairs, models, 0.95);
}

/* 300 machines: a share of 0.95 of them has a standard error of 0.013. */
Test(saving_interval, covers_the_true_saving)
{
    static const struct {
        int repeats;
        double noise;
        size_t models;
    } cases[] = {{2, 0.02, 1}, {3, 0.05, 1}, {5, 0.02, 2}};
    seed = 11;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int held = 0;
        double width = 0;
        for (int n = 0; n < MACHINES; n++) {
            struct rue_cost_matrix *before = make_matrix(1000, cases[i].repeats, cases[i].noise),
                                   *after = make_matrix(3000, cases[i].repeats, cases[i].noise);
            struct rue_saving_interval interval = find(before, after, cases[i].models);
            cr_assert_eq(interval.confidence, 0.95);
            held += interval.low_ns <= 500 && 500 <= interval.high_ns;
            width += (interval.high_ns - interval.low_ns) / MACHINES;
            rue_cost_matrix_close(before);
            rue_cost_matrix_close(after);
        }
        double sd = cases[i].noise * 2500 / sqrt((double)cases[i].models * cases[i].repeats);
        cr_expect(held >= 0.92 * MACHINES, "case %zu: %d of %d", i, held, MACHINES);
        cr_expect(width < 2 * 1.96 * 1.6 * sd, "case %zu: %.0f wide, a trial's mean scatters by %.0f", i,
                  width, sd);
    }
}

Test(saving_interval, one_repeat_per_cell_gives_no_interval)
{
    seed = 3;
    struct rue_cost_matrix *once = make_matrix(1000, 1, 0.02), *twice = make_matrix(3000, 2, 0.02);
    cr_expect_eq(find(once, once, 1).confidence, 0);
    cr_expect_eq(find(once, twice, 1).confidence, 0);
    cr_expect_eq(find(twice, once, 1).confidence, 0);
    cr_expect_eq(find(twice, twice, 1).confidence, 0.95);
    rue_cost_matrix_close(once);
    rue_cost_matrix_close(twice);
}

/* The standard deviation of 2 t e^{s z} - t' / 2 is 2 t s, where t' is sure. */
Test(saving_interval, estimates_count_like_repeats)
{
    struct rue_cost_matrix *before = matrix_open(), *after = matrix_open();
    cr_assert_eq(rue_cost_matrix_estimate(before, 0, 2, 1000, 0.01, 3, true, NULL), RUE_OK);
    cr_assert_eq(rue_cost_matrix_estimate(after, 0, 0, 3000, NAN, 3, true, NULL), RUE_OK);
    cr_expect_eq(find(before, after, 1).confidence, 0, "of one nothing is known");
    cr_assert_eq(rue_cost_matrix_estimate(after, 0, 0, 3000, 0, 3, true, NULL), RUE_OK);
    struct rue_saving_interval interval = find(before, after, 1);
    cr_expect_eq(interval.confidence, 0.95);
    cr_expect_float_eq(interval.low_ns, 500 - 1.96 * 20, 4, "%.0f", interval.low_ns);
    cr_expect_float_eq(interval.high_ns, 500 + 1.96 * 20, 4, "%.0f", interval.high_ns);
    rue_cost_matrix_close(before);
    rue_cost_matrix_close(after);
}
