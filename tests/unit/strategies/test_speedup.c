/* The gain of one configuration over another, against sums made by hand. */
#include <criterion/criterion.h>
#include <math.h>

#include "interval.h"

#define CLOSE(got, wanted) cr_assert_float_eq(got, wanted, 1e-6 * fabs(wanted))

enum { MODELS = 2, CONFIGS = 3 };

/* 4 values of 0.04 beforehand. */
static const double prior_squares = 4 * 0.04 * 0.04;

static struct rue_cost_matrix *open_matrix(void)
{
    static const char *const models[MODELS] = {"ape", "bee"};
    struct rue_config configs[CONFIGS] = {0};
    struct rue_cost_matrix *matrix;
    for (int c = 0; c < CONFIGS; c++) configs[c].value[RUE_BATCH_SIZE] = c + 1;
    cr_assert_eq(rue_cost_matrix_open(configs, CONFIGS, models, MODELS, &matrix, NULL), RUE_OK);
    return matrix;
}

static void add(struct rue_cost_matrix *matrix, size_t model, size_t config, double log_time)
{
    cr_assert_eq(rue_cost_matrix_add(matrix, model, config, 1e9 * exp(log_time), false, NULL), RUE_OK);
}

static void estimate_cell(struct rue_cost_matrix *matrix, size_t model, size_t config, double log_time,
                          double sd)
{
    cr_assert_eq(rue_cost_matrix_estimate(matrix, model, config, 1e9 * exp(log_time), sd, 1, false, NULL),
                 RUE_OK);
}

/* Of the first configuration over the second. */
static struct rue_speedup find(struct rue_cost_matrix *matrix, const double *weights)
{
    const struct rue_selection_rules rules = {1, RUE_OBJECTIVE_MEAN, weights};
    struct rue_selection *selection;
    struct rue_speedup gain;
    cr_assert_eq(rue_selection_open(matrix, &rules, &selection, NULL), RUE_OK);
    bool known = rue_speedup_find(matrix, selection, 0, 1, 0.95, &gain);
    cr_assert_eq(known, gain.confidence > 0);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
    return gain;
}

Test(speedup, times_measured_once_have_the_prior_noise)
{
    struct rue_cost_matrix *matrix = open_matrix();
    for (size_t m = 0; m < MODELS; m++) add(matrix, m, 0, 0), add(matrix, m, 1, log(2));
    struct rue_speedup gain = find(matrix, NULL);
    double half = 2.7764451052 * 0.04; /* t of 4 degrees of freedom; 1/4 * (1 + 1 + 1 + 1) = 1 */
    CLOSE(gain.ratio, 2.0);
    CLOSE(gain.low, 2 * exp(-half));
    CLOSE(gain.high, 2 * exp(half));
    cr_assert(rue_speedup_is_proven(&gain));
}

Test(speedup, repeats_estimate_the_noise)
{
    struct rue_cost_matrix *matrix = open_matrix();
    for (size_t m = 0; m < MODELS; m++) add(matrix, m, 0, 0), add(matrix, m, 1, 0.1);
    add(matrix, 0, 2, 5), add(matrix, 0, 2, 5.02); /* not ranked: no rival */
    struct rue_speedup gain = find(matrix, NULL);
    double half = 2.5705818366 * sqrt((prior_squares + 2 * 0.01 * 0.01) / 5);
    CLOSE(gain.ratio, exp(0.1));
    CLOSE(gain.low, exp(0.1 - half));
}

Test(speedup, the_lower_end_allows_for_the_choice_among_rivals)
{
    struct rue_cost_matrix *matrix = open_matrix();
    for (size_t m = 0; m < MODELS; m++)
        for (size_t c = 0; c < CONFIGS; c++) add(matrix, m, c, 0.3 * (double)c);
    struct rue_speedup gain = find(matrix, NULL);
    CLOSE(gain.low, exp(0.3 - 3.4954059325 * 0.04)); /* t of 4: 0.025 / 2 above */
    CLOSE(gain.high, exp(0.3 + 2.7764451052 * 0.04));
}

Test(speedup, a_model_that_counts_more_has_more_of_the_mean)
{
    const double weights[] = {3, 1};
    struct rue_cost_matrix *matrix = open_matrix();
    for (size_t m = 0; m < MODELS; m++) add(matrix, m, 0, 0), add(matrix, m, 1, m ? 0 : 0.4);
    struct rue_speedup gain = find(matrix, weights);
    CLOSE(gain.ratio, exp(0.3));
    CLOSE(gain.high, exp(0.3 + 2.7764451052 * 0.04 * sqrt(2 * (9.0 / 16 + 1.0 / 16))));
}

Test(speedup, estimates_count_with_their_standard_deviation)
{
    struct rue_cost_matrix *matrix = open_matrix();
    for (size_t m = 0; m < MODELS; m++)
        for (size_t c = 0; c < CONFIGS; c++) estimate_cell(matrix, m, c, c == 1 ? 0.02 : 0, 0.03);
    struct rue_speedup gain = find(matrix, NULL);
    CLOSE(gain.low, exp(0.02 - 1.9599639845 * 0.03));
    CLOSE(gain.high, exp(0.02 + 1.9599639845 * 0.03));
    cr_assert_not(rue_speedup_is_proven(&gain));
}

Test(speedup, is_unknown_with_an_unmeasured_model)
{
    struct rue_cost_matrix *matrix = open_matrix();
    for (size_t m = 0; m < MODELS; m++) add(matrix, m, 0, 0);
    add(matrix, 0, 1, 1);
    struct rue_speedup gain = find(matrix, NULL);
    cr_assert_eq(gain.confidence, 0);
    cr_assert_not(rue_speedup_is_proven(&gain));
}
