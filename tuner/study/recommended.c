#include "recommended.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "json_canonical.h"
#include "json_findings.h"
#include "prediction.h"

enum { CONFIGS_MAX = 1 << 17, MODELS_MAX = 4096, CELLS_MAX = 8000000, WEIGHT_MAX = 1000000000 };

/* ---- models and configurations ---- */

struct axes {
    size_t model_count;
    const char **models; /* [model_count] owned, the names are not */
    size_t config_count;
    struct rue_config *configs; /* [config_count] owned */
};

static const struct rue_field model_fields[] = {{"", RUE_FIELD_STRING, .offset = 0}, {0}};
static const struct rue_field config_fields[] = {{"config", RUE_FIELD_CONFIG, .offset = 0}, {0}};

static const struct rue_field axes_fields[] = {
    {"models", RUE_FIELD_LIST, RUE_FIELD_AT(axes, models), RUE_FIELD_POINTED, .most = MODELS_MAX,
     .fields = model_fields, .count = offsetof(struct axes, model_count), .element = sizeof(const char *)},
    {"configs", RUE_FIELD_LIST, RUE_FIELD_AT(axes, configs), RUE_FIELD_POINTED, .most = CONFIGS_MAX,
     .fields = config_fields, .count = offsetof(struct axes, config_count),
     .element = sizeof(struct rue_config)},
    {0}};

/* Opens a matrix with all models and configurations, without cells. */
static void make_matrix(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    struct axes axes = {0};
    rue_json_read_fields(reader, object, axes_fields, &axes);
    if (axes.model_count * axes.config_count > CELLS_MAX)
        rue_json_refuse(reader, "configs", "a list of the right length");
    for (size_t m = 0; m < axes.model_count; m++)
        if (strlen(axes.models[m]) >= RUE_MODEL_NAME_BYTES)
            rue_json_refuse(reader, "models", "a list of names");
    out->weights = calloc(axes.model_count + 1, sizeof *out->weights);
    out->profiles = calloc(axes.model_count + 1, sizeof *out->profiles);
    if (!out->weights || !out->profiles)
        reader->status =
            rue_fail_memory(reader->error, "a recommendation", axes.model_count * sizeof *out->profiles);
    if (reader->status == RUE_OK)
        reader->status = rue_cost_matrix_open(axes.configs, axes.config_count, axes.models, axes.model_count,
                                              &out->matrix, reader->error);
    free(axes.models);
    free(axes.configs);
}

static void read_weights(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    const json_t *weights = rue_json_object(reader, object, "weights", true);
    size_t length = rue_json_enter(reader, "weights");
    for (size_t m = 0; m < out->matrix->model_count; m++) {
        const struct rue_field weight = {out->matrix->models[m], RUE_FIELD_REAL, .most = WEIGHT_MAX};
        out->weights[m] = 1;
        if (weights) rue_json_read_field(reader, weights, &weight, &out->weights[m]);
        if (!(out->weights[m] > 0)) rue_json_refuse(reader, weight.name, "a positive number");
    }
    rue_json_exit(reader, length);
}

/* ---- cells ---- */

/* Adds first batches before times, because they decide whether a cell is too late. */
static void add_cell(struct rue_json_reader *reader, const struct rue_json_cell *cell,
                     struct rue_cost_matrix *matrix, size_t model, size_t config)
{
    rue_status status = RUE_OK;
    if (cell->infeasible > cell->missed) rue_json_refuse(reader, "infeasible", "at most 'missed'");
    if (reader->status != RUE_OK) return;
    if (!isnan(cell->first_estimate_ns))
        rue_cost_matrix_estimate_first_batch(matrix, model, config, cell->first_estimate_ns);
    for (size_t i = 0; i < cell->missed; i++)
        rue_cost_matrix_add_failure(matrix, model, config,
                                    i < cell->infeasible ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED,
                                    cell->reason);
    for (size_t i = 0; status == RUE_OK && i < cell->first_count; i++)
        status = rue_cost_matrix_add_first_batch(matrix, model, config, cell->first_batches_ns[i], NULL);
    if (status == RUE_OK)
        status = rue_cost_matrix_add_repeats(matrix, model, config, cell->times_ns, cell->time_count,
                                             cell->predicted, NULL);
    if (status == RUE_OK && !isnan(cell->estimate_ns))
        status = rue_cost_matrix_estimate(matrix, model, config, cell->estimate_ns, cell->estimate_sd,
                                          cell->trials, cell->predicted, NULL);
    if (status == RUE_MEMORY) reader->status = rue_fail_memory(reader->error, "times", 0);
    if (status != RUE_OK) rue_json_refuse(reader, "times_ns", "a list of times");
}

