#include "leave_one_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How a column does on all models but one. */
struct standing {
    bool usable; /* measured on all of them */
    double sum;  /* of weighted regrets */
    double worst;
};

static double weight_of(const struct rue_selection *selection, size_t model)
{
    return selection->weights ? selection->weights[model] : 1;
}

static struct standing stand(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                             size_t config, size_t without)
{
    struct standing standing = {.usable = true};
    for (size_t m = 0; m < selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, m, config);
        if (m == without) continue;
        if (cell->state != RUE_CELL_OK || cell->repeats == 0) return (struct standing){.usable = false};
        double regret = rue_selection_regret(selection, matrix, m, config);
        standing.sum += weight_of(selection, m) * regret;
        standing.worst = fmax(standing.worst, regret);
    }
    return standing;
}

static bool is_better(enum rue_objective objective, const struct standing *a, const struct standing *b)
{
    if (objective == RUE_OBJECTIVE_WORST && a->worst != b->worst) return a->worst < b->worst;
    return a->sum < b->sum;
}

static size_t recommend_without(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                size_t without)
{
    struct standing best = {.usable = false};
    size_t config = RUE_NONE;
    for (size_t c = 0; c < selection->config_count; c++) {
        struct standing standing = stand(matrix, selection, c, without);
        if (!standing.usable || (best.usable && !is_better(selection->objective, &standing, &best))) continue;
        best = standing;
        config = c;
    }
    return config;
}

static bool is_worse(const struct rue_leave_one_out *left, const struct rue_cost_matrix *matrix, size_t model)
{
    double regret = left->rows[model].regret_ratio;
    if (left->worst_model == RUE_NONE) return true;
    if (regret != left->max_regret_ratio) return regret > left->max_regret_ratio;
    return strcmp(matrix->models[model], matrix->models[left->worst_model]) < 0;
}

static void fill(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                 struct rue_leave_one_out *left)
{
    double sum = 0, weights = 0;
    left->worst_model = RUE_NONE;
    left->mean_regret_ratio = left->max_regret_ratio = NAN;
    for (size_t m = 0; m < left->model_count; m++) {
        struct rue_leave_one_out_row *row = &left->rows[m];
        row->config = recommend_without(matrix, selection, m);
        row->regret_ratio =
            row->config == RUE_NONE ? NAN : rue_selection_regret(selection, matrix, m, row->config);
        if (isnan(row->regret_ratio)) continue;
        left->known++;
        sum += weight_of(selection, m) * row->regret_ratio;
        weights += weight_of(selection, m);
        if (!is_worse(left, matrix, m)) continue;
        left->worst_model = m;
        left->max_regret_ratio = row->regret_ratio;
    }
    if (left->known) left->mean_regret_ratio = sum / weights;
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
