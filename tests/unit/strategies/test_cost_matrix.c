#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "cost_matrix.h"

static const char *const models[] = {"a", "b"};

static struct rue_cost_matrix *make_matrix(size_t config_count, size_t model_count)
{
    struct rue_config configs[16];
    struct rue_cost_matrix *matrix;
    for (size_t c = 0; c < config_count; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = (int)c + 1;
    }
    cr_assert_eq(rue_cost_matrix_open(configs, config_count, models, model_count, &matrix, NULL), RUE_OK);
    return matrix;
}

static void add(struct rue_cost_matrix *matrix, double time_ns, bool predicted)
{
    cr_assert_eq(rue_cost_matrix_add(matrix, 0, 0, time_ns, predicted, NULL), RUE_OK);
}

Test(cost_matrix, starts_with_every_cell_missing)
{
    struct rue_cost_matrix *matrix = make_matrix(3, 2);
    cr_assert_eq(matrix->config_count, 3);
    cr_assert_eq(matrix->model_count, 2);
    cr_assert_eq(matrix->configs[2].value[RUE_BATCH_SIZE], 3);
    cr_assert_str_eq(matrix->models[1], "b");
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < 3; c++) {
            const struct rue_cell *cell = rue_cost_matrix_cell(matrix, m, c);
            cr_assert_eq(cell->state, RUE_CELL_MISSING);
            cr_assert_eq(cell->repeats, 0);
            cr_assert(isnan(cell->median_ns));
        }
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, copies_its_arguments)
{
    struct rue_config config = rue_config_default();
    char name[] = "resnet";
    struct rue_cost_matrix *matrix;
    cr_assert_eq(rue_cost_matrix_open(&config, 1, (const char *const[]){name}, 1, &matrix, NULL), RUE_OK);
    name[0] = '!';
    config.value[RUE_BATCH_SIZE] = 99;
    cr_assert_str_eq(matrix->models[0], "resnet");
    cr_assert_eq(matrix->configs[0].value[RUE_BATCH_SIZE], 1);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, may_be_empty)
{
    struct rue_cost_matrix *matrix;
    cr_assert_eq(rue_cost_matrix_open(NULL, 0, NULL, 0, &matrix, NULL), RUE_OK);
    cr_assert_eq(matrix->config_count, 0);
    rue_cost_matrix_close(matrix);
    rue_cost_matrix_close(NULL);
}

