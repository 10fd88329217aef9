#include "study_recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

rue_status rue_study_open_recording(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_study_goal *goal = &setup->goal;
    rue_status status =
        rue_recording_open(goal->data.table, goal->data.map, goal->job.images, &setup->host.recording, error);
    if (status != RUE_OK) return status;
    return rue_runners_open_one(&rue_recording_runner, setup->host.recording, &setup->host.runners, error);
}

bool rue_study_assumes_job(const struct rue_study_setup *setup)
{
    return setup->host.recording && setup->host.recording->assumed && !setup->goal.job.batches;
}

/* The mean time of a cell in s; 0: the table has none. */
static double cell_s(const struct rue_study_setup *setup, size_t variant, size_t model,
                     const struct rue_config *config)
{
    double sum_ns = 0;
    const struct rue_cell *cell = rue_recording_find_cell(
        setup->host.recording, &setup->variants[variant].variant, setup->models[model].name, config);
    if (!cell || cell->repeats == 0) return 0;
    for (size_t i = 0; i < cell->repeats; i++) sum_ns += cell->times_ns[i];
    return sum_ns / (double)cell->repeats / 1e9;
}

bool rue_study_has_cell(const struct rue_study_setup *setup, size_t variant, size_t model, size_t config)
{
    return !setup->host.recording ||
           rue_recording_find_cell(setup->host.recording, &setup->variants[variant].variant,
                                   setup->models[model].name, &setup->configs[config]);
}

double rue_study_recording_s(const struct rue_study_setup *setup, size_t index)
{
    double sum = 0;
    for (size_t c = 0; c < setup->config_count; c++)
        for (size_t v = 0; v < setup->variant_count; v++)
            for (size_t m = 0; (index == RUE_NONE || index == v) && m < setup->model_count; m++)
                sum += cell_s(setup, v, m, &setup->configs[c]);
    return sum;
}

rue_status rue_study_resolve_budget(struct rue_study_setup *setup, rue_error *error)
{
    struct rue_budget *budget = &setup->goal.search.budget;
    if (!(budget->share > 0)) return RUE_OK;
    if (!setup->host.recording)
        return rue_fail(error, RUE_USAGE,
                        "--budget %g%%: a share needs a table (--table); give a time such as 2m",
                        100 * budget->share);
    budget->time_ns =
        (uint64_t)fmin(1e18, ceil(budget->share * rue_study_recording_s(setup, RUE_NONE) * 1e9));
    if (budget->time_ns > 0) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE, "%s has no times for the requested models and configurations",
                    setup->goal.data.table);
}

/* A matrix with the table's times of all cells of the study. */
static rue_status table_matrix(const struct rue_study_setup *setup, size_t variant,
                               struct rue_cost_matrix **out, rue_error *error)
{
    rue_status status = rue_study_open_matrix(setup, out, error);
    if (status != RUE_OK) return status;
    for (size_t i = 0; status == RUE_OK && i < setup->model_count * setup->config_count; i++) {
        size_t model = i % setup->model_count, config = i / setup->model_count;
        double time_s = cell_s(setup, variant, model, &setup->configs[config]);
        if (time_s > 0) status = rue_cost_matrix_add(*out, model, config, time_s * 1e9, false, error);
    }
    if (status != RUE_OK) rue_cost_matrix_close(*out);
    return status;
}

static void copy_regrets(const struct rue_selection *truth, const struct rue_study_setup *setup,
                         size_t chosen, struct rue_replayed *out)
{
    if (chosen != RUE_NONE) {
        out->mean_regret_ratio = truth->rows[chosen].mean_regret_ratio;
        out->max_regret_ratio = truth->rows[chosen].max_regret_ratio;
    }
    out->knows_best = truth->recommended != RUE_NONE;
    if (!out->knows_best) return;
    const struct rue_ranking_row *best = &truth->rows[truth->recommended];
    out->best = setup->configs[truth->recommended];
    out->best_mean_regret_ratio = best->mean_regret_ratio;
    out->best_max_regret_ratio = best->max_regret_ratio;
}

rue_status rue_study_judge_recording(const struct rue_study_setup *setup,
                                     const struct rue_study_ledger *ledger, size_t index,
                                     const struct rue_variant_findings *variant, struct rue_replayed *out,
                                     rue_error *error)
{
    struct rue_cost_matrix *matrix;
    struct rue_selection *truth;
    *out = (struct rue_replayed){
        .table_s = rue_study_recording_s(setup, index), .mean_regret_ratio = NAN, .max_regret_ratio = NAN};
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_ledger_trial *row = &ledger->rows[i].trial;
        if (ledger->rows[i].variant != index) continue;
        out->spent_s += row->result.cost_ns > 0 ? (double)row->result.cost_ns / 1e9 : 0;
        out->trials += row->result.outcome == RUE_TRIAL_OK;
    }
    rue_status status = table_matrix(setup, index, &matrix, error);
    if (status != RUE_OK) return status;
    status = rue_ranking_rules_select(&setup->goal.search.rules, matrix, &truth, error);
    if (status == RUE_OK) {
        copy_regrets(truth, setup, variant->selection->recommended, out);
        rue_selection_close(truth);
    }
    rue_cost_matrix_close(matrix);
    return status;
}
