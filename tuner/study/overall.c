#include "overall.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline_gains.h"

/* The variants of a group. */
struct group {
    const char *over;
    size_t count;
    const struct rue_variant_findings **variants; /* [count] */
};

static size_t column_of(const struct rue_cost_matrix *matrix, const struct rue_config *config)
{
    for (size_t c = 0; c < matrix->config_count; c++)
        if (rue_config_equal(&matrix->configs[c], config)) return c;
    return RUE_NONE;
}

/* Configurations that every variant has, in the order of the first, into `out`; answers how many. */
static size_t common_configs(const struct group *group, struct rue_config *out)
{
    const struct rue_cost_matrix *first = group->variants[0]->matrix;
    size_t count = 0;
    for (size_t c = 0; c < first->config_count; c++) {
        const struct rue_config *config = &first->configs[c];
        bool common = true;
        for (size_t v = 1; common && v < group->count; v++)
            common = column_of(group->variants[v]->matrix, config) != RUE_NONE;
        if (common) out[count++] = *config;
    }
    return count;
}

static rue_status copy_cell(const struct rue_cell *cell, struct rue_cost_matrix *matrix, size_t scenario,
                            size_t config, rue_error *error)
{
    static const enum rue_outcome outcomes[] = {
        [RUE_CELL_INFEASIBLE] = RUE_TRIAL_INFEASIBLE, [RUE_CELL_FAILED] = RUE_TRIAL_FAILED};
    if (cell->state == RUE_CELL_OK && cell->repeats > 0 && cell->times_ns)
        return rue_cost_matrix_add_repeats(matrix, scenario, config, cell->times_ns, cell->repeats,
                                           cell->predicted, error);
    if (cell->state == RUE_CELL_OK)
        return rue_cost_matrix_estimate(matrix, scenario, config, cell->median_ns, cell->estimate_sd,
                                        cell->repeats, cell->predicted, error);
    if (cell->state != RUE_CELL_MISSING)
        rue_cost_matrix_miss(matrix, scenario, config, outcomes[cell->state], cell->reason);
    return RUE_OK;
}

static rue_status fill_part(const struct rue_variant_findings *variant, struct rue_cost_matrix *matrix,
                            size_t first, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t c = 0; c < matrix->config_count; c++) {
        size_t column = column_of(variant->matrix, &matrix->configs[c]);
        for (size_t m = 0; status == RUE_OK && m < variant->matrix->model_count; m++)
            status = copy_cell(rue_cost_matrix_cell(variant->matrix, m, column), matrix, first + m, c, error);
    }
    return status;
}

static rue_status fill(const struct group *group, struct rue_cost_matrix *matrix, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t first = 0;
    for (size_t v = 0; status == RUE_OK && v < group->count; v++) {
        status = fill_part(group->variants[v], matrix, first, error);
        first += group->variants[v]->matrix->model_count;
    }
    return status;
}

/* Their names, and what the best costs each: the mean and the worst regret over its models. */
static void fill_parts(const struct rue_findings *findings, const struct group *group,
                       const struct rue_ranking_rules *rules, struct rue_overall *out)
{
    const struct rue_selection *selection = out->selection;
    size_t first = 0;
    for (size_t v = 0; v < group->count; v++) {
        struct rue_overall_part *part = &out->parts[v];
        const struct rue_cost_matrix *own = group->variants[v]->matrix;
        double sum = 0, weights = 0;
        rue_findings_name_among(findings, group->variants[v], part->name, sizeof part->name);
        part->mean_regret_ratio = part->max_regret_ratio = NAN;
        if (out->best == RUE_NONE) continue;
        for (size_t m = 0; m < own->model_count; m++) {
            double weight = rue_ranking_rules_weight(rules, own->models[m]);
            double regret = rue_selection_regret(selection, out->matrix, first + m, out->best);
            sum += weight * regret;
            weights += weight;
            if (m == 0 || regret > part->max_regret_ratio) part->max_regret_ratio = regret;
        }
        part->mean_regret_ratio = sum / weights;
        first += own->model_count;
    }
}

