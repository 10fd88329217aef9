#include "selection.h"

#include <assert.h>
#include <gsl/gsl_sort_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double rue_selection_regret(const struct rue_selection *selection, const struct rue_cost_matrix *matrix,
                            size_t model, size_t config)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, model, config);
    if (cell->state != RUE_CELL_OK) return NAN;
    return (cell->median_ns - selection->best_ns[model]) / selection->best_ns[model];
}

static struct rue_selection *allocate_selection(const struct rue_cost_matrix *matrix,
                                                const struct rue_selection_rules *rules)
{
    struct rue_selection *selection = calloc(1, sizeof *selection);
    if (!selection) return NULL;
    selection->top_n = rules->top_n;
    selection->objective = rules->objective;
    selection->config_count = matrix->config_count;
    selection->model_count = matrix->model_count;
    selection->recommended = selection->top_n_winner = RUE_NONE;
    /* One element more than needed, because calloc(0) may return NULL for an empty matrix. */
    selection->rows = calloc(selection->config_count + 1, sizeof *selection->rows);
    selection->summaries = calloc(selection->config_count + 1, sizeof *selection->summaries);
    selection->ranked = calloc(selection->config_count + 1, sizeof *selection->ranked);
    selection->best_of_model = calloc(selection->model_count + 1, sizeof *selection->best_of_model);
    selection->best_ns = calloc(selection->model_count + 1, sizeof *selection->best_ns);
    if (rules->weights) selection->weights = calloc(selection->model_count + 1, sizeof *selection->weights);
    if (selection->rows && selection->summaries && selection->ranked && selection->best_of_model &&
        selection->best_ns && (selection->weights || !rules->weights)) {
        for (size_t m = 0; rules->weights && m < selection->model_count; m++)
            selection->weights[m] = rules->weights[m];
        return selection;
    }
    rue_selection_close(selection);
    return NULL;
}

void rue_selection_close(struct rue_selection *selection)
{
    if (!selection) return;
    free(selection->weights);
    free(selection->best_ns);
    free(selection->best_of_model);
    free(selection->ranked);
    free(selection->summaries);
    free(selection->rows);
    free(selection);
}

/* Finds the model's fastest cell and counts its votes. A cell is among the N fastest if it is at most as slow
 * as the N-th of the sorted times. `times` [config_count] is scratch. */
static void vote_model(struct rue_selection *selection, const struct rue_cost_matrix *matrix, size_t model,
                       double *times)
{
    size_t count = 0, best = RUE_NONE;
    double best_ns = NAN;
    for (size_t c = 0; c < selection->config_count; c++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, model, c);
        if (cell->state != RUE_CELL_OK) continue;
        times[count++] = cell->median_ns;
        if (best != RUE_NONE && cell->median_ns >= best_ns) continue;
        best = c;
        best_ns = cell->median_ns;
    }
    selection->best_of_model[model] = best;
    selection->best_ns[model] = best_ns;
    if (count == 0) return;
    gsl_sort(times, 1, count);
    double slowest = times[selection->top_n < count ? selection->top_n - 1 : count - 1];
    for (size_t c = 0; c < selection->config_count; c++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, model, c);
        if (cell->state == RUE_CELL_OK && cell->median_ns <= slowest) selection->rows[c].top_n_count++;
    }
}

/* Counts on how many models the configuration is ok. */
static void count_coverage(const struct rue_selection *selection, const struct rue_cost_matrix *matrix,
                           size_t config)
{
    struct rue_ranking_row *row = &selection->rows[config];
    size_t models = 0;
    for (size_t m = 0; m < matrix->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, m, config);
        if (rue_objective_weight(selection->weights, m) == 0) continue;
        row->covered += cell->state == RUE_CELL_OK;
        row->infeasible += cell->state == RUE_CELL_INFEASIBLE;
        row->failed += cell->state == RUE_CELL_FAILED;
        row->missed += cell->state == RUE_CELL_OK ? cell->missed : 0;
        row->predicted |= cell->state == RUE_CELL_OK && cell->predicted;
        row->uncertain |= cell->state == RUE_CELL_OK && cell->repeats == 0 && isnan(cell->estimate_sd);
        if (models++ == 0 || cell->repeats < row->repeats) row->repeats = cell->repeats;
    }
    row->ranked = models > 0 && row->covered == models;
}

static double cell_time(const void *context, size_t model, size_t config)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(context, model, config);
    return cell->state == RUE_CELL_OK ? cell->median_ns : NAN;
}

/* The model with the largest regret; ties by name, because the order of models has no meaning. */
static size_t worst_model_by_name(const struct rue_selection *selection, const struct rue_cost_matrix *matrix,
                                  size_t config)
{
    size_t worst = selection->summaries[config].worst_model;
    for (size_t m = 0; m < selection->model_count; m++)
        if (rue_objective_weight(selection->weights, m) > 0 &&
            rue_selection_regret(selection, matrix, m, config) == selection->summaries[config].worst &&
            strcmp(matrix->models[m], matrix->models[worst]) < 0)
            worst = m;
    return worst;
}

static void fill_regrets(struct rue_selection *selection, const struct rue_cost_matrix *matrix, size_t config)
{
    struct rue_ranking_row *row = &selection->rows[config];
    const struct rue_regret_summary *summary = &selection->summaries[config];
    row->mean_regret_ratio = row->ranked ? rue_regret_summary_value(summary, RUE_OBJECTIVE_MEAN) : NAN;
    row->max_regret_ratio = row->ranked ? summary->worst : NAN;
    row->worst_model = row->ranked ? worst_model_by_name(selection, matrix, config) : RUE_NONE;
}

