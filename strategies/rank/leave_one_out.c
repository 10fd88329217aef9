#include "leave_one_out.h"

#include <math.h>
#include <stdlib.h>

/* `weights` [models] are those of the rules, here and at the end. */
static rue_status fill_left_out(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                double *weights, struct rue_leave_one_out *left, rue_error *error)
{
    const struct rue_selection_rules rules = {1, selection->objective, weights};
    struct rue_joined_regrets joined = {0};
    for (size_t m = 0; m < left->model_count; m++) weights[m] = rue_objective_weight(selection->weights, m);
    for (size_t m = 0; m < left->model_count; m++) {
        struct rue_leave_one_out_row *row = &left->rows[m];
        struct rue_selection *rest;
        double weight = weights[m];
        weights[m] = 0;
        rue_status status = rue_selection_open(matrix, &rules, &rest, error);
        weights[m] = weight;
        if (status != RUE_OK) return status;
        row->config = rest->recommended;
        rue_selection_close(rest);
        row->regret_ratio =
            row->config == RUE_NONE ? NAN : rue_selection_regret(selection, matrix, m, row->config);
        if (isnan(row->regret_ratio)) continue;
        left->known++;
        rue_joined_regrets_add(&joined, m, weight, row->regret_ratio);
    }
    left->mean_regret_ratio = joined.sum / joined.weights;
    left->max_regret_ratio = joined.worst;
    left->worst_model = joined.worst_model;
    return RUE_OK;
}

rue_status rue_leave_one_out_open(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                  struct rue_leave_one_out **out, rue_error *error)
{
    size_t models = selection->model_count;
    *out = NULL;
    if (models < RUE_LEAVE_ONE_OUT_MODELS) return RUE_OK;
    struct rue_leave_one_out *left = calloc(1, sizeof *left);
    double *weights = calloc(models, sizeof *weights);
    if (left) *left = (struct rue_leave_one_out){models, calloc(models, sizeof *left->rows), 0, 0, 0, 0};
    rue_status status = left && left->rows && weights
                            ? fill_left_out(matrix, selection, weights, left, error)
                            : rue_fail_memory(error, "models left out in turn", models * sizeof *left->rows);
    free(weights);
    if (status == RUE_OK && left->known)
        *out = left;
    else
        rue_leave_one_out_close(left);
    return status;
}

void rue_leave_one_out_close(struct rue_leave_one_out *left)
{
    if (!left) return;
    free(left->rows);
    free(left);
}