/* Models keep their names, whose weights the rules know; which variant's they are the parts tell. */
/* Over the baselines that all variants have. */
static void find_gains(const struct group *group, const struct rue_ranking_rules *rules,
                       struct rue_selection *selection, struct rue_overall *out)
{
    const struct rue_variant_findings *first = group->variants[0];
    for (size_t i = 0; i < first->baselines.count; i++) {
        struct rue_baseline_row row = first->baselines.rows[i];
        row.config = column_of(out->matrix, &first->matrix->configs[row.config]);
        if (row.config != RUE_NONE) out->baselines.rows[out->baselines.count++] = row;
    }
    rue_baseline_gains_find(out->matrix, rules->confidence, selection, &out->baselines);
}

static rue_status select_one(const struct rue_findings *findings, const struct group *group,
                             const struct rue_ranking_rules *rules, const struct rue_config *configs,
                             size_t config_count, struct rue_overall *out, rue_error *error)
{
    size_t scenarios = 0;
    for (size_t v = 0; v < group->count; v++) scenarios += group->variants[v]->matrix->model_count;
    const char **models = calloc(scenarios + 1, sizeof *models);
    struct rue_selection *selection = NULL;
    if (!models) return rue_fail_memory(error, "scenarios", scenarios * sizeof *models);
    size_t used = 0;
    for (size_t v = 0; v < group->count; v++)
        for (size_t m = 0; m < group->variants[v]->matrix->model_count; m++)
            models[used++] = group->variants[v]->matrix->models[m];
    rue_status status = rue_cost_matrix_open(configs, config_count, models, scenarios, &out->matrix, error);
    free(models);
    if (status == RUE_OK) status = fill(group, out->matrix, error);
    if (status == RUE_OK) status = rue_ranking_rules_select(rules, out->matrix, &selection, error);
    out->selection = selection;
    out->over = group->over;
    out->goal = group->variants[0]->goal;
    out->part_count = group->count;
    out->parts = calloc(group->count, sizeof *out->parts);
    if (status == RUE_OK && !out->parts) status = rue_fail_memory(error, "parts", sizeof *out->parts);
    if (status != RUE_OK) return status;
    find_gains(group, rules, selection, out);
    bool measured = selection->recommended != RUE_NONE;
    out->best = measured ? selection->recommended : selection->ranked_count ? selection->ranked[0] : RUE_NONE;
    fill_parts(findings, group, rules, out);
    return RUE_OK;
}

static rue_status find_one(struct rue_findings *findings, const struct group *group,
                           const struct rue_ranking_rules *rules, rue_error *error)
{
    if (group->count < 2) return RUE_OK;
    size_t most = group->variants[0]->matrix->config_count;
    struct rue_config *configs = calloc(most + 1, sizeof *configs);
    if (!configs) return rue_fail_memory(error, "configurations", most * sizeof *configs);
    size_t count = common_configs(group, configs);
    rue_status status = RUE_OK;
    if (count > 0)
        status = select_one(findings, group, rules, configs, count,
                            &findings->overall[findings->overall_count++], error);
    free(configs);
    return status;
}

/* Those of the mode (RUE_MODE_COUNT: all) whose times can be compared. */
static void gather(const struct rue_findings *findings, int mode, struct group *out)
{
    out->over = mode == RUE_MODE_COUNT ? "all" : rue_mode_names[mode];
    out->count = 0;
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        bool wanted = mode == RUE_MODE_COUNT || variant->variant.mode == (enum rue_mode)mode;
        if (wanted && variant->goal == findings->variants[0].goal) out->variants[out->count++] = variant;
    }
}

rue_status rue_overall_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                            rue_error *error)
{
    struct group group;
    size_t of_mode = 0;
    rue_status status = RUE_OK;
    group.variants = calloc(findings->variant_count + 1, sizeof *group.variants);
    if (!group.variants) return rue_fail_memory(error, "variants", sizeof *group.variants);
    for (int mode = 0; status == RUE_OK && mode <= RUE_MODE_COUNT; mode++) {
        gather(findings, mode, &group);
        if (mode == RUE_MODE_COUNT && group.count == of_mode) break; /* all are of one mode */
        if (group.count > of_mode) of_mode = group.count;
        status = find_one(findings, &group, rules, error);
    }
    free(group.variants);
    return status;
}

void rue_overall_close(struct rue_findings *findings)
{
    for (size_t i = 0; i < findings->overall_count; i++) {
        struct rue_overall *overall = &findings->overall[i];
        rue_selection_close((struct rue_selection *)overall->selection);
        rue_cost_matrix_close(overall->matrix);
        free(overall->parts);
    }
    findings->overall_count = 0;
}
