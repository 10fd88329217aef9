#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "selection.h"
#include "shared_data.h"
#include "space.h"

enum { MODELS_MAX = 16, CONFIGS_MAX = 64 };

static const char *const names[] = {"a", "b", "c", "d"};

/* A cell of a table: a time of the job, or one of these. */
enum { MISSING = 0, INFEASIBLE = -1, FAILED = -2 };

/* A matrix from a table [model_count][config_count]; column c has batch size c + 1. */
static struct rue_cost_matrix *make_matrix(size_t model_count, size_t config_count, const double *table)
{
    struct rue_config configs[CONFIGS_MAX];
    struct rue_cost_matrix *matrix;
    for (size_t c = 0; c < config_count; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = (int)c + 1;
    }
    cr_assert_eq(rue_cost_matrix_open(configs, config_count, names, model_count, &matrix, NULL), RUE_OK);
    for (size_t m = 0; m < model_count; m++)
        for (size_t c = 0; c < config_count; c++) {
            double cell = table[m * config_count + c];
            if (cell > 0)
                cr_assert_eq(rue_cost_matrix_add(matrix, m, c, cell, false, NULL), RUE_OK);
            else if (cell < 0)
                rue_cost_matrix_add_failure(matrix, m, c,
                                            cell == INFEASIBLE ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED, "");
        }
    return matrix;
}

static struct rue_selection *select_from(const struct rue_cost_matrix *matrix, size_t top_n)
{
    struct rue_selection *selection;
    struct rue_selection_rules rules = {.top_n = top_n};
    cr_assert_eq(rue_selection_open(matrix, &rules, &selection, NULL), RUE_OK);
    return selection;
}

static void expect_ratio(double got, double expected)
{
    cr_assert_float_eq(got, expected, 1e-12, "%.15g, not %.15g", got, expected);
}

