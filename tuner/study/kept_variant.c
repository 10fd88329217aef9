#include "kept_variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"
#include "study_answers.h"

enum { MODELS_MAX = 4096, CONFIGS_MAX = 1 << 20, CELLS_MAX = 8000000, REPEATS_MAX = 1 << 20 };

/* ---- written ---- */

static json_t *numbers_json(struct rue_json_document *document, const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) rue_json_push(document, array, rue_json_real(values[i]));
    return array;
}

/* What is as in most cells is left out. */
static json_t *cell_json(struct rue_json_document *document, const struct rue_cell *cell)
{
    json_t *object = json_object();
    bool estimated = !cell->times_ns && !isnan(cell->median_ns);
    if (cell->times_ns)
        rue_json_put(document, object, "times_ns", numbers_json(document, cell->times_ns, cell->repeats));
    if (estimated) {
        rue_json_put(document, object, "estimate_ns", rue_json_real(cell->median_ns));
        rue_json_put(document, object, "trials", rue_json_integer(cell->repeats));
        if (!isnan(cell->estimate_sd))
            rue_json_put(document, object, "estimate_sd", rue_json_real(cell->estimate_sd));
    }
    if (cell->predicted) rue_json_put(document, object, "predicted", json_true());
    if (cell->first_count)
        rue_json_put(document, object, "first_batches_ns",
                     numbers_json(document, cell->first_batches_ns, cell->first_count));
    else if (!isnan(cell->first_batch_ns))
        rue_json_put(document, object, "first_estimate_ns", rue_json_real(cell->first_batch_ns));
    if (cell->missed == 0) return object;
    rue_json_put(document, object, "missed", rue_json_integer(cell->missed));
    rue_json_put(document, object, "infeasible", rue_json_integer(cell->infeasible));
    rue_json_put(document, object, "reason", rue_json_text(cell->reason));
    return object;
}

static void put_matrix(struct rue_json_document *document, json_t *object,
                       const struct rue_cost_matrix *matrix)
{
    json_t *models = json_array(), *configs = json_array(), *cells = json_array();
    for (size_t m = 0; m < matrix->model_count; m++)
        rue_json_push(document, models, rue_json_text(matrix->models[m]));
    for (size_t c = 0; c < matrix->config_count; c++)
        rue_json_push(document, configs, rue_json_config(document, &matrix->configs[c], true));
    for (size_t m = 0; m < matrix->model_count; m++)
        for (size_t c = 0; c < matrix->config_count; c++)
            rue_json_push(document, cells, cell_json(document, rue_cost_matrix_cell(matrix, m, c)));
    rue_json_put(document, object, "models", models);
    rue_json_put(document, object, "configs", configs);
    rue_json_put(document, object, "cells", cells);
    rue_json_put(document, object, "max_first_batch_ns", rue_json_integer(matrix->first_limit_ns));
}

/* Of numbers that are kept as they are, of one kind each: X(member). */
#define COUNTS(X)        \
    X(job_images)        \
    X(data_images)       \
    X(data_bytes)        \
    X(bad_images)        \
    X(trials_ok)         \
    X(trials_failed)     \
    X(trials_infeasible) \
    X(trials_timeout)    \
    X(trials_disturbed)  \
    X(replayed.trials)
#define REALS(X)                       \
    X(build_s_per_image)               \
    X(bound_ratio)                     \
    X(far_off_ratio)                   \
    X(confidence)                      \
    X(interval.confidence)             \
    X(interval.mean_low)               \
    X(interval.mean_high)              \
    X(interval.worst_low)              \
    X(interval.worst_high)             \
    X(replayed.table_s)                \
    X(replayed.spent_s)                \
    X(replayed.mean_regret_ratio)      \
    X(replayed.max_regret_ratio)       \
    X(replayed.best_mean_regret_ratio) \
    X(replayed.best_max_regret_ratio)
#define FLAGS(X)      \
    X(models_unnamed) \
    X(sample)         \
    X(drop_last)      \
    X(replayed.knows_best)