bool rue_selection_is_better(const struct rue_selection *selection, size_t a, size_t b)
{
    return rue_regret_summary_is_better(&selection->summaries[a], &selection->summaries[b],
                                        selection->objective);
}

static int compare_columns(const void *a, const void *b, void *context)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    if (rue_selection_is_better(context, x, y)) return -1;
    return rue_selection_is_better(context, y, x) ? 1 : (x > y) - (x < y);
}

double rue_selection_value(const struct rue_selection *selection, size_t config)
{
    return rue_regret_summary_value(&selection->summaries[config], selection->objective);
}

/* Prefers the best measured configuration to a predicted one that is hardly better. */
static void prefer_measured(struct rue_selection *selection)
{
    size_t best = selection->recommended;
    if (best == RUE_NONE || selection->rows[best].repeats > 0) return;
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t c = selection->ranked[i];
        if (rue_selection_value(selection, c) - rue_selection_value(selection, best) > RUE_MEASURED_ADVANTAGE)
            return;
        if (selection->rows[c].repeats == 0) continue;
        selection->recommended = c;
        return;
    }
}

static void rank_configs(struct rue_selection *selection)
{
    for (size_t c = 0; c < selection->config_count; c++)
        if (selection->rows[c].ranked) selection->ranked[selection->ranked_count++] = c;
    if (selection->ranked_count == 0) return;
    qsort_r(selection->ranked, selection->ranked_count, sizeof *selection->ranked, compare_columns,
            selection);
    for (size_t i = 0; i < selection->ranked_count && selection->recommended == RUE_NONE; i++)
        if (!selection->rows[selection->ranked[i]].uncertain) selection->recommended = selection->ranked[i];
    prefer_measured(selection);
    selection->top_n_winner = selection->recommended;
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t c = selection->ranked[i];
        if (selection->rows[c].repeats == 0) continue; /* only estimated */
        if (selection->rows[c].top_n_count > selection->rows[selection->top_n_winner].top_n_count)
            selection->top_n_winner = c;
    }
}

rue_status rue_selection_open(const struct rue_cost_matrix *matrix, const struct rue_selection_rules *rules,
                              struct rue_selection **out, rue_error *error)
{
    assert(rules->top_n >= 1);
    *out = NULL;
    size_t configs = matrix->config_count;
    double *times = calloc(configs + 1, sizeof *times);
    struct rue_selection *selection = times ? allocate_selection(matrix, rules) : NULL;
    if (!selection) {
        free(times);
        return rue_fail_memory(error, "the ranking", configs * sizeof *selection->rows);
    }
    for (size_t m = 0; m < selection->model_count; m++) vote_model(selection, matrix, m, times);
    const struct rue_objective_times input = {
        selection->model_count, configs, selection->weights, cell_time, matrix, times};
    rue_objective_summarise(&input, selection->summaries);
    for (size_t c = 0; c < configs; c++) {
        count_coverage(selection, matrix, c);
        fill_regrets(selection, matrix, c);
    }
    rank_configs(selection);
    free(times);
    *out = selection;
    return RUE_OK;
}

/* `weights` [models] are changed during the call and restored. */
static rue_status score_left_out(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                 double *weights, struct rue_leave_one_out *out, rue_error *error)
{
    const struct rue_selection_rules rules = {1, selection->objective, weights};
    struct rue_regret_summary summary = {0};
    for (size_t m = 0; m < out->model_count; m++) weights[m] = rue_objective_weight(selection->weights, m);
    for (size_t m = 0; m < out->model_count; m++) {
        struct rue_leave_one_out_row *row = &out->rows[m];
        struct rue_selection *others;
        double weight = weights[m];
        weights[m] = 0;
        rue_status status = rue_selection_open(matrix, &rules, &others, error);
        weights[m] = weight;
        if (status != RUE_OK) return status;
        row->config = others->recommended;
        rue_selection_close(others);
        row->regret_ratio =
            row->config == RUE_NONE ? NAN : rue_selection_regret(selection, matrix, m, row->config);
        if (isnan(row->regret_ratio)) continue;
        out->known++;
        rue_regret_summary_add(&summary, m, weight, row->regret_ratio);
    }
    out->mean_regret_ratio = summary.sum / summary.weights;
    out->max_regret_ratio = summary.worst;
    out->worst_model = summary.worst_model;
    return RUE_OK;
}

rue_status rue_leave_one_out_open(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                  struct rue_leave_one_out **out, rue_error *error)
{
    size_t models = selection->model_count;
    *out = NULL;
    if (models < RUE_LEAVE_ONE_OUT_MODELS) return RUE_OK;
    struct rue_leave_one_out *result = calloc(1, sizeof *result);
    double *weights = calloc(models, sizeof *weights);
    if (result)
        *result = (struct rue_leave_one_out){models, calloc(models, sizeof *result->rows), 0, 0, 0, 0};
    rue_status status =
        result && result->rows && weights
            ? score_left_out(matrix, selection, weights, result, error)
            : rue_fail_memory(error, "models left out in turn", models * sizeof *result->rows);
    free(weights);
    if (status == RUE_OK && result->known)
        *out = result;
    else
        rue_leave_one_out_close(result);
    return status;
}

void rue_leave_one_out_close(struct rue_leave_one_out *result)
{
    if (!result) return;
    free(result->rows);
    free(result);
}
