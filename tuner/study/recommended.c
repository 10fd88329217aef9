#include "recommended.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "further_answers.h"
#include "interrupt.h"
#include "json_canonical.h"
#include "json_document.h"
#include "knowledge_json.h"
#include "prediction.h"
#include "protocol.h"
#include "workload_json.h"

/* TIME_MAX_NS: nine years. */
#define TIME_MAX_NS (UINT64_C(1) << 58)
enum { CONFIGS_MAX = 1 << 17, MODELS_MAX = 4096, CELLS_MAX = 8000000, REPEATS_MAX = 1 << 20 };

/* ---- facts ---- */

static void read_variant(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    char mode[16];
    struct rue_variant *variant = &out->found.variant;
    const json_t *said = rue_json_object(reader, object, "variant", false);
    size_t length = rue_json_enter(reader, "variant");
    RUE_JSON_COPY(reader, said, "mode", true, mode);
    RUE_JSON_COPY(reader, said, "format", false, variant->format);
    RUE_JSON_COPY(reader, said, "dtype", true, variant->dtype);
    RUE_JSON_COPY(reader, said, "path", true, variant->path);
    RUE_JSON_COPY(reader, said, "image_key", true, variant->image_key);
    RUE_JSON_COPY(reader, said, "label_key", true, variant->label_key);
    out->found.label = json_string_value(json_object_get(said, "label"));
    int number = rue_word_find(rue_mode_names, RUE_MODE_COUNT, mode);
    if (mode[0] && number < 0) rue_json_refuse(reader, "mode", "raw, preprocessed or null");
    out->mode_known = number >= 0;
    if (out->mode_known) variant->mode = (enum rue_mode)number;
    rue_json_leave(reader, length);
}

static void read_facts(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    rue_error why = {0};
    struct rue_variant_findings *found = &out->found;
    const json_t *workload = rue_json_object(reader, object, "workload", true);
    found->job.workload_known = workload;
    if (rue_workload_read(workload, &found->job.workload, &why) != RUE_OK)
        rue_json_refuse(reader, "workload", "how data are loaded");
    RUE_JSON_COPY(reader, object, "measured_with", false, out->measured_with);
    RUE_JSON_COPY(reader, object, "data_digest", true, found->data.digest);
    found->data.sample = rue_json_bool(reader, object, "sample");
    found->job.images = rue_json_count(reader, object, "job_images", true, INT64_MAX);
    found->data.images = rue_json_count(reader, object, "data_images", true, INT64_MAX);
    found->data.bytes = rue_json_count(reader, object, "data_bytes", true, INT64_MAX);
    found->job.gpus = rue_json_count(reader, object, "gpus", true, INT64_MAX);
    found->data.build_s_per_image = fmax(0, rue_json_number_of(reader, object, "build_s_per_image", true));
    found->models_unnamed = json_is_true(json_object_get(object, "models_unnamed"));
    found->goal = (enum rue_goal)rue_json_word(reader, object, "goal", rue_goal_names, RUE_GOAL_COUNT);
    out->objective = (enum rue_objective)rue_json_word(reader, object, "objective", rue_objective_names,
                                                       RUE_OBJECTIVE_COUNT);
    out->max_first_batch_ns = rue_json_count(reader, object, "max_first_batch_ns", true, INT64_MAX);
}

static void read_evidence(struct rue_json_reader *reader, const json_t *object,
                          struct rue_variant_findings *out)
{
    const json_t *evidence = rue_json_object(reader, object, "evidence", true);
    const struct {
        const char *key;
        size_t *count;
    } counts[] = {{"trials_ok", &out->trials.ok},
                  {"trials_failed", &out->trials.failed},
                  {"trials_infeasible", &out->trials.infeasible},
                  {"trials_timeout", &out->trials.timeout},
                  {"trials_disturbed", &out->trials.disturbed},
                  {"trials_cache_missed", &out->trials.cache_missed}};
    if (!evidence) return;
    size_t length = rue_json_enter(reader, "evidence");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i].count = (size_t)rue_json_count(reader, evidence, counts[i].key, true, INT64_MAX);
    out->trials.bad_images = rue_json_count(reader, evidence, "bad_images", true, INT64_MAX);
    double late_ratio = rue_json_number_of(reader, evidence, "sleep_late_ratio", true);
    if (!isnan(late_ratio)) out->trials.slept_ns = 1 + late_ratio, out->trials.late_ns = late_ratio;
    rue_json_leave(reader, length);
}

