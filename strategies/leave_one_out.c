#include "leave_one_out.h"

#include <math.h>
#include <stdlib.h>

static double weight_of(const struct rue_selection *selection, size_t model)
{
    return selection->weights ? selection->weights[model] : 1;
}

/* Joins the regrets of a configuration on all models but one; false where one of them did not measure it. */
static bool join(const struct rue_cost_matrix *matrix, const struct rue_selection *selection, size_t config,
                 size_t without, struct rue_joined_regrets *out)
{
    *out = (struct rue_joined_regrets){0};
    for (size_t m = 0; m < selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, m, config);
        if (m == without) continue;
        if (cell->state != RUE_CELL_OK || cell->repeats == 0) return false;
        rue_joined_regrets_add(out, m, weight_of(selection, m),
                               rue_selection_regret(selection, matrix, m, config));
    }
    return true;
}

static bool is_better(enum rue_objective objective, const struct rue_joined_regrets *a,
                      const struct rue_joined_regrets *b)
{
    double difference = rue_joined_regrets_value(a, objective) - rue_joined_regrets_value(b, objective);
    return difference < 0 || (difference == 0 && a->sum < b->sum);
}

static size_t recommend_without(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                size_t without)
{
    struct rue_joined_regrets joined, best;
    size_t config = RUE_NONE;
    for (size_t c = 0; c < selection->config_count; c++) {
        if (!join(matrix, selection, c, without, &joined)) continue;
        if (config != RUE_NONE && !is_better(selection->objective, &joined, &best)) continue;
        best = joined;
        config = c;
    }
    return config;
}

static void fill(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                 struct rue_leave_one_out *left)
{
    struct rue_joined_regrets joined = {0};
    for (size_t m = 0; m < left->model_count; m++) {
        struct rue_leave_one_out_row *row = &left->rows[m];
        row->config = recommend_without(matrix, selection, m);
        row->regret_ratio =
            row->config == RUE_NONE ? NAN : rue_selection_regret(selection, matrix, m, row->config);
        if (isnan(row->regret_ratio)) continue;
        left->known++;
        rue_joined_regrets_add(&joined, m, weight_of(selection, m), row->regret_ratio);
    }
    left->mean_regret_ratio = joined.sum / joined.weights;
    left->max_regret_ratio = joined.worst;
    left->worst_model = joined.worst_model;
}

rue_status rue_leave_one_out_open(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                  struct rue_leave_one_out **out, rue_error *error)
{
    *out = NULL;
    if (selection->model_count < RUE_LEAVE_ONE_OUT_MODELS) return RUE_OK;
    struct rue_leave_one_out *left = calloc(1, sizeof *left);
    struct rue_leave_one_out_row *rows = calloc(selection->model_count, sizeof *rows);
    if (!left || !rows) {
        free(rows);
        free(left);
        return rue_fail_memory(error, "what models tell of each other",
                               selection->model_count * sizeof *rows);
    }
    left->rows = rows;
    left->model_count = selection->model_count;
    fill(matrix, selection, left);
    if (left->known)
        *out = left;
    else
        rue_leave_one_out_close(left);
    return RUE_OK;
}

void rue_leave_one_out_close(struct rue_leave_one_out *left)
{
    if (!left) return;
    free(left->rows);
    free(left);
}