static json_t *lengths_json(struct rue_json_document *document, const struct rue_job_lengths *lengths)
{
    json_t *array = json_array();
    for (size_t i = 0; i < lengths->count; i++) {
        json_t *object = json_object();
        rue_json_put(document, object, "from_images", rue_json_integer(lengths->at[i].from_images));
        rue_json_put(document, object, "to_images", rue_json_integer(lengths->at[i].to_images));
        rue_json_put(document, object, "config", rue_json_integer(lengths->at[i].config));
        rue_json_push(document, array, object);
    }
    return array;
}

json_t *rue_kept_variant_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
                              const char *key)
{
    json_t *object = json_object();
    rue_json_put(document, object, "key", json_string(key));
    rue_json_put(document, object, "label", rue_json_text_or_null(variant->label ? variant->label : ""));
    rue_json_put(document, object, "mode", json_string(rue_mode_names[variant->variant.mode]));
    rue_json_put(document, object, "format", rue_json_text(variant->variant.format));
    rue_json_put(document, object, "dtype", rue_json_text(variant->variant.dtype));
    rue_json_put(document, object, "path", rue_json_text(variant->variant.path));
    rue_json_put(document, object, "data_digest", rue_json_text(variant->data_digest));
    rue_json_put(document, object, "goal", json_string(rue_goal_names[variant->goal]));
    rue_json_put(document, object, "decode", json_string(rue_decode_names[variant->decode]));
    rue_json_put(document, object, "batch_dtype", json_string(rue_dtype_names[variant->batch_dtype]));
#define X(member) rue_json_put(document, object, #member, rue_json_integer(variant->member));
    COUNTS(X)
#undef X
#define X(member) rue_json_put(document, object, #member, rue_json_real(variant->member));
    REALS(X)
#undef X
#define X(member) rue_json_put(document, object, #member, json_boolean(variant->member));
    FLAGS(X)
#undef X
    rue_json_put(document, object, "bounds_measured", json_boolean(variant->bounds_measured));
    rue_json_put(document, object, "cold", json_boolean(variant->cold));
    rue_json_put(document, object, "gpus", rue_json_integer(variant->gpus));
    rue_json_put(document, object, "trials_cache_missed", rue_json_integer(variant->trials_cache_missed));
    rue_json_put(document, object, "slept_ns", rue_json_real(variant->slept_ns));
    rue_json_put(document, object, "late_ns", rue_json_real(variant->late_ns));
    if (variant->replayed.knows_best)
        rue_json_put(document, object, "replayed.best",
                     rue_json_config(document, &variant->replayed.best, true));
    rue_json_put(document, object, "lengths", lengths_json(document, &variant->lengths));
    rue_json_put(document, object, "baselines", rue_baseline_gains_json(document, &variant->baselines));
    put_matrix(document, object, variant->matrix);
    return object;
}

/* ---- read ---- */

/* The times of a list, a value at a time, told to the matrix. */
typedef rue_status tell_time(struct rue_cost_matrix *matrix, size_t model, size_t config, double time_ns,
                             rue_error *error);

/* Where a cell lies. */
struct place {
    struct rue_cost_matrix *matrix;
    size_t model, config;
};

static void read_times(struct rue_json_reader *reader, const json_t *cell, const char *key,
                       const struct place *at, tell_time *tell)
{
    const json_t *list;
    if (!json_object_get(cell, key)) return;
    size_t count = rue_json_list(reader, cell, key, REPEATS_MAX, &list);
    for (size_t i = 0; reader->status == RUE_OK && i < count; i++) {
        rue_error why = {0};
        double ns = json_number_value(json_array_get(list, i));
        rue_status status = tell(at->matrix, at->model, at->config, ns, &why);
        if (status == RUE_MEMORY) reader->status = rue_fail(reader->error, status, "%s", why.message);
        if (status != RUE_OK) rue_json_refuse(reader, key, "a list of times");
    }
}

static rue_status tell_measured(struct rue_cost_matrix *matrix, size_t model, size_t config, double time_ns,
                                rue_error *error)
{
    return rue_cost_matrix_add(matrix, model, config, time_ns, false, error);
}

static rue_status tell_predicted(struct rue_cost_matrix *matrix, size_t model, size_t config, double time_ns,
                                 rue_error *error)
{
    return rue_cost_matrix_add(matrix, model, config, time_ns, true, error);
}