static void read_cell(struct rue_json_reader *reader, const json_t *cells, struct rue_cost_matrix *matrix,
                      size_t model, size_t config)
{
    struct rue_json_cell cell = {.estimate_ns = NAN, .estimate_sd = NAN, .first_estimate_ns = NAN};
    const struct rue_field field = {matrix->models[model], RUE_FIELD_STRUCT, .fields = rue_json_cell_fields};
    rue_json_read_field(reader, cells, &field, &cell);
    size_t length = rue_json_enter(reader, field.name);
    add_cell(reader, &cell, matrix, model, config);
    rue_json_exit(reader, length);
    free(cell.times_ns);
    free(cell.first_batches_ns);
}

static void read_cells(struct rue_json_reader *reader, const json_t *object, struct rue_cost_matrix *matrix)
{
    const json_t *rows = json_object_get(object, "configs");
    size_t outer = rue_json_enter(reader, "configs");
    for (size_t c = 0; reader->status == RUE_OK && c < matrix->config_count; c++) {
        size_t length = rue_json_enter_at(reader, c);
        const json_t *cells = rue_json_object(reader, json_array_get(rows, c), "cells", false);
        rue_json_enter(reader, "cells");
        for (size_t m = 0; m < matrix->model_count; m++) read_cell(reader, cells, matrix, m, c);
        rue_json_exit(reader, length);
    }
    rue_json_exit(reader, outer);
}

/* ---- the prior of a later study ---- */

/* Of a logarithm: a standard deviation above a factor of e^10 carries no information. */
static const double most_variance = 100;

/* False unless the parameters are those of this program, in the same order. */
static bool read_parameters(struct rue_json_reader *reader, const json_t *forecast, struct rue_knowledge *out)
{
    const struct rue_json_parameters own = rue_json_parameters(out);
    struct rue_json_parameters parsed = {0};
    rue_json_read_fields(reader, forecast, rue_json_parameters_fields, &parsed);
    bool valid = reader->status == RUE_OK && parsed.count == own.count;
    for (size_t p = 0; valid && p < own.count; p++) {
        const struct rue_json_parameter *from = &parsed.at[p];
        double variance = from->covariance[p];
        valid = strcmp(from->name, own.at[p].name) == 0 && from->value > 0 &&
                from->covariance_count == own.count && variance >= 0 && variance <= most_variance;
        for (size_t q = 0; q < own.count; q++) valid &= isfinite(from->covariance[q]);
        out->loader.value[p] = from->value;
        memcpy(out->covariance[p], from->covariance, sizeof from->covariance);
    }
    return valid;
}

/* Reads one model, for either pinned or pageable batches. */
static bool read_consumer(struct rue_json_reader *reader, const json_t *item, struct rue_knowledge_model *out)
{
    struct rue_knowledge_model parsed = *out;
    rue_json_read_fields(reader, item, rue_json_consumer_fields, &parsed);
    bool valid = reader->status == RUE_OK;
    for (size_t i = 0; valid && i < parsed.curve.count; i++) {
        valid = parsed.curve.points[i].batch_s > 0;
        rue_compute_curve_add(&out->curve, parsed.curve.points[i].batch_size, parsed.curve.points[i].batch_s,
                              NAN);
    }
    out->curve.cpu_ratio = parsed.curve.cpu_ratio;
    out->consumer = parsed.consumer;
    return valid;
}

static bool read_models(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out,
                        struct rue_knowledge *knowledge)
{
    const json_t *list = json_object_get(forecast, "models");
    bool valid = json_array_size(list) == out->matrix->model_count;
    for (size_t m = 0; valid && m < out->matrix->model_count; m++) {
        const json_t *item = json_array_get(list, m), *pageable = json_object_get(item, "pageable");
        const char *name = json_string_value(json_object_get(item, "model"));
        valid = name && strcmp(name, out->matrix->models[m]) == 0 &&
                read_consumer(reader, item, &knowledge->consumers[2 * m]) &&
                (!pageable || read_consumer(reader, pageable, &knowledge->consumers[2 * m + 1]));
        char *profile = rue_json_dump(json_object_get(item, "profile"), 0);
        rue_json_canonical(profile ? profile : "", out->profiles[m], sizeof out->profiles[m]);
        free(profile);
    }
    return valid;
}

/* Skips a forecast of another version of rue, whose loader has other parameters. */
static void read_forecast(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out)
{
    struct rue_knowledge *knowledge;
    reader->status = rue_knowledge_open(out->matrix->model_count, &knowledge, reader->error);
    if (reader->status != RUE_OK) return;
    struct rue_json_reader own = {.status = RUE_OK}; /* its errors are ignored */
    rue_json_read_fields(&own, forecast, rue_json_loader_fields, knowledge);
    out->predicted =
        read_parameters(&own, forecast, knowledge) && read_models(&own, forecast, out, knowledge);
    if (out->predicted)
        out->knowledge = knowledge;
    else
        rue_knowledge_close(knowledge);
}

/* ---- the variant ---- */

#define RECOMMENDED(member) RUE_FIELD_AT(rue_recommended, member)

