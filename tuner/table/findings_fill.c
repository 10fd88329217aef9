#include "findings_fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "trial_options.h"

static const double min_gain_ratio =
    RUE_DEFAULT_EPSILON; /* of regret; a smaller gain is not worth a change */

/* Where nothing was measured twice, the noise of this machine is unknown, and so is the interval. */
static struct rue_speedup find_gain(const struct rue_cost_matrix *matrix, double confidence,
                                    const struct rue_selection *selection, size_t baseline)
{
    const struct rue_variant_findings variant = {.matrix = matrix, .selection = selection};
    struct rue_speedup gain;
    size_t best = selection->recommended;
    if (rue_speedup_find(matrix, selection, best, baseline, confidence, &gain) &&
        !rue_findings_noise_is_measured(&variant, best, baseline))
        gain = (struct rue_speedup){.ratio = gain.ratio, .low = NAN, .high = NAN};
    return gain;
}

static void find_gains_over(const struct rue_cost_matrix *matrix, double confidence,
                            const struct rue_selection *selection, struct rue_baseline_findings *baselines)
{
    for (size_t i = 0; i < baselines->count; i++) {
        struct rue_baseline_row *row = &baselines->rows[i];
        row->gain = (struct rue_speedup){0};
        if (row->config != selection->recommended)
            row->gain = find_gain(matrix, confidence, selection, row->config);
    }
}

static void find_baseline_gains(const struct rue_cost_matrix *matrix, double confidence,
                                struct rue_selection *selection, struct rue_baseline_findings *baselines)
{
    const struct rue_baseline_row *kept = NULL;
    baselines->found = selection->recommended;
    baselines->found_gain = (struct rue_speedup){0};
    if (selection->recommended == RUE_NONE) return;
    find_gains_over(matrix, confidence, selection, baselines);
    for (size_t i = 0; i < baselines->count; i++) {
        const struct rue_baseline_row *row = &baselines->rows[i];
        if (row->config == baselines->found) return;
        if (!(row->gain.ratio > 0) || selection->rows[row->config].predicted) continue;
        if (rue_speedup_is_proven(&row->gain)) continue;
        if (rue_selection_value(selection, row->config) - rue_selection_value(selection, baselines->found) >
            min_gain_ratio)
            continue;
        if (!kept || rue_selection_is_better(selection, row->config, kept->config)) kept = row;
    }
    if (!kept || selection->rows[baselines->found].predicted) return;
    baselines->found_gain = kept->gain;
    selection->recommended = kept->config;
    find_gains_over(matrix, confidence, selection, baselines);
}

rue_status rue_findings_rank(const struct rue_cost_matrix *matrix, const struct rue_ranking_rules *rules,
                             struct rue_baseline_findings *baselines, struct rue_selection **out,
                             rue_error *error)
{
    rue_status status = rue_ranking_rules_select(rules, matrix, out, error);
    if (status == RUE_OK) find_baseline_gains(matrix, rules->confidence, *out, baselines);
    return status;
}

/* ---- several variants ---- */

struct group {
    const char *scope;
    size_t count;
    const struct rue_variant_findings **variants; /* [count] */
};