static void read_claim(struct rue_json_reader *reader, const json_t *object, struct rue_variant_findings *out)
{
    const json_t *claim = rue_json_object(reader, object, "certificate", true),
                 *interval = rue_json_object(reader, object, "interval", true);
    if (claim) {
        out->claim.bound_ratio = rue_json_number_of(reader, claim, "bound_ratio", false);
        out->claim.confidence = rue_json_number_of(reader, claim, "confidence", true);
        out->claim.far_off_ratio = fmax(0, rue_json_number_of(reader, claim, "far_off_ratio", true));
        out->claim.measured_only = json_is_true(json_object_get(claim, "measured_only"));
        if (!(out->claim.bound_ratio >= 0)) rue_json_refuse(reader, "certificate", "a bound");
    }
    if (!interval) return;
    out->interval = (struct rue_regret_interval){
        .confidence = rue_json_number_of(reader, interval, "confidence", false),
        .bound_ratio = out->claim.bound_ratio,
        .mean_low = rue_json_number_of(reader, interval, "mean_low_ratio", false),
        .mean_high = rue_json_number_of(reader, interval, "mean_high_ratio", false),
        .worst_low = rue_json_number_of(reader, interval, "max_low_ratio", false),
        .worst_high = rue_json_number_of(reader, interval, "max_high_ratio", false)};
}

/* ---- models and configurations ---- */

static bool read_config(struct rue_json_reader *reader, const json_t *object, struct rue_config *out)
{
    rue_error why = {0};
    const json_t *said = rue_json_object(reader, object, "config", true);
    if (!said) return false;
    if (rue_protocol_decode_config(said, reader->knobs, out, &why) == RUE_OK) return true;
    rue_json_refuse(reader, "config", "a configuration");
    return false;
}

static size_t config_number(const struct rue_recommended *recommended, const struct rue_config *config)
{
    const struct rue_cost_matrix *matrix = recommended->matrix;
    for (size_t c = 0; matrix && c < matrix->config_count; c++)
        if (rue_config_equal(config, &matrix->configs[c])) return c;
    return RUE_NONE;
}