/* model a: best 10 in column 0; model b: best 20 in column 2. */
Test(selection, regret_is_relative_to_the_best_of_each_model)
{
    static const double table[] = {10, 12, 15, 30, 22, 20};
    struct rue_cost_matrix *matrix = make_matrix(2, 3, table);
    struct rue_selection *selection = select_from(matrix, 1);
    cr_assert_eq(selection->best_of_model[0], 0);
    cr_assert_eq(selection->best_of_model[1], 2);
    expect_ratio(selection->best_ns[1], 20);
    expect_ratio(rue_selection_regret(selection, matrix, 0, 1), 0.2);
    expect_ratio(rue_selection_regret(selection, matrix, 1, 1), 0.1);
    expect_ratio(selection->rows[0].mean_regret_ratio, 0.25); /* (0 + .5) / 2 */
    expect_ratio(selection->rows[1].mean_regret_ratio, 0.15); /* (.2 + .1) / 2 */
    expect_ratio(selection->rows[2].mean_regret_ratio, 0.25); /* (.5 + 0) / 2 */
    expect_ratio(selection->rows[0].max_regret_ratio, 0.5);
    expect_ratio(selection->rows[1].max_regret_ratio, 0.2);
    cr_assert_eq(selection->rows[0].worst_model, 1);
    cr_assert_eq(selection->rows[1].worst_model, 0);
    cr_assert_eq(selection->rows[2].worst_model, 0);
    cr_assert_eq(selection->ranked_count, 3);
    cr_assert_eq(selection->ranked[0], 1);
    cr_assert_eq(selection->ranked[1], 0, "equal ones stay in grid order");
    cr_assert_eq(selection->ranked[2], 2);
    cr_assert_eq(selection->recommended, 1);
    cr_assert_eq(selection->top_n_winner, 0, "1 vote like column 2, regret equal, grid order");
    cr_assert_eq(selection->rows[1].top_n_count, 0, "the regret winner need not win a vote");
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

/* Sorted: 5 5 7 7 7 9. A column has a vote when fewer than N are strictly faster. */
Test(selection, ties_share_a_place)
{
    static const double table[] = {7, 5, 9, 7, 5, 7};
    static const size_t expected[][6] = {
        {0, 1, 0, 0, 1, 0}, /* N = 1: both fives, none is faster */
        {0, 1, 0, 0, 1, 0}, /* N = 2: two are faster than a seven */
        {1, 1, 0, 1, 1, 1}, /* N = 3: two < 3 are faster than a seven */
        {1, 1, 0, 1, 1, 1}, {1, 1, 0, 1, 1, 1}, {1, 1, 1, 1, 1, 1},
    };
    struct rue_cost_matrix *matrix = make_matrix(1, 6, table);
    for (size_t n = 1; n <= 6; n++) {
        struct rue_selection *selection = select_from(matrix, n);
        for (size_t c = 0; c < 6; c++)
            cr_assert_eq(selection->rows[c].top_n_count, expected[n - 1][c], "N %zu, column %zu", n, c);
        rue_selection_close(selection);
    }
    rue_cost_matrix_close(matrix);
}

Test(selection, all_tied_means_no_regret_and_grid_order)
{
    static const double table[] = {4, 4, 4, 9, 9, 9};
    struct rue_cost_matrix *matrix = make_matrix(2, 3, table);
    struct rue_selection *selection = select_from(matrix, 1);
    for (size_t c = 0; c < 3; c++) {
        cr_assert_eq(selection->ranked[c], c);
        cr_assert_eq(selection->rows[c].top_n_count, 2);
        expect_ratio(selection->rows[c].mean_regret_ratio, 0);
        expect_ratio(selection->rows[c].max_regret_ratio, 0);
    }
    cr_assert_eq(selection->recommended, 0);
    cr_assert_eq(selection->top_n_winner, 0);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

/* Column 1 is best for both models where it ran, but one cell is missing; column 0 is fastest for b. */
Test(selection, a_configuration_with_a_missing_cell_is_not_ranked_but_sets_the_best)
{
    static const double table[] = {20, 10, 30, 10, MISSING, 11};
    struct rue_cost_matrix *matrix = make_matrix(2, 3, table);
    struct rue_selection *selection = select_from(matrix, 1);
    const struct rue_ranking_row *row = &selection->rows[1];
    cr_assert_not(row->ranked);
    cr_assert_eq(row->covered, 1);
    cr_assert_eq(row->infeasible + row->failed, 0);
    cr_assert_eq(row->repeats, 0, "the missing cell has none");
    cr_assert(isnan(row->mean_regret_ratio) && isnan(row->max_regret_ratio));
    cr_assert_eq(row->worst_model, RUE_NONE);
    cr_assert_eq(row->top_n_count, 1, "votes count for unranked configurations too");
    cr_assert_eq(selection->best_of_model[0], 1, "best ranges over all covered cells");
    expect_ratio(rue_selection_regret(selection, matrix, 0, 0), 1);
    cr_assert(isnan(rue_selection_regret(selection, matrix, 1, 1)));
    cr_assert_eq(selection->ranked_count, 2);
    expect_ratio(selection->rows[0].mean_regret_ratio, 0.5);  /* (1 + 0) / 2 */
    expect_ratio(selection->rows[2].mean_regret_ratio, 1.05); /* (2 + .1) / 2 */
    cr_assert_eq(selection->recommended, 0);
    cr_assert_eq(selection->top_n_winner, 0);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

/* An unranked configuration may have the most votes; the winner shown is a ranked one. */
Test(selection, the_top_n_winner_is_a_ranked_configuration)
{
    static const double table[] = {10, 20, 30, 10, 20, 30, FAILED, 20, 10};
    struct rue_cost_matrix *matrix = make_matrix(3, 3, table);
    struct rue_selection *selection = select_from(matrix, 1);
    cr_assert_eq(selection->rows[0].top_n_count, 2);
    cr_assert_eq(selection->rows[2].top_n_count, 1);
    cr_assert_eq(selection->top_n_winner, 2);
    cr_assert_eq(selection->recommended, 1); /* 1, 1, 1 against 2, 2, 0 */
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, infeasible_for_one_model_is_not_recommended_for_the_set)
{
    static const double table[] = {10, 11, 10, INFEASIBLE, 10, 12};
    struct rue_cost_matrix *matrix = make_matrix(2, 3, table);
    struct rue_selection *selection = select_from(matrix, 3);
    cr_assert_not(selection->rows[0].ranked);
    cr_assert_eq(selection->rows[0].infeasible, 1);
    cr_assert_eq(selection->rows[0].failed, 0);
    cr_assert_eq(selection->rows[0].covered, 1);
    cr_assert_eq(selection->recommended, 1); /* .1 and 0 against 0 and .2 */
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, failed_and_infeasible_cells_are_counted_separately)
{
    static const double table[] = {INFEASIBLE, FAILED, FAILED, 5, MISSING, FAILED};
    struct rue_cost_matrix *matrix = make_matrix(3, 2, table);
    struct rue_selection *selection = select_from(matrix, 1);
    cr_assert_eq(selection->rows[0].infeasible, 1);
    cr_assert_eq(selection->rows[0].failed, 1);
    cr_assert_eq(selection->rows[0].covered, 0);
    cr_assert_eq(selection->rows[1].failed, 2);
    cr_assert_eq(selection->rows[1].covered, 1);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, no_configuration_is_recommended_if_all_failed)
{
    static const double table[] = {FAILED, INFEASIBLE, FAILED, MISSING};
    struct rue_cost_matrix *matrix = make_matrix(2, 2, table);
    struct rue_selection *selection = select_from(matrix, 3);
    cr_assert_eq(selection->ranked_count, 0);
    cr_assert_eq(selection->recommended, RUE_NONE);
    cr_assert_eq(selection->top_n_winner, RUE_NONE);
    for (size_t m = 0; m < 2; m++) {
        cr_assert_eq(selection->best_of_model[m], RUE_NONE);
        cr_assert(isnan(selection->best_ns[m]));
    }
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

/* A model without a single ok cell leaves every configuration uncovered. */
Test(selection, no_configuration_is_ranked_if_a_model_never_ran)
{
    static const double table[] = {1, 2, FAILED, FAILED};
    struct rue_cost_matrix *matrix = make_matrix(2, 2, table);
    struct rue_selection *selection = select_from(matrix, 1);
    cr_assert_eq(selection->ranked_count, 0);
    cr_assert_eq(selection->best_of_model[0], 0);
    cr_assert_eq(selection->rows[0].top_n_count, 1);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, one_model_recommends_its_fastest)
{
    static const double table[] = {8, 4, 6};
    struct rue_cost_matrix *matrix = make_matrix(1, 3, table);
    struct rue_selection *selection = select_from(matrix, 2);
    cr_assert_eq(selection->recommended, 1);
    cr_assert_eq(selection->top_n_winner, 1);
    expect_ratio(selection->rows[0].mean_regret_ratio, 1);
    expect_ratio(selection->rows[2].mean_regret_ratio, 0.5);
    cr_assert_eq(selection->rows[0].top_n_count, 0);
    cr_assert_eq(selection->rows[2].top_n_count, 1);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, one_configuration_has_no_regret)
{
    static const double table[] = {8, 4};
    struct rue_cost_matrix *matrix = make_matrix(2, 1, table);
    struct rue_selection *selection = select_from(matrix, 5);
    cr_assert_eq(selection->recommended, 0);
    cr_assert_eq(selection->rows[0].top_n_count, 2);
    expect_ratio(selection->rows[0].mean_regret_ratio, 0);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, a_top_n_beyond_the_configurations_votes_for_every_ok_cell)
{
    static const double table[] = {8, 4, FAILED, 1, 2, 3};
    struct rue_cost_matrix *matrix = make_matrix(2, 3, table);
    struct rue_selection *selection = select_from(matrix, 1000);
    cr_assert_eq(selection->top_n, 1000);
    cr_assert_eq(selection->rows[0].top_n_count, 2);
    cr_assert_eq(selection->rows[1].top_n_count, 2);
    cr_assert_eq(selection->rows[2].top_n_count, 1);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

/* Models are not weighted by their times: a slow model's seconds count no more than a fast one's. */
Test(selection, models_weigh_the_same)
{
    static const double table[] = {1, 1.5, 1100, 1000};
    struct rue_cost_matrix *matrix = make_matrix(2, 2, table);
    struct rue_selection *selection = select_from(matrix, 1);
    expect_ratio(selection->rows[0].mean_regret_ratio, 0.05);
    expect_ratio(selection->rows[1].mean_regret_ratio, 0.25);
    cr_assert_eq(selection->recommended, 0, "though column 1 is faster in sum");
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, repeats_count_by_their_median)
{
    static const double table[] = {10, 11};
    struct rue_cost_matrix *matrix = make_matrix(1, 2, table);
    for (int i = 0; i < 3; i++) cr_assert_eq(rue_cost_matrix_add(matrix, 0, 0, 20 + i, false, NULL), RUE_OK);
    struct rue_selection *selection = select_from(matrix, 1);
    expect_ratio(rue_selection_regret(selection, matrix, 0, 0), (20.5 - 11) / 11); /* of 10 20 21 22 */
    cr_assert_eq(selection->recommended, 1);
    cr_assert_eq(selection->rows[0].repeats, 4);
    cr_assert_eq(selection->rows[1].repeats, 1);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, repeats_are_those_of_the_least_measured_model)
{
    static const double table[] = {10, 10};
    struct rue_cost_matrix *matrix = make_matrix(2, 1, table);
    cr_assert_eq(rue_cost_matrix_add(matrix, 1, 0, 12, false, NULL), RUE_OK);
    struct rue_selection *selection = select_from(matrix, 1);
    cr_assert_eq(selection->rows[0].repeats, 1);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, predictions_are_ranked_and_labelled)
{
    static const double table[] = {10, MISSING, 12, 11};
    struct rue_cost_matrix *matrix = make_matrix(2, 2, table);
    cr_assert_eq(rue_cost_matrix_add(matrix, 0, 1, 9, true, NULL), RUE_OK);
    struct rue_selection *selection = select_from(matrix, 1);
    cr_assert_not(selection->rows[0].predicted);
    cr_assert(selection->rows[1].predicted);
    cr_assert(selection->rows[1].ranked);
    cr_assert_eq(selection->recommended, 1);
    rue_selection_close(selection);
    cr_assert_eq(rue_cost_matrix_add(matrix, 0, 1, 13, false, NULL), RUE_OK);
    selection = select_from(matrix, 1);
    cr_assert_not(selection->rows[1].predicted, "the full trial replaced it");
    expect_ratio(rue_selection_regret(selection, matrix, 0, 1), 0.3);
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, an_empty_matrix_selects_no_configuration)
{
    struct rue_cost_matrix *matrix = make_matrix(0, 0, NULL);
    struct rue_selection *selection = select_from(matrix, 3);
    cr_assert_eq(selection->recommended, RUE_NONE);
    rue_selection_close(selection);
    rue_selection_close(NULL);
    rue_cost_matrix_close(matrix);
    matrix = make_matrix(0, 2, NULL);
    selection = select_from(matrix, 3);
    cr_assert_eq(selection->ranked_count, 0, "without models nothing is covered");
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

Test(selection, the_best_workers_for_a_given_batch_size)
{
    static const int knobs[][2] = {{32, 1}, {32, 4}, {64, 1}, {64, 4}};
    static const double times[] = {9, 8, 7, 10};
    struct rue_config configs[4];
    struct rue_cost_matrix *matrix;
    for (int c = 0; c < 4; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = knobs[c][0];
        configs[c].value[RUE_NUM_WORKERS] = knobs[c][1];
    }
    cr_assert_eq(rue_cost_matrix_open(configs, 4, names, 1, &matrix, NULL), RUE_OK);
    for (size_t c = 0; c < 4; c++)
        cr_assert_eq(rue_cost_matrix_add(matrix, 0, c, times[c], false, NULL), RUE_OK);
    struct rue_selection *selection = select_from(matrix, 1);
    struct rue_variant_findings findings = {.matrix = matrix, .selection = selection};
    struct rue_batch_best best = {0};
    cr_assert(rue_batch_best_next(&findings, &best) && best.batch_size == 32 && best.config == 1);
    cr_assert(rue_batch_best_next(&findings, &best) && best.batch_size == 64 && best.config == 2);
    cr_assert_not(rue_batch_best_next(&findings, &best));
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

/* The published measurements: 12 models, 45 configurations, one time a cell. */
struct published {
    struct rue_space space;
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection;
};

static size_t model_at(char models[MODELS_MAX][64], size_t *count, const char *name)
{
    size_t m = 0;
    while (m < *count && strcmp(models[m], name) != 0) m++;
    cr_assert_lt(m, MODELS_MAX);
    if (m == *count) snprintf(models[(*count)++], sizeof models[0], "%s", name);
    return m;
}

static size_t find_column(const struct rue_space *space, int batch, int workers)
{
    for (size_t c = 0; c < rue_space_size(space); c++) {
        struct rue_config config = rue_space_at(space, c);
        if (config.value[RUE_BATCH_SIZE] == batch && config.value[RUE_NUM_WORKERS] == workers) return c;
    }
    return RUE_NONE;
}

static struct published read_published(const char *dataset)
{
    static const int batches[] = {32, 128, 256, 512, 1024}, workers[] = {1, 2, 4, 8, 12, 16, 32, 48, 64};
    static char models[MODELS_MAX][64];
    static double times[MODELS_MAX][CONFIGS_MAX];
    struct published published = {.space = rue_space_default(&rue_own_knobs)};
    struct rue_config configs[CONFIGS_MAX];
    const char *pointers[MODELS_MAX];
    char line[256], set[64], model[64];
    size_t model_count = 0, rows = 0;
    int batch, worker;
    double seconds;
    FILE *file = shared_open("data/end_to_end_grid.csv");
    published.space.count[RUE_BATCH_SIZE] = published.space.count[RUE_NUM_WORKERS] = 0;
    for (int i = 0; i < 5; i++) rue_space_add(&published.space, RUE_BATCH_SIZE, batches[i]);
    for (int i = 0; i < 9; i++) rue_space_add(&published.space, RUE_NUM_WORKERS, workers[i]);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%63[^,],%63[^,],%d,%d,%lf", set, model, &batch, &worker, &seconds) != 5) continue;
        if (strcmp(set, dataset) != 0) continue;
        size_t c = find_column(&published.space, batch, worker);
        cr_assert_neq(c, RUE_NONE, "%s", line);
        times[model_at(models, &model_count, model)][c] = seconds;
        rows++;
    }
    fclose(file);
    cr_assert_eq(rows, 540);
    cr_assert_eq(model_count, 12);
    for (size_t c = 0; c < 45; c++) configs[c] = rue_space_at(&published.space, c);
    for (size_t m = 0; m < 12; m++) pointers[m] = models[m];
    cr_assert_eq(rue_cost_matrix_open(configs, 45, pointers, 12, &published.matrix, NULL), RUE_OK);
    for (size_t m = 0; m < 12; m++)
        for (size_t c = 0; c < 45; c++)
            cr_assert_eq(rue_cost_matrix_add(published.matrix, m, c, times[m][c] * 1e9, false, NULL), RUE_OK);
    published.selection = select_from(published.matrix, 3);
    cr_assert_eq(published.selection->ranked_count, 45);
    return published;
}

static void close_published(struct published *published)
{
    rue_selection_close(published->selection);
    rue_cost_matrix_close(published->matrix);
}

struct figure {
    size_t place; /* in the ranking, from 0 */
    int batch, workers;
    double percent; /* mean regret, as published to three places */
};

struct votes {
    int batch, workers;
    size_t count;
};

static void expect_regret(const struct published *published, struct figure figure)
{
    size_t column = published->selection->ranked[figure.place];
    cr_assert_eq(column, find_column(&published->space, figure.batch, figure.workers), "place %zu",
                 figure.place);
    double percent = 100 * published->selection->rows[column].mean_regret_ratio;
    cr_assert_float_eq(percent, figure.percent, 0.0005, "%d/%d: %.4f %%, published %.3f %%", figure.batch,
                       figure.workers, percent, figure.percent);
}

static void expect_votes(const struct published *published, struct votes votes)
{
    size_t column = find_column(&published->space, votes.batch, votes.workers);
    size_t count = published->selection->rows[column].top_n_count;
    cr_assert_eq(count, votes.count, "%d/%d: %zu votes, published %zu", votes.batch, votes.workers, count,
                 votes.count);
}

Test(selection, reproduces_the_published_raw_figures)
{
    static const struct figure figures[] = {
        {0, 128, 12, 1.958}, {1, 128, 16, 2.879}, {2, 256, 12, 5.307}, {4, 128, 8, 6.420}};
    static const struct votes votes[] = {{128, 8, 6}, {128, 12, 5}, {128, 16, 5},
                                         {256, 4, 4}, {128, 4, 4},  {256, 2, 3}};
    struct published published = read_published("imagenette");
    for (size_t i = 0; i < 4; i++) expect_regret(&published, figures[i]);
    for (size_t i = 0; i < 6; i++) expect_votes(&published, votes[i]);
    cr_assert_eq(published.selection->recommended, find_column(&published.space, 128, 12));
    cr_assert_eq(published.selection->top_n_winner, find_column(&published.space, 128, 8),
                 "not the regret winner");
    close_published(&published);
}

Test(selection, reproduces_the_published_preprocessed_figures)
{
    static const struct figure figures[] = {{0, 256, 2, 0.361}, {1, 256, 4, 0.966}, {2, 512, 2, 2.108}};
    static const struct votes votes[] = {{256, 2, 8}, {256, 1, 7}, {256, 4, 6}, {128, 2, 5}};
    struct published published = read_published("preprocessed_ssd");
    for (size_t i = 0; i < 3; i++) expect_regret(&published, figures[i]);
    for (size_t i = 0; i < 4; i++) expect_votes(&published, votes[i]);
    cr_assert_eq(published.selection->recommended, find_column(&published.space, 256, 2));
    cr_assert_eq(published.selection->top_n_winner, find_column(&published.space, 256, 2));
    close_published(&published);
}

Test(selection, a_predicted_configuration_is_recommended_if_its_uncertainty_is_known)
{
    static const double table[] = {MISSING, 12, 11};
    struct rue_cost_matrix *matrix = make_matrix(1, 3, table);
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 1, 1, NAN, 0, true, NULL), RUE_OK,
                 "it has a time of its own");
    for (int known = 0; known < 2; known++) {
        cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 0, 10, known ? 0.1 : NAN, 0, true, NULL), RUE_OK);
        struct rue_selection *selection = select_from(matrix, 1);
        cr_assert(selection->rows[0].ranked && selection->rows[0].repeats == 0 &&
                  selection->rows[0].predicted);
        cr_assert_eq(selection->ranked[0], 0);
        cr_assert_eq(selection->recommended, known ? 0 : 2);
        cr_assert_eq(selection->top_n_winner, known ? 0 : 2);
        expect_ratio(selection->rows[2].mean_regret_ratio, 0.1);
        rue_selection_close(selection);
    }
    rue_cost_matrix_close(matrix);
    matrix = make_matrix(1, 1, (const double[]){MISSING});
    cr_assert_eq(rue_cost_matrix_estimate(matrix, 0, 0, INFINITY, NAN, 0, true, NULL), RUE_USAGE);
    rue_cost_matrix_close(matrix);
}

/* Means .25 .15 .25, worst .5 .2 .5 with equal weights. */
Test(selection, weights_are_of_the_mean_and_not_of_the_worst)
{
    static const double table[] = {10, 12, 15, 30, 22, 20}, weights[] = {3, 1};
    const struct rue_selection_rules rules = {.top_n = 1, .weights = weights};
    struct rue_cost_matrix *matrix = make_matrix(2, 3, table);
    struct rue_selection *selection;
    cr_assert_eq(rue_selection_open(matrix, &rules, &selection, NULL), RUE_OK);
    expect_ratio(selection->rows[0].mean_regret_ratio, 0.125); /* (3 * 0 + .5) / 4 */
    expect_ratio(selection->rows[1].mean_regret_ratio, 0.175); /* (3 * .2 + .1) / 4 */
    expect_ratio(selection->rows[2].mean_regret_ratio, 0.375); /* (3 * .5 + 0) / 4 */
    expect_ratio(selection->rows[0].max_regret_ratio, 0.5);
    cr_assert_eq(selection->recommended, 0);
    cr_assert_eq(selection->rows[0].top_n_count, 1, "votes are not weighted");
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
}

/* Regrets: column 0 .1 and .1, column 1 .01 and .12, column 2 0 and .1, column 3 .5 and 0. */
Test(selection, the_least_worst_regret_wins_and_ties_go_to_the_mean)
{
    static const double table[] = {110, 101, 100, 150, 220, 224, 220, 200};
    static const size_t by_worst[] = {2, 0, 1, 3}, by_mean[] = {2, 1, 0, 3};
    struct rue_cost_matrix *matrix = make_matrix(2, 4, table);
    for (int objective = 0; rue_objective_names[objective]; objective++) {
        const struct rue_selection_rules rules = {1, (enum rue_objective)objective, NULL};
        struct rue_selection *selection;
        cr_assert_eq(rue_selection_open(matrix, &rules, &selection, NULL), RUE_OK);
        const size_t *expected = objective == RUE_OBJECTIVE_WORST ? by_worst : by_mean;
        for (size_t i = 0; i < 4; i++)
            cr_assert_eq(selection->ranked[i], expected[i], "%s, %zu", rue_objective_names[objective], i);
        cr_assert_eq(selection->recommended, 2);
        cr_assert(rue_selection_is_better(selection, expected[1], expected[2]));
        cr_assert_not(rue_selection_is_better(selection, 2, 2));
        rue_selection_close(selection);
    }
    rue_cost_matrix_close(matrix);
}