Test(cost_matrix, the_median_of_an_odd_number_is_the_middle_one)
{
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    add(matrix, 9, false);
    cr_assert_float_eq(cell->median_ns, 9, 0);
    add(matrix, 1, false);
    add(matrix, 2, false);
    cr_assert_float_eq(cell->median_ns, 2, 0);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, the_median_of_an_even_number_is_between_the_middle_two)
{
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    add(matrix, 9, false);
    add(matrix, 4, false);
    cr_assert_float_eq(cell->median_ns, 6.5, 0);
    add(matrix, 1, false);
    add(matrix, 5, false);
    cr_assert_float_eq(cell->median_ns, 4.5, 0);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, times_stay_in_the_order_added)
{
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    for (int i = 0; i < 100; i++) add(matrix, 1 + (i * 37) % 100, false);
    cr_assert_eq(cell->repeats, 100);
    for (int i = 0; i < 100; i++) cr_assert_float_eq(cell->times_ns[i], 1 + (i * 37) % 100, 0);
    cr_assert_float_eq(cell->median_ns, 50.5, 0, "of 1..100");
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, a_full_trial_replaces_predictions)
{
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    add(matrix, 100, true);
    add(matrix, 200, true);
    cr_assert(cell->predicted);
    cr_assert_eq(cell->repeats, 2);
    cr_assert_float_eq(cell->median_ns, 150, 0);
    add(matrix, 120, false);
    cr_assert_not(cell->predicted);
    cr_assert_eq(cell->repeats, 1);
    cr_assert_float_eq(cell->median_ns, 120, 0);
    add(matrix, 500, true);
    cr_assert_eq(cell->repeats, 1, "a prediction no longer counts");
    cr_assert_float_eq(cell->median_ns, 120, 0);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, an_invalid_time_is_refused_without_a_change)
{
    static const double lies[] = {0, -1, NAN, INFINITY, -INFINITY};
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        rue_error error = {0};
        cr_assert_eq(rue_cost_matrix_add(matrix, 0, 0, lies[i], i % 2, &error), RUE_USAGE);
        cr_assert(strstr(error.message, "must be positive"), "%s", error.message);
        cr_assert_eq(cell->state, RUE_CELL_MISSING);
    }
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, misses_set_the_state_and_the_reason)
{
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_TIMEOUT, "too slow");
    cr_assert_eq(cell->state, RUE_CELL_FAILED);
    cr_assert_str_eq(cell->reason, "too slow");
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_INFEASIBLE, "too large");
    cr_assert_eq(cell->state, RUE_CELL_INFEASIBLE);
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_FAILED, "crashed");
    cr_assert_eq(cell->state, RUE_CELL_INFEASIBLE, "one was infeasible");
    cr_assert_str_eq(cell->reason, "crashed", "the last one's");
    add(matrix, 7, false);
    cr_assert_eq(cell->state, RUE_CELL_OK);
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_FAILED, NULL);
    cr_assert_eq(rue_cost_matrix_cell(matrix, 0, 0)->missed, 4u);
    cr_assert_eq(cell->infeasible, 1u);
    cr_assert_eq(cell->state, RUE_CELL_OK);
    cr_assert_eq(cell->repeats, 1);
    cr_assert_str_eq(cell->reason, "");
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, a_long_reason_is_cut)
{
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    char reason[2 * RUE_REASON_BYTES];
    memset(reason, 'x', sizeof reason);
    reason[sizeof reason - 1] = 0;
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_FAILED, reason);
    cr_assert_eq(strlen(rue_cost_matrix_cell(matrix, 0, 0)->reason), RUE_REASON_BYTES - 1);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, cells_do_not_touch_each_other)
{
    struct rue_cost_matrix *matrix = make_matrix(3, 2);
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < 3; c++)
            cr_assert_eq(rue_cost_matrix_add(matrix, m, c, (double)(10 * m + c + 1), false, NULL), RUE_OK);
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < 3; c++)
            cr_assert_float_eq(rue_cost_matrix_cell(matrix, m, c)->median_ns, (double)(10 * m + c + 1), 0);
    rue_cost_matrix_close(matrix);
}

/* One model, one configuration; first batches may take 100 ns. */
static struct rue_cost_matrix *matrix_limited(void)
{
    struct rue_cost_matrix *matrix = make_matrix(1, 1);
    matrix->first_limit_ns = 100;
    return matrix;
}

static void add_first(struct rue_cost_matrix *matrix, double first_ns)
{
    cr_assert_eq(rue_cost_matrix_add_first_batch(matrix, 0, 0, first_ns, NULL), RUE_OK);
}