/* Configurations that every variant has, in the order of the first; returns their number. */
static size_t common_configs(const struct group *group, struct rue_config *out)
{
    const struct rue_cost_matrix *first = group->variants[0]->matrix;
    size_t count = 0;
    for (size_t c = 0; c < first->config_count; c++) {
        const struct rue_config *config = &first->configs[c];
        bool common = true;
        for (size_t v = 1; common && v < group->count; v++)
            common = rue_cost_matrix_config(group->variants[v]->matrix, config) != RUE_NONE;
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
        rue_cost_matrix_add_failure(matrix, scenario, config, outcomes[cell->state], cell->reason);
    return RUE_OK;
}

static rue_status fill_cells(const struct group *group, struct rue_cost_matrix *matrix, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t first = 0;
    for (size_t v = 0; v < group->count; first += group->variants[v++]->matrix->model_count) {
        const struct rue_cost_matrix *own = group->variants[v]->matrix;
        for (size_t c = 0; c < matrix->config_count; c++) {
            size_t column = rue_cost_matrix_config(own, &matrix->configs[c]);
            for (size_t m = 0; status == RUE_OK && m < own->model_count; m++)
                status = copy_cell(rue_cost_matrix_cell(own, m, column), matrix, first + m, c, error);
        }
    }
    return status;
}

/* A matrix of all scenarios and common configurations; NULL without any. Models keep their names, by which
 * the rules find their weights. */
static rue_status join_matrix(const struct group *group, struct rue_cost_matrix **out, rue_error *error)
{
    size_t scenarios = 0, used = 0, max_configs = group->variants[0]->matrix->config_count;
    for (size_t v = 0; v < group->count; v++) scenarios += group->variants[v]->matrix->model_count;
    struct rue_config *configs = calloc(max_configs + 1, sizeof *configs);
    const char **models = calloc(scenarios + 1, sizeof *models);
    rue_status status =
        configs && models ? RUE_OK : rue_fail_memory(error, "configurations", max_configs * sizeof *configs);
    for (size_t v = 0; status == RUE_OK && v < group->count; v++)
        for (size_t m = 0; m < group->variants[v]->matrix->model_count; m++)
            models[used++] = group->variants[v]->matrix->models[m];
    size_t count = status == RUE_OK ? common_configs(group, configs) : 0;
    *out = NULL;
    if (count > 0) status = rue_cost_matrix_open(configs, count, models, scenarios, out, error);
    if (*out && status == RUE_OK) status = fill_cells(group, *out, error);
    free(models);
    free(configs);
    return status;
}

/* Name of each variant, and mean and worst regret of the best configuration over its models. */
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
        if (selection->recommended == RUE_NONE) continue;
        for (size_t m = 0; m < own->model_count; m++) {
            double weight = rue_ranking_rules_weight(rules, own->models[m]);
            double regret = rue_selection_regret(selection, out->matrix, first + m, selection->recommended);
            sum += weight * regret;
            weights += weight;
            if (m == 0 || regret > part->max_regret_ratio) part->max_regret_ratio = regret;
        }
        part->mean_regret_ratio = sum / weights;
        first += own->model_count;
    }
}

/* Only for baselines that all variants have. */
static void find_gains(const struct group *group, const struct rue_ranking_rules *rules,
                       struct rue_selection *selection, struct rue_overall *out)
{
    const struct rue_variant_findings *first = group->variants[0];
    for (size_t i = 0; i < first->baselines.count; i++) {
        struct rue_baseline_row row = first->baselines.rows[i];
        row.config = rue_cost_matrix_config(out->matrix, &first->matrix->configs[row.config]);
        if (row.config != RUE_NONE) out->baselines.rows[out->baselines.count++] = row;
    }
    find_baseline_gains(out->matrix, rules->confidence, selection, &out->baselines);
}

static rue_status find_overall(struct rue_findings *findings, const struct group *group,
                               const struct rue_ranking_rules *rules, rue_error *error)
{
    struct rue_selection *selection = NULL;
    struct rue_overall *out = &findings->overall[findings->overall_count];
    if (group->count < 2) return RUE_OK;
    rue_status status = join_matrix(group, &out->matrix, error);
    if (!out->matrix) return status;
    findings->overall_count++; /* now, so that it is closed if the rest fails */
    if (status == RUE_OK) status = rue_ranking_rules_select(rules, out->matrix, &selection, error);
    out->selection = selection;
    out->scope = group->scope;
    out->goal = group->variants[0]->goal;
    out->part_count = group->count;
    out->parts = calloc(group->count, sizeof *out->parts);
    if (status == RUE_OK && !out->parts) status = rue_fail_memory(error, "parts", sizeof *out->parts);
    if (status != RUE_OK) return status;
    find_gains(group, rules, selection, out);
    fill_parts(findings, group, rules, out);
    return RUE_OK;
}