static void read_misses(struct rue_json_reader *reader, const json_t *cell, const struct place *at)
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

/* In the order in which the matrix was told: whether a cell is late depends on its first batch. */
static void read_cell(struct rue_json_reader *reader, const json_t *cell, const struct place *at)
{
    if (!json_is_object(cell)) rue_json_refuse(reader, NULL, "an object");
    bool predicted = json_is_true(json_object_get(cell, "predicted"));
    read_times(reader, cell, "first_batches_ns", at, rue_cost_matrix_add_first_batch);
    double first_ns = rue_json_number_of(reader, cell, "first_estimate_ns", true);
    if (!isnan(first_ns)) rue_cost_matrix_estimate_first_batch(at->matrix, at->model, at->config, first_ns);
    read_misses(reader, cell, at);
    read_times(reader, cell, "times_ns", at, predicted ? tell_predicted : tell_measured);
    double estimate_ns = rue_json_number_of(reader, cell, "estimate_ns", true);
    uint64_t trials = rue_json_count(reader, cell, "trials", true, REPEATS_MAX);
    if (isnan(estimate_ns) || reader->status != RUE_OK) return;
    double sd = rue_json_number_of(reader, cell, "estimate_sd", true);
    if (rue_cost_matrix_estimate(at->matrix, at->model, at->config, estimate_ns, sd, trials, predicted,
                                 NULL) != RUE_OK)
        rue_json_refuse(reader, "estimate_ns", "a time");
    if (sd < 0) rue_json_refuse(reader, "estimate_sd", "a standard deviation");
}