Test(cost_matrix, a_first_batch_beyond_the_limit_is_infeasible_and_keeps_its_time)
{
    struct rue_cost_matrix *matrix = matrix_limited();
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    add_first(matrix, 101);
    cr_assert_eq(cell->state, RUE_CELL_MISSING, "it has no time yet");
    add(matrix, 500, false);
    cr_assert(cell->late);
    cr_assert_eq(cell->state, RUE_CELL_INFEASIBLE);
    cr_assert_float_eq(cell->median_ns, 500, 0);
    cr_assert(strstr(cell->reason, "came after 101 ns") && strstr(cell->reason, "limit is 100 ns"), "%s",
              cell->reason);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, a_first_batch_at_the_limit_is_in_time)
{
    struct rue_cost_matrix *matrix = matrix_limited();
    add_first(matrix, 100);
    add(matrix, 500, false);
    cr_assert_eq(rue_cost_matrix_cell(matrix, 0, 0)->state, RUE_CELL_OK);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, the_median_of_first_batches_counts)
{
    struct rue_cost_matrix *matrix = matrix_limited();
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    add(matrix, 500, false);
    add_first(matrix, 90);
    add_first(matrix, 300);
    cr_assert(cell->late, "195 is the median of two");
    add_first(matrix, 95);
    cr_assert_eq(cell->state, RUE_CELL_OK);
    cr_assert_not(cell->late);
    cr_assert_str_eq(cell->reason, "");
    cr_assert_float_eq(cell->first_batch_ns, 95, 0);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, a_cell_without_a_first_batch_cannot_keep_a_limit)
{
    struct rue_cost_matrix *matrix = matrix_limited();
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    add(matrix, 500, false);
    cr_assert(cell->late && strstr(cell->reason, "is unknown"), "%s", cell->reason);
    rue_cost_matrix_estimate_first_batch(matrix, 0, 0, 120);
    cr_assert(cell->late && strstr(cell->reason, "is expected after 120 ns"), "%s", cell->reason);
    rue_cost_matrix_estimate_first_batch(matrix, 0, 0, 80);
    cr_assert_eq(cell->state, RUE_CELL_OK);
    add_first(matrix, 110);
    rue_cost_matrix_estimate_first_batch(matrix, 0, 0, 80);
    cr_assert(cell->late, "what was measured counts, not what was expected");
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, an_estimate_keeps_its_standard_deviation)
{
    struct rue_cost_matrix *matrix = matrix_limited();
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    rue_cost_matrix_estimate_first_batch(matrix, 0, 0, 80);
    cr_assert(isnan(cell->estimate_sd), "there is no estimate yet");
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 0, 500, NAN, 1, true, NULL), RUE_OK);
    cr_assert(isnan(cell->estimate_sd));
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 0, 500, 0.1, 1, true, NULL), RUE_OK);
    cr_assert_eq(cell->estimate_sd, 0.1);
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_FAILED, "crashed");
    cr_assert(isnan(cell->estimate_sd));
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, a_new_estimate_replaces_the_one_before_and_a_failure_both)
{
    struct rue_cost_matrix *matrix = matrix_limited();
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    rue_cost_matrix_estimate_first_batch(matrix, 0, 0, 80);
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 0, 500, NAN, 1, true, NULL), RUE_OK);
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 0, 600, NAN, 2, false, NULL), RUE_OK);
    cr_assert_eq(cell->median_ns, 600);
    cr_assert_eq(cell->repeats, 2u);
    cr_assert_not(cell->predicted);
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_INFEASIBLE, "no room");
    cr_assert_eq(cell->state, RUE_CELL_INFEASIBLE);
    cr_assert(isnan(cell->median_ns));
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 0, 700, NAN, 3, true, NULL), RUE_OK);
    cr_assert_eq(cell->state, RUE_CELL_INFEASIBLE, "a failed trial outweighs an estimate");
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, what_is_predicted_is_at_most_what_results_hold)
{
    struct rue_cost_matrix *matrix = make_matrix(2, 1);
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 1),
                          *added = rue_cost_matrix_cell(matrix, 0, 0);
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 1, 1e25, NAN, 1, true, NULL), RUE_OK);
    cr_assert_eq(cell->median_ns, (double)RUE_TRIAL_FIELD_MAX);
    add(matrix, 1e25, true);
    cr_assert_eq(added->median_ns, (double)RUE_TRIAL_FIELD_MAX);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, a_failure_does_not_change_a_late_cell)
{
    struct rue_cost_matrix *matrix = matrix_limited();
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, 0, 0);
    add(matrix, 500, false);
    add_first(matrix, 200);
    rue_cost_matrix_add_failure(matrix, 0, 0, RUE_TRIAL_FAILED, "crashed");
    cr_assert(cell->late && strstr(cell->reason, "limit"), "%s", cell->reason);
    cr_assert_eq(cell->missed, 1u);
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, an_invalid_first_batch_time_is_refused)
{
    static const double lies[] = {-1, NAN, INFINITY};
    struct rue_cost_matrix *matrix = matrix_limited();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        cr_assert_eq(rue_cost_matrix_add_first_batch(matrix, 0, 0, lies[i], NULL), RUE_USAGE);
    cr_assert(isnan(rue_cost_matrix_cell(matrix, 0, 0)->first_batch_ns));
    rue_cost_matrix_close(matrix);
}

Test(cost_matrix, the_earliest_is_judged_by_its_latest_model)
{
    static const double first_ns[2][3] = {{10, 60, NAN}, {90, 70, 5}};
    struct rue_cost_matrix *matrix = make_matrix(3, 2);
    size_t config;
    double latest;
    cr_assert_not(rue_cost_matrix_earliest_first_batch(matrix, &config, &latest));
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < 3; c++)
            if (!isnan(first_ns[m][c]))
                cr_assert_eq(rue_cost_matrix_add_first_batch(matrix, m, c, first_ns[m][c], NULL), RUE_OK);
    cr_assert(rue_cost_matrix_earliest_first_batch(matrix, &config, &latest));
    cr_assert_eq(config, 1u, "the third is not known for one model");
    cr_assert_float_eq(latest, 70, 0);
    rue_cost_matrix_close(matrix);
}