/* Variants of the mode (RUE_MODE_COUNT: all) whose times can be compared. */
static void collect_variants(const struct rue_findings *findings, int mode, struct group *out)
{
    out->scope = mode == RUE_MODE_COUNT ? "all" : rue_mode_names[mode];
    out->count = 0;
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        bool known = rue_findings_mode_is_known(variant);
        bool included = mode == RUE_MODE_COUNT || (known && variant->variant.mode == (enum rue_mode)mode);
        if (included && variant->goal == findings->variants[0].goal) out->variants[out->count++] = variant;
    }
}

rue_status rue_overall_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                            rue_error *error)
{
    struct group group;
    size_t mode_variants = 0;
    rue_status status = RUE_OK;
    if (rue_findings_compares_ranks(findings)) return RUE_OK;
    group.variants = calloc(findings->variant_count + 1, sizeof *group.variants);
    if (!group.variants) return rue_fail_memory(error, "variants", sizeof *group.variants);
    for (int mode = 0; status == RUE_OK && mode <= RUE_MODE_COUNT; mode++) {
        collect_variants(findings, mode, &group);
        if (mode == RUE_MODE_COUNT && group.count == mode_variants)
            break; /* all variants have the same mode */
        if (group.count > mode_variants) mode_variants = group.count;
        status = find_overall(findings, &group, rules, error);
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

/* Bytes of the batches in flight. */
static double memory_bytes(const struct rue_variant_findings *variant, const struct rue_config *config)
{
    struct rue_trial_request request = {.measure = RUE_JOINT,
                                        .variant = variant->variant,
                                        .config = *config,
                                        .workload = variant->job.workload,
                                        .images = variant->job.images,
                                        .job_images = variant->job.images};
    struct rue_loader_options options = rue_trial_loader_options(&request);
    return (double)rue_loader_slab_bytes(&options);
}

static bool is_own_loader(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    return variant->job.images && strcmp(findings->runner.measured_with, "rue") == 0;
}

/* True if several configurations are ranked, and each has run the whole job at least twice. */
static bool is_measured(const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    size_t ranked = 0;
    for (size_t c = 0; c < selection->config_count; c++) {
        if (!selection->rows[c].ranked) continue;
        ranked++;
        for (size_t m = 0; m < selection->model_count; m++) {
            const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, c);
            if (cell->predicted || cell->repeats < 2) return false;
        }
    }
    return ranked > 1;
}

/* ---- findings ---- */

static rue_status find_answers(const struct rue_findings *findings, struct rue_variant_findings *variant,
                               const struct rue_ranking_rules *rules, rue_error *error)
{
    size_t configs = variant->matrix->config_count;
    struct rue_answers *answers = NULL;
    double *bytes = is_own_loader(findings, variant) ? calloc(configs + 1, sizeof *bytes) : NULL;
    if (!bytes && is_own_loader(findings, variant))
        return rue_fail_memory(error, "the memory of configurations", configs * sizeof *bytes);
    for (size_t c = 0; bytes && c < configs; c++)
        bytes[c] = memory_bytes(variant, &variant->matrix->configs[c]);
    rue_status status = rue_answers_open(variant->matrix, variant->selection, rules->set_epsilon_ratio, bytes,
                                         &answers, error);
    free(bytes);
    variant->answers = answers;
    if (status == RUE_OK && rue_findings_is_unsteady(findings)) {
        rue_findings_withhold(variant);
        return RUE_OK;
    }
    if (status != RUE_OK || variant->interval.confidence > 0) return status;
    status = rue_regret_interval_find(variant->matrix, variant->selection, rules->confidence,
                                      &variant->interval, error);
    if (status != RUE_OK || variant->interval.confidence == 0 || !is_measured(variant)) return status;
    variant->claim.bound_ratio = variant->interval.bound_ratio;
    variant->claim.confidence = variant->interval.confidence;
    variant->claim.measured_only = true;
    return RUE_OK;
}

static rue_status check_weights(const struct rue_findings *findings, const struct rue_ranking_rules *rules,
                                rue_error *error)
{
    struct rue_names models = {0};
    rue_status status = RUE_OK;
    size_t number;
    for (size_t v = 0; rules->weights_origin && v < findings->variant_count; v++) {
        const struct rue_cost_matrix *matrix = findings->variants[v].matrix;
        for (size_t m = 0; status == RUE_OK && m < matrix->model_count; m++)
            status = rue_names_number(&models, matrix->models[m], &number, error);
    }
    if (status == RUE_OK)
        status = rue_ranking_rules_check(rules, (const char *const *)models.texts, models.count, error);
    rue_names_close(&models);
    return status;
}

rue_status rue_findings_fill(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                             rue_error *error)
{
    rue_status status = check_weights(findings, rules, error);
    for (size_t v = 0; status == RUE_OK && v < findings->variant_count; v++) {
        struct rue_variant_findings *variant = &findings->variants[v];
        struct rue_selection *selection = NULL;
        status = rue_findings_rank(variant->matrix, rules, &variant->baselines, &selection, error);
        variant->selection = selection;
        if (status == RUE_OK) status = find_answers(findings, variant, rules, error);
    }
    return status == RUE_OK ? rue_overall_find(findings, rules, error) : status;
}

void rue_findings_close(struct rue_findings *findings)
{
    if (!findings) return;
    rue_overall_close(findings);
    for (size_t v = 0; v < findings->variant_count; v++) {
        rue_answers_close((struct rue_answers *)findings->variants[v].answers);
        rue_selection_close((struct rue_selection *)findings->variants[v].selection);
        rue_cost_matrix_close((struct rue_cost_matrix *)findings->variants[v].matrix);
    }
    free(findings->variants);
    free(findings);
}

static rue_status check_decided(const struct rue_findings *findings, rue_error *error)
{
    const struct rue_variant_findings *variant = rue_findings_first_undecided(findings);
    char why[RUE_WHY_NOT_BYTES], name[PATH_MAX + 128] = "";
    if (!variant) return RUE_OK;
    rue_findings_why_not(findings, variant, why);
    if (findings->variant_count > 1) rue_findings_name_among(findings, variant, name, sizeof name);
    return rue_fail(error, RUE_INCONCLUSIVE, "not decided%s%s, because %s: %s", name[0] ? " for " : "", name,
                    why, rue_findings_next_step(findings, variant));
}

rue_status rue_findings_check_answer(const struct rue_findings *findings, rue_error *error)
{
    bool feasible = false; /* false: every trial failed or was infeasible */
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_trial_findings *trials = &findings->variants[v].trials;
        feasible |= trials->ok || !(trials->failed || trials->infeasible || trials->timeout);
    }
    for (size_t v = 0; v < findings->variant_count; v++) {
        char name[PATH_MAX + 128];
        if (findings->variants[v].selection->recommended != RUE_NONE ||
            !rue_findings_is_counted(findings, &findings->variants[v]))
            continue;
        rue_findings_name_among(findings, &findings->variants[v], name, sizeof name);
        if (findings->run.partial && feasible)
            return rue_fail(error, RUE_INCONCLUSIVE,
                            "nothing to recommend for %s so far (%s): tune again with the same options to "
                            "continue, or raise --budget",
                            name, findings->run.partial_reason);
        return rue_fail(error, RUE_INFEASIBLE,
                        "nothing to recommend for %s: no configuration could be measured on every model; fix "
                        "the reasons in the report, or leave out a model",
                        name);
    }
    return check_decided(findings, error);
}
