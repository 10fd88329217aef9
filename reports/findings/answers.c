#include "answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rue_status find_set(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                           double epsilon_ratio, struct rue_answers *answers, rue_error *error)
{
    size_t models = selection->model_count, configs = selection->config_count;
    double *regrets = calloc(models * configs + 1, sizeof *regrets);
    if (!regrets) return rue_fail_memory(error, "regrets", models * configs * sizeof *regrets);
    for (size_t i = 0; i < models * configs; i++)
        regrets[i] = rue_selection_regret(selection, matrix, i / configs, i % configs);
    rue_status status = rue_config_set_open(regrets, models, configs, selection->weights, epsilon_ratio,
                                            &answers->set, error);
    free(regrets);
    return status;
}

struct point {
    double regret, bytes;
    size_t config;
};

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    if (a->regret != b->regret) return a->regret < b->regret ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return a->config < b->config ? -1 : a->config > b->config;
}

/* Finds the Pareto front. Of equal configurations it has only the first. */
static rue_status find_front(const struct rue_selection *selection, const double *memory_bytes,
                             struct rue_answers *answers, rue_error *error)
{
    size_t configs = selection->config_count;
    double least = INFINITY;
    struct point *points = calloc(configs + 1, sizeof *points);
    answers->memory_bytes = calloc(configs + 1, sizeof *answers->memory_bytes);
    answers->front = calloc(configs + 1, sizeof *answers->front);
    if (!points || !answers->memory_bytes || !answers->front) {
        free(points);
        return rue_fail_memory(error, "a front of time and memory", configs * sizeof *points);
    }
    memcpy(answers->memory_bytes, memory_bytes, configs * sizeof *memory_bytes);
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t c = selection->ranked[i];
        points[i] = (struct point){selection->rows[c].mean_regret_ratio, memory_bytes[c], c};
    }
    qsort(points, selection->ranked_count, sizeof *points, compare_points);
    for (size_t i = 0; i < selection->ranked_count; i++) {
        if (!(points[i].bytes < least)) continue; /* skips NaN, too */
        least = points[i].bytes;
        answers->front[answers->front_count++] = points[i].config;
    }
    free(points);
    return RUE_OK;
}

rue_status rue_answers_open(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                            double set_epsilon_ratio, const double *memory_bytes, struct rue_answers **out,
                            rue_error *error)
{
    struct rue_answers *answers = calloc(1, sizeof *answers);
    if (!answers) return rue_fail_memory(error, "answers", sizeof *answers);
    rue_status status = find_set(matrix, selection, set_epsilon_ratio, answers, error);
    if (status == RUE_OK) status = rue_leave_one_out_open(matrix, selection, &answers->leave_one_out, error);
    if (status == RUE_OK && memory_bytes) status = find_front(selection, memory_bytes, answers, error);
    if (status != RUE_OK) return rue_answers_close(answers), status;
    *out = answers;
    return RUE_OK;
}

void rue_answers_close(struct rue_answers *answers)
{
    if (!answers) return;
    rue_config_set_close(answers->set);
    rue_leave_one_out_close(answers->leave_one_out);
    free(answers->memory_bytes);
    free(answers->front);
    free(answers);
}