static void read_cells(struct rue_json_reader *reader, const json_t *object, struct rue_cost_matrix *matrix)
{
    const json_t *list;
    size_t configs = matrix->config_count, models = matrix->model_count;
    matrix->first_limit_ns = rue_json_count(reader, object, "max_first_batch_ns", false, INT64_MAX);
    size_t count = rue_json_list(reader, object, "cells", CELLS_MAX, &list);
    if (count != configs * models) rue_json_refuse(reader, "cells", "a list of all cells");
    size_t outer = rue_json_enter(reader, "cells");
    for (size_t i = 0; reader->status == RUE_OK && i < count; i++) {
        size_t length = rue_json_enter_at(reader, i);
        read_cell(reader, json_array_get(list, i), &(struct place){matrix, i / configs, i % configs});
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
}

static struct rue_cost_matrix *read_matrix(struct rue_json_reader *reader, const json_t *object)
{
    struct rue_cost_matrix *matrix = NULL;
    const json_t *models, *configs;
    size_t model_count = rue_json_list(reader, object, "models", MODELS_MAX, &models);
    size_t config_count = rue_json_list(reader, object, "configs", CONFIGS_MAX, &configs);
    struct rue_config *config = calloc(config_count + 1, sizeof *config);
    const char **names = calloc(model_count + 1, sizeof *names);
    if (!config || !names)
        reader->status = rue_fail_memory(reader->error, "a matrix", config_count * sizeof *config);
    for (size_t m = 0; reader->status == RUE_OK && m < model_count; m++)
        if (!(names[m] = json_string_value(json_array_get(models, m))))
            rue_json_refuse(reader, "models", "a list of names");
    for (size_t c = 0; reader->status == RUE_OK && c < config_count; c++)
        if (rue_protocol_decode_config(json_array_get(configs, c), reader->knobs, &config[c], NULL) != RUE_OK)
            rue_json_refuse(reader, "configs", "a list of configurations");
    if (reader->status == RUE_OK)
        reader->status =
            rue_cost_matrix_open(config, config_count, names, model_count, &matrix, reader->error);
    free(names);
    free(config);
    if (matrix) read_cells(reader, object, matrix);
    return matrix;
}

static void read_lengths(struct rue_json_reader *reader, const json_t *object, size_t config_count,
                         struct rue_job_lengths *out)
{
    const json_t *list;
    out->count = rue_json_list(reader, object, "lengths", RUE_JOB_INTERVALS_MAX, &list);
    for (size_t i = 0; i < out->count; i++) {
        const json_t *item = json_array_get(list, i);
        out->at[i].from_images = rue_json_count(reader, item, "from_images", false, INT64_MAX);
        out->at[i].to_images = rue_json_count(reader, item, "to_images", false, INT64_MAX);
        out->at[i].config = (size_t)rue_json_count(reader, item, "config", false, CONFIGS_MAX);
        if (out->at[i].config >= config_count) rue_json_refuse(reader, "lengths", "a list of lengths");
    }
}

static void read_facts(struct rue_json_reader *reader, const json_t *object, struct rue_variant_findings *out)
{
    struct rue_variant *variant = &out->variant;
    const json_t *best = rue_json_object(reader, object, "replayed.best", true);
    out->label = json_string_value(json_object_get(object, "label"));
    variant->mode = (enum rue_mode)rue_json_word(reader, object, "mode", rue_mode_names, RUE_MODE_COUNT);
    rue_json_copy_text(reader, object, "format", false, variant->format, sizeof variant->format);
    rue_json_copy_text(reader, object, "dtype", false, variant->dtype, sizeof variant->dtype);
    rue_json_copy_text(reader, object, "path", false, variant->path, sizeof variant->path);
    rue_json_copy_text(reader, object, "data_digest", false, out->data_digest, sizeof out->data_digest);
    out->goal = (enum rue_goal)rue_json_word(reader, object, "goal", rue_goal_names, RUE_GOAL_COUNT);
    out->decode =
        (enum rue_decode)rue_json_word(reader, object, "decode", rue_decode_names, RUE_DECODE_COUNT);
#define X(member) out->member = rue_json_count(reader, object, #member, false, INT64_MAX);
    COUNTS(X)
#undef X
#define X(member) out->member = rue_json_number_of(reader, object, #member, true);
    REALS(X)
#undef X
#define X(member) out->member = rue_json_bool(reader, object, #member);
    FLAGS(X)
#undef X
    /* Older ones lack these. */
    out->bounds_measured = json_is_true(json_object_get(object, "bounds_measured"));
    out->cold = json_is_true(json_object_get(object, "cold"));
    if (json_object_get(object, "batch_dtype"))
        out->batch_dtype =
            (enum rue_dtype)rue_json_word(reader, object, "batch_dtype", rue_dtype_names, RUE_DTYPE_COUNT);
    json_int_t missed = json_integer_value(json_object_get(object, "trials_cache_missed"));
    out->trials_cache_missed = missed > 0 ? (size_t)missed : 0;
    json_int_t gpus = json_integer_value(json_object_get(object, "gpus"));
    out->gpus = gpus > 0 ? (uint64_t)gpus : 0;
    out->slept_ns = json_number_value(json_object_get(object, "slept_ns"));
    out->late_ns = json_number_value(json_object_get(object, "late_ns"));
    if (best && rue_protocol_decode_config(best, reader->knobs, &out->replayed.best, NULL) != RUE_OK)
        rue_json_refuse(reader, "replayed.best", "a configuration");
}

void rue_kept_variant_read(struct rue_json_reader *reader, const json_t *object,
                           const struct rue_ranking_rules *rules, bool claims,
                           struct rue_variant_findings *out)
{
    struct rue_selection *selection = NULL;
    read_facts(reader, object, out);
    struct rue_cost_matrix *matrix = read_matrix(reader, object);
    size_t configs = matrix ? matrix->config_count : 0;
    if (matrix) read_lengths(reader, object, configs, &out->lengths);
    if (matrix && claims) rue_baseline_gains_read(reader, object, configs, &out->baselines);
    if (reader->status == RUE_OK)
        reader->status = rue_ranking_rules_select(rules, matrix, &selection, reader->error);
    if (reader->status != RUE_OK) {
        rue_cost_matrix_close(matrix);
        return;
    }
    rue_baseline_gains_find(matrix, rules->confidence, selection, &out->baselines);
    out->matrix = matrix;
    out->selection = selection;
    if (claims) return;
    out->lengths.count = 0;
    out->bound_ratio = out->confidence = out->far_off_ratio = 0;
    out->bounds_measured = false;
    out->interval = (struct rue_regret_interval){0};
}