static const struct rue_field recommended_fields[] = {
    {"variant", RUE_FIELD_STRUCT, RECOMMENDED(found), .fields = rue_json_data_fields},
    {"config", RUE_FIELD_OTHER, RECOMMENDED(best), RUE_FIELD_OPTIONAL, .type = &rue_json_config_index},
    {"objective", RUE_FIELD_WORD, RECOMMENDED(objective), .words = rue_objective_names},
    {"goal", RUE_FIELD_WORD, RECOMMENDED(found.goal), .words = rue_goal_names},
    {"max_first_batch_ns", RUE_FIELD_NUMBER, RECOMMENDED(max_first_batch_ns), RUE_FIELD_OPTIONAL},
    {"measured_with", RUE_FIELD_TEXT, RECOMMENDED(measured_with)},
    {"baselines", RUE_FIELD_STRUCT, RECOMMENDED(found.baselines), RUE_FIELD_OPTIONAL,
     .fields = rue_json_baselines_fields},
    {"evidence", RUE_FIELD_STRUCT, RECOMMENDED(found), RUE_FIELD_OPTIONAL,
     .fields = rue_json_evidence_fields},
    {0}};

static void read_late(struct rue_json_reader *reader, const json_t *object, struct rue_trial_findings *out)
{
    static const struct rue_field late = {"sleep_overshoot_ratio", RUE_FIELD_REAL, .offset = 0};
    double ratio;
    rue_json_read_field(reader, json_object_get(object, "evidence"), &late, &ratio);
    if (reader->status == RUE_OK && !isnan(ratio)) out->meant_ns = 1, out->late_ns = ratio;
}

/* The baseline with the smallest gain over it. */
static const struct rue_baseline_row *nearest_baseline(const struct rue_baseline_findings *baselines)
{
    const struct rue_baseline_row *found = NULL;
    for (size_t i = 0; i < baselines->count; i++) {
        const struct rue_baseline_row *row = &baselines->rows[i];
        if (row->gain.ratio > 0 && (!found || row->gain.ratio < found->gain.ratio)) found = row;
    }
    return found;
}

void rue_recommended_read(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    struct rue_variant_findings *found = &out->found;
    out->best = RUE_NONE;
    found->job.workload = rue_workload_default();
    make_matrix(reader, object, out);
    if (reader->status != RUE_OK) return;
    reader->context = out->matrix;
    rue_json_read_fields(reader, object, recommended_fields, out);
    rue_json_read_fields(reader, object, rue_json_variant_fields, found);
    read_late(reader, object, &found->trials);
    found->job.workload_known = json_is_object(json_object_get(object, "workload"));
    found->interval.bound_ratio = found->claim.bound_ratio;
    out->matrix->first_limit_ns = out->max_first_batch_ns;
    out->baseline = nearest_baseline(&found->baselines);
    read_weights(reader, object, out);
    read_cells(reader, object, out->matrix);
    const json_t *forecast = rue_json_object(reader, object, "forecast", true);
    if (forecast && reader->status == RUE_OK) read_forecast(reader, forecast, out);
}

void rue_recommended_close(struct rue_recommended *recommended)
{
    rue_cost_matrix_close(recommended->matrix);
    free(recommended->weights);
    free(recommended->profiles);
    rue_knowledge_close(recommended->knowledge);
}

/* ---- used ---- */

double rue_recommended_s(const struct rue_recommended *recommended, size_t model, size_t config)
{
    double ns = rue_cost_matrix_cell(recommended->matrix, model, config)->median_ns;
    return recommended->found.goal == RUE_GOAL_TIME && ns > 0 ? ns / 1e9 : NAN;
}

bool rue_recommended_is_unfit(const struct rue_recommended *recommended, size_t config)
{
    bool unfit = false;
    for (size_t m = 0; m < recommended->matrix->model_count; m++) {
        enum rue_cell_state state = rue_cost_matrix_cell(recommended->matrix, m, config)->state;
        unfit |= state == RUE_CELL_FAILED || state == RUE_CELL_INFEASIBLE;
    }
    return unfit;
}

rue_status rue_recommended_make_knowledge(struct rue_recommended *recommended, int cpus, bool in_turn,
                                          rue_error *error)
{
    const struct rue_cost_matrix *matrix = recommended->matrix;
    size_t models = matrix->model_count, configs = matrix->config_count;
    if (recommended->knowledge) return RUE_OK;
    if (!models || !configs || !recommended->found.job.images)
        return rue_fail(error, RUE_DATA, "the recommendation has no times of a job of known length");
    double *times_s = calloc(models * configs, sizeof *times_s);
    if (!times_s) return rue_fail_memory(error, "times", models * configs * sizeof *times_s);
    for (size_t i = 0; i < models * configs; i++)
        times_s[i] = rue_recommended_s(recommended, i / configs, i % configs);
    const struct rue_setup_grid grid = {models, configs, matrix->configs};
    struct rue_strategy_setup setup = rue_strategy_setup_default(grid, recommended->found.job.images);
    setup.runner.cpus = cpus;
    setup.runner.round_robin = in_turn;
    setup.stop = rue_interrupt_status;
    rue_status status = rue_knowledge_from_jobs(&setup, times_s, &recommended->knowledge, error);
    free(times_s);
    return status;
}