/* Opens the matrix: all models and configurations, no cell. */
static void open_matrix(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    const json_t *models, *rows;
    size_t model_count = rue_json_list(reader, object, "models", MODELS_MAX, &models);
    size_t config_count = rue_json_list(reader, object, "configs", CONFIGS_MAX, &rows);
    if (model_count * config_count > CELLS_MAX) rue_json_refuse(reader, "configs", "a list of a fit length");
    struct rue_config *configs = calloc(config_count + 1, sizeof *configs);
    const char **names = calloc(model_count + 1, sizeof *names);
    out->weights = calloc(model_count + 1, sizeof *out->weights);
    out->profiles = calloc(model_count + 1, sizeof *out->profiles);
    if (reader->status == RUE_OK && (!configs || !names || !out->weights || !out->profiles))
        reader->status = rue_fail_memory(reader->error, "a recommendation", config_count * sizeof *configs);
    for (size_t m = 0; reader->status == RUE_OK && m < model_count; m++) {
        names[m] = json_string_value(json_array_get(models, m));
        if (!names[m] || strlen(names[m]) >= RUE_MODEL_NAME_BYTES)
            rue_json_refuse(reader, "models", "a list of names");
    }
    size_t outer = rue_json_enter(reader, "configs");
    for (size_t c = 0; reader->status == RUE_OK && c < config_count; c++) {
        size_t length = rue_json_enter_at(reader, c);
        const json_t *row = json_array_get(rows, c);
        if (!json_is_object(row)) rue_json_refuse(reader, NULL, "an object");
        if (!read_config(reader, row, &configs[c])) rue_json_refuse(reader, "config", "a configuration");
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
    if (reader->status == RUE_OK)
        reader->status =
            rue_cost_matrix_open(configs, config_count, names, model_count, &out->matrix, reader->error);
    free(configs);
    free(names);
}

static void read_weights(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    const json_t *weights = rue_json_object(reader, object, "weights", true);
    size_t length = rue_json_enter(reader, "weights");
    for (size_t m = 0; reader->status == RUE_OK && m < out->matrix->model_count; m++) {
        const char *name = out->matrix->models[m];
        out->weights[m] = weights ? rue_json_number_of(reader, weights, name, false) : 1;
        if (!(out->weights[m] > 0)) rue_json_refuse(reader, name, "a positive number");
    }
    rue_json_leave(reader, length);
}

/* ---- cells ---- */

/* Where a cell lies. */
struct place {
    struct rue_cost_matrix *matrix;
    size_t model, config;
};

static void check_cell_status(struct rue_json_reader *reader, rue_status status, const char *key,
                              const char *what)
{
    if (status == RUE_MEMORY) reader->status = rue_fail_memory(reader->error, "times", 0);
    if (status != RUE_OK) rue_json_refuse(reader, key, what);
}

/* NaN, which no matrix takes, where it is not a time. */
static double time_at(const json_t *list, size_t index)
{
    const json_t *item = json_array_get(list, index);
    double ns = json_number_value(item);
    return json_is_number(item) && ns <= (double)TIME_MAX_NS ? ns : NAN;
}

/* At most so many times of the cell's member `key`, which may lack. */
static size_t list_times(struct rue_json_reader *reader, const json_t *cell, const char *key,
                         const json_t **out)
{
    *out = NULL;
    return json_object_get(cell, key) ? rue_json_list(reader, cell, key, REPEATS_MAX, out) : 0;
}

static void read_times(struct rue_json_reader *reader, const json_t *cell, const struct place *at)
{
    const json_t *times;
    bool predicted = json_is_true(json_object_get(cell, "predicted"));
    size_t count = list_times(reader, cell, "first_batches_ns", &times);
    for (size_t i = 0; reader->status == RUE_OK && i < count; i++)
        check_cell_status(
            reader,
            rue_cost_matrix_add_first_batch(at->matrix, at->model, at->config, time_at(times, i), NULL),
            "first_batches_ns", "a list of times");
    count = list_times(reader, cell, "times_ns", &times);
    for (size_t i = 0; reader->status == RUE_OK && i < count; i++)
        check_cell_status(
            reader,
            rue_cost_matrix_add(at->matrix, at->model, at->config, time_at(times, i), predicted, NULL),
            "times_ns", "a list of times");
}

static void read_missed(struct rue_json_reader *reader, const json_t *cell, const struct place *at)
{
    char reason[RUE_REASON_BYTES];
    uint64_t missed = rue_json_count(reader, cell, "missed", true, REPEATS_MAX);
    if (missed == 0) return;
    uint64_t infeasible = rue_json_count(reader, cell, "infeasible", false, missed);
    rue_json_copy_text(reader, cell, "reason", false, reason, sizeof reason);
    for (uint64_t i = 0; reader->status == RUE_OK && i < missed; i++)
        rue_cost_matrix_miss(at->matrix, at->model, at->config,
                             i < infeasible ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED, reason);
}

/* First batches before times: whether a cell is late depends on them. */
static void read_cell(struct rue_json_reader *reader, const json_t *cell, const struct place *at)
{
    double first_ns = rue_json_number_of(reader, cell, "first_estimate_ns", true);
    if (first_ns >= 0) rue_cost_matrix_estimate_first_batch(at->matrix, at->model, at->config, first_ns);
    read_missed(reader, cell, at);
    read_times(reader, cell, at);
    double estimate_ns = rue_json_number_of(reader, cell, "estimate_ns", true),
           sd = rue_json_number_of(reader, cell, "estimate_sd", true);
    uint64_t trials = rue_json_count(reader, cell, "trials", true, REPEATS_MAX);
    if (estimate_ns > (double)TIME_MAX_NS) rue_json_refuse(reader, "estimate_ns", "a time");
    if (sd < 0) rue_json_refuse(reader, "estimate_sd", "a standard deviation");
    if (isnan(estimate_ns) || reader->status != RUE_OK) return;
    bool predicted = json_is_true(json_object_get(cell, "predicted"));
    check_cell_status(
        reader,
        rue_cost_matrix_estimate(at->matrix, at->model, at->config, estimate_ns, sd, trials, predicted, NULL),
        "estimate_ns", "a time");
}

static void read_rows(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    const json_t *rows = json_object_get(object, "configs");
    out->matrix->first_limit_ns = out->max_first_batch_ns;
    size_t outer = rue_json_enter(reader, "configs");
    for (size_t c = 0; c < out->matrix->config_count; c++) {
        size_t length = rue_json_enter_at(reader, c);
        const json_t *cells = rue_json_object(reader, json_array_get(rows, c), "cells", false);
        size_t inner = rue_json_enter(reader, "cells");
        for (size_t m = 0; m < out->matrix->model_count; m++) {
            const char *name = out->matrix->models[m];
            const json_t *cell = rue_json_object(reader, cells, name, false);
            size_t innermost = rue_json_enter(reader, name);
            if (cell) read_cell(reader, cell, &(struct place){out->matrix, m, c});
            rue_json_leave(reader, innermost);
        }
        rue_json_leave(reader, inner);
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
}

/* ---- answers ---- */

static void read_best(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    struct rue_config best;
    out->best = read_config(reader, object, &best) ? config_number(out, &best) : RUE_NONE;
    const json_t *config = json_object_get(object, "config");
    if (!config || (!json_is_null(config) && out->best == RUE_NONE))
        rue_json_refuse(reader, "config", "one of the configs");
}

static void read_lengths(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    const json_t *list, *said = json_object_get(object, "by_job_images");
    struct rue_job_lengths *lengths = &out->found.lengths;
    if (!said || json_is_null(said)) return;
    size_t count = rue_json_list(reader, object, "by_job_images", RUE_JOB_INTERVALS_MAX, &list);
    for (size_t i = 0; reader->status == RUE_OK && i < count; i++) {
        const json_t *item = json_array_get(list, i);
        struct rue_config config;
        struct rue_job_interval *at = &lengths->at[i];
        at->from_images = rue_json_count(reader, item, "from_images", false, INT64_MAX);
        at->to_images = rue_json_count(reader, item, "to_images", false, INT64_MAX);
        at->config = read_config(reader, item, &config) ? config_number(out, &config) : RUE_NONE;
        if (at->config == RUE_NONE) rue_json_refuse(reader, "by_job_images", "a list of lengths");
    }
    lengths->count = count;
}

static void read_replay(struct rue_json_reader *reader, const json_t *object, struct rue_replayed *out)
{
    const json_t *replay = rue_json_object(reader, object, "replay", true);
    if (!replay) return;
    out->table_s = rue_json_number_of(reader, replay, "table_ns", true) / 1e9;
    out->spent_s = rue_json_number_of(reader, replay, "spent_ns", true) / 1e9;
    out->trials = rue_json_count(reader, replay, "trials", true, INT64_MAX);
    out->mean_regret_ratio = rue_json_number_of(reader, replay, "mean_regret_ratio", true);
    out->max_regret_ratio = rue_json_number_of(reader, replay, "max_regret_ratio", true);
    const json_t *best = rue_json_object(reader, replay, "best", true);
    out->knows_best = best && read_config(reader, best, &out->best);
    if (!out->knows_best) return;
    out->best_mean_regret_ratio = rue_json_number_of(reader, best, "mean_regret_ratio", true);
    out->best_max_regret_ratio = rue_json_number_of(reader, best, "max_regret_ratio", true);
}

/* Of those that it was measured beside the one that came nearest. */
static void read_baselines(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    struct rue_baseline_findings *found = &out->found.baselines;
    const json_t *own = rue_json_object(reader, object, "baselines", true), *rows;
    double least = INFINITY;
    if (!own) return;
    size_t outer = rue_json_enter(reader, "baselines");
    found->count = rue_json_list(reader, own, "rows", RUE_BASELINES_MAX, &rows);
    for (size_t i = 0; reader->status == RUE_OK && i < found->count; i++) {
        const json_t *item = json_array_get(rows, i), *gain = rue_json_object(reader, item, "gain", true);
        struct rue_baseline_row *row = &found->rows[i];
        struct rue_config config;
        row->config = read_config(reader, item, &config) ? config_number(out, &config) : RUE_NONE;
        if (row->config == RUE_NONE) rue_json_refuse(reader, "rows", "some of the configs");
        RUE_JSON_COPY(reader, item, "name", false, row->name);
        double ratio = gain ? rue_json_number_of(reader, gain, "speedup_ratio", false) : NAN;
        if (!(ratio < least)) continue;
        least = ratio;
        out->baseline = row;
    }
    rue_json_leave(reader, outer);
}

void rue_recommended_read(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    out->best = RUE_NONE;
    if (!json_is_object(object)) rue_json_refuse(reader, NULL, "an object");
    read_variant(reader, object, out);
    read_facts(reader, object, out);
    read_evidence(reader, object, &out->found);
    read_claim(reader, object, &out->found);
    open_matrix(reader, object, out);
    if (reader->status != RUE_OK) return;
    read_weights(reader, object, out);
    read_rows(reader, object, out);
    read_best(reader, object, out);
    read_baselines(reader, object, out);
    read_lengths(reader, object, out);
    read_replay(reader, object, &out->found.replayed);
    const json_t *forecast = rue_json_object(reader, object, "forecast", true);
    if (forecast && reader->status == RUE_OK) rue_knowledge_read(reader, forecast, out);
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

size_t rue_recommended_model(const struct rue_recommended *recommended, const char *name)
{
    for (size_t m = 0; m < recommended->matrix->model_count; m++)
        if (strcmp(recommended->matrix->models[m], name) == 0) return m;
    return RUE_NONE;
}

rue_status rue_recommended_know(struct rue_recommended *recommended, int cpus, bool in_turn, rue_error *error)
{
    const struct rue_cost_matrix *matrix = recommended->matrix;
    size_t models = matrix->model_count, configs = matrix->config_count;
    if (recommended->knowledge) return RUE_OK;
    if (!models || !configs || !recommended->found.job.images)
        return rue_fail(error, RUE_DATA, "no times of a job of known length");
    double *times_s = calloc(models * configs, sizeof *times_s);
    if (!times_s) return rue_fail_memory(error, "times", models * configs * sizeof *times_s);
    for (size_t i = 0; i < models * configs; i++)
        times_s[i] = rue_recommended_s(recommended, i / configs, i % configs);
    const struct rue_setup_grid grid = {models, configs, matrix->configs};
    struct rue_strategy_setup setup = rue_strategy_setup_of(grid, recommended->found.job.images);
    setup.runner.cpus = cpus;
    setup.runner.in_turn = in_turn;
    setup.stop = rue_interrupt_status;
    rue_status status = rue_prediction_learn_jobs(&setup, times_s, &recommended->knowledge, error);
    free(times_s);
    return status;
}

rue_status rue_recommended_rank(struct rue_recommended *recommended, const struct rue_ranking_rules *rules,
                                bool claims, struct rue_variant_findings *out, rue_error *error)
{
    struct rue_selection *selection;
    rue_status status = rue_ranking_rules_select(rules, recommended->matrix, &selection, error);
    if (status != RUE_OK) return status;
    *out = recommended->found;
    out->matrix = recommended->matrix;
    out->selection = selection;
    recommended->matrix = NULL;
    if (!claims) {
        out->baselines = (struct rue_baseline_findings){0};
        out->lengths.count = 0;
        out->claim.bound_ratio = out->claim.confidence = out->claim.far_off_ratio = 0;
        out->claim.measured_only = false;
        out->interval = (struct rue_regret_interval){0};
    }
    rue_baseline_gains_find(out->matrix, rules->confidence, selection, &out->baselines);
    return RUE_OK;
}
