/* recommendation.json, as recommendation.schema.json says. What is not known is null; there is no NaN or
 * Infinity. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch_best.h"
#include "comparison.h"
#include "misses.h"
#include "report.h"
#include "utf8.h"

/* Nine digits tell nanosecond clocks apart over a second, and hide the last bits of a division. */
#define JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(9))

/* Jansson's functions take NULL for a value that could not be allocated and fail; this remembers that one
 * did. */
struct document {
    bool failed;
};

static void put(struct document *document, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) document->failed = true;
}

static void push(struct document *document, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) document->failed = true;
}

static json_t *text(const char *string)
{
    json_t *value = json_string(string);
    if (value) return value;
    char *repaired = rue_utf8_repair(string);
    value = repaired ? json_string(repaired) : NULL;
    free(repaired);
    return value;
}

static json_t *text_or_null(const char *string)
{
    return string[0] ? text(string) : json_null();
}

static json_t *real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* Numbers beyond a signed 64-bit integer (only a seed can be one) become their decimal digits. */
static json_t *integer(uint64_t number)
{
    if (number <= INT64_MAX) return json_integer((json_int_t)number);
    return json_sprintf("%llu", (unsigned long long)number);
}

static json_t *integer_or_null(uint64_t number)
{
    return number ? integer(number) : json_null();
}

static json_t *nanoseconds(double ns)
{
    return isfinite(ns) && ns < 9e18 ? json_integer((json_int_t)llround(ns)) : json_null();
}

static json_t *config_json(struct document *document, const struct rue_config *config)
{
    json_t *object = json_object();
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        const char *const *words = rue_knobs[k].words;
        put(document, object, rue_knobs[k].name,
            words ? json_string(words[config->value[k]]) : json_integer(config->value[k]));
    }
    return object;
}

static json_t *config_or_null(struct document *document, const struct rue_variant_findings *variant,
                              size_t config)
{
    if (config == RUE_NONE) return json_null();
    return config_json(document, rue_cost_matrix_config(variant->matrix, config));
}

static json_t *model_or_null(const struct rue_variant_findings *variant, size_t model)
{
    return model == RUE_NONE ? json_null() : text(rue_cost_matrix_model(variant->matrix, model));
}

/* Sets a member whose key comes from outside. */
static void put_model(struct document *document, json_t *object, const char *model, json_t *value)
{
    char *key = rue_utf8_repair(model);
    if (key)
        put(document, object, key, value);
    else
        document->failed = true, json_decref(value);
    free(key);
}

/* A sample lies nowhere once the run is over, and a runner may bring its own data: no path. */
static json_t *variant_json(struct document *document, const struct rue_variant_findings *findings)
{
    const struct rue_variant *variant = &findings->variant;
    json_t *object = json_object();
    put(document, object, "mode", json_string(rue_mode_names[variant->mode]));
    put(document, object, "format", text(variant->format));
    put(document, object, "dtype", text_or_null(variant->dtype));
    put(document, object, "path", findings->sample ? json_null() : text_or_null(variant->path));
    return object;
}

/* The regrets and votes of a column, null for RUE_NONE. */
static void put_standing(struct document *document, json_t *object,
                         const struct rue_variant_findings *variant, size_t config)
{
    static const struct rue_ranking_row none = {
        .mean_regret_ratio = NAN, .max_regret_ratio = NAN, .worst_model = RUE_NONE};
    const struct rue_ranking_row *row = config == RUE_NONE ? &none : &variant->selection->rows[config];
    put(document, object, "mean_regret_ratio", real(row->mean_regret_ratio));
    put(document, object, "max_regret_ratio", real(row->max_regret_ratio));
    put(document, object, "worst_model", model_or_null(variant, row->worst_model));
    put(document, object, "top_n_count", config == RUE_NONE ? json_null() : integer(row->top_n_count));
}

static json_t *top_n_winner(struct document *document, const struct rue_variant_findings *variant)
{
    size_t winner = variant->selection->top_n_winner;
    if (winner == RUE_NONE) return json_null();
    json_t *object = json_object();
    put(document, object, "config", config_or_null(document, variant, winner));
    put_standing(document, object, variant, winner);
    return object;
}

/* Keyword arguments of torch.utils.data.DataLoader; without workers it refuses those that are about workers.
 */
static json_t *torch_arguments(struct document *document, const struct rue_config *config)
{
    int workers = config->value[RUE_NUM_WORKERS];
    json_t *object = json_object();
    put(document, object, "batch_size", json_integer(config->value[RUE_BATCH_SIZE]));
    put(document, object, "num_workers", json_integer(workers));
    if (workers == 0) return object;
    put(document, object, "prefetch_factor", json_integer(config->value[RUE_PREFETCH_FACTOR]));
    put(document, object, "persistent_workers", json_true());
    return object;
}

static json_t *models_json(struct document *document, const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t m = 0; m < variant->selection->model_count; m++)
        push(document, array, text(rue_cost_matrix_model(variant->matrix, m)));
    return array;
}

static json_t *best_by_model(struct document *document, const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        json_t *object = json_object();
        put(document, object, "model", model_or_null(variant, m));
        put(document, object, "config",
            config_or_null(document, variant, variant->selection->best_of_model[m]));
        put(document, object, "end_to_end_ns", nanoseconds(variant->selection->best_ns[m]));
        push(document, array, object);
    }
    return array;
}

static json_t *best_by_batch_size(struct document *document, const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    struct rue_batch_best best = {0};
    while (rue_batch_best_next(variant, &best)) {
        json_t *object = json_object();
        put(document, object, "batch_size", json_integer(best.batch_size));
        put(document, object, "config", config_or_null(document, variant, best.config));
        put_standing(document, object, variant, best.config);
        push(document, array, object);
    }
    return array;
}

static json_t *coverage_json(struct document *document, const struct rue_variant_findings *variant,
                             size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    json_t *object = json_object();
    put(document, object, "ok", integer(row->covered));
    put(document, object, "infeasible", integer(row->infeasible));
    put(document, object, "failed", integer(row->failed));
    put(document, object, "of", integer(variant->selection->model_count));
    return object;
}

static json_t *misses_json(struct document *document, const struct rue_variant_findings *variant,
                           size_t config)
{
    static const char *const names[] = {[RUE_CELL_MISSING] = "unmeasured",
                                        [RUE_CELL_INFEASIBLE] = "infeasible",
                                        [RUE_CELL_FAILED] = "failed"};
    json_t *array = json_array();
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        if (cell->state == RUE_CELL_OK) continue;
        json_t *object = json_object();
        put(document, object, "model", model_or_null(variant, m));
        put(document, object, "status", json_string(names[cell->state]));
        put(document, object, "reason", text_or_null(cell->reason));
        push(document, array, object);
    }
    return array;
}

static json_t *config_row(struct document *document, const struct rue_variant_findings *variant,
                          size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    json_t *object = json_object(), *times = json_object();
    put(document, object, "config", config_or_null(document, variant, config));
    put(document, object, "ranked", json_boolean(row->ranked));
    put_standing(document, object, variant, config);
    put(document, object, "source",
        row->covered ? json_string(row->predicted ? "predicted" : "measured") : json_null());
    put(document, object, "repeats", integer(row->repeats));
    put(document, object, "coverage", coverage_json(document, variant, config));
    put(document, object, "misses", misses_json(document, variant, config));
    for (size_t m = 0; m < variant->selection->model_count; m++)
        put_model(document, times, rue_cost_matrix_model(variant->matrix, m),
                  nanoseconds(rue_cost_matrix_cell(variant->matrix, m, config)->median_ns));
    put(document, object, "end_to_end_ns", times);
    return object;
}

static json_t *configs_json(struct document *document, const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t c = 0; c < variant->selection->config_count; c++)
        push(document, array, config_row(document, variant, c));
    return array;
}

static json_t *evidence_json(struct document *document, const struct rue_findings *findings,
                             const struct rue_variant_findings *variant)
{
    size_t configs = variant->selection->config_count, asked = findings->configs_asked;
    size_t best = variant->selection->recommended;
    json_t *object = json_object();
    put(document, object, "configs", integer(configs));
    put(document, object, "configs_asked", integer(asked ? asked : configs));
    put(document, object, "trials_ok", integer(variant->trials_ok));
    put(document, object, "trials_failed", integer(variant->trials_failed));
    put(document, object, "trials_infeasible", integer(variant->trials_infeasible));
    put(document, object, "trials_timeout", integer(variant->trials_timeout));
    put(document, object, "repeats", integer(best == RUE_NONE ? 0 : variant->selection->rows[best].repeats));
    put(document, object, "repeats_planned", json_integer(findings->repeats_planned));
    put(document, object, "bad_images", integer(variant->bad_images));
    return object;
}

static void put_data(struct document *document, json_t *object, const struct rue_variant_findings *variant)
{
    put(document, object, "job_images", integer(variant->job_images));
    put(document, object, "drop_last", json_boolean(variant->drop_last));
    put(document, object, "data_images", integer(variant->data_images));
    put(document, object, "data_bytes", integer_or_null(variant->data_bytes));
    put(document, object, "data_digest", text_or_null(variant->data_digest));
    put(document, object, "sample", json_boolean(variant->sample));
    bool built = isfinite(variant->build_s_per_image) && variant->build_s_per_image > 0;
    put(document, object, "build_s_per_image", built ? real(variant->build_s_per_image) : json_null());
}

static rue_status recommendation_json(struct document *document, const struct rue_findings *findings,
                                      const struct rue_variant_findings *variant, json_t **out,
                                      rue_error *error)
{
    const struct rue_selection *selection = variant->selection;
    size_t best = selection->recommended;
    json_t *object = json_object();
    *out = object;
    put(document, object, "variant", variant_json(document, variant));
    put(document, object, "config", config_or_null(document, variant, best));
    if (best == RUE_NONE) {
        struct rue_misses misses;
        char reason[1024];
        rue_status status = rue_misses_count(variant->matrix, &misses, error);
        if (status != RUE_OK) return status;
        rue_misses_explain(&misses, reason, sizeof reason);
        put(document, object, "reason", text(reason));
    }
    put_standing(document, object, variant, best);
    put(document, object, "top_n", integer(selection->top_n));
    put(document, object, "top_n_winner", top_n_winner(document, variant));
    put_data(document, object, variant);
    put(document, object, "measured_with", text(findings->measured_with));
    const char *verified = best != RUE_NONE && selection->rows[best].predicted ? "truncated" : "full";
    put(document, object, "verified", best == RUE_NONE ? json_null() : json_string(verified));
    if (best != RUE_NONE && strcmp(findings->measured_with, "torch") == 0)
        put(document, object, "torch",
            torch_arguments(document, rue_cost_matrix_config(variant->matrix, best)));
    put(document, object, "models", models_json(document, variant));
    put(document, object, "best_by_model", best_by_model(document, variant));
    put(document, object, "best_by_batch_size", best_by_batch_size(document, variant));
    put(document, object, "configs", configs_json(document, variant));
    put(document, object, "evidence", evidence_json(document, findings, variant));
    return RUE_OK;
}

static json_t *side_json(struct document *document, const struct rue_variant_findings *variant)
{
    json_t *object = json_object();
    put(document, object, "variant", variant_json(document, variant));
    put(document, object, "config", config_or_null(document, variant, variant->selection->recommended));
    put(document, object, "job_images", integer(variant->job_images));
    return object;
}

static json_t *comparison_json(struct document *document, const struct rue_comparison *comparison)
{
    json_t *object = json_object(), *models = json_array();
    put(document, object, "raw", side_json(document, comparison->raw));
    put(document, object, "preprocessed", side_json(document, comparison->preprocessed));
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct rue_comparison_row *row = &comparison->rows[i];
        json_t *model = json_object();
        put(document, model, "model", text(row->model));
        put(document, model, "raw_end_to_end_ns", nanoseconds(row->raw_ns));
        put(document, model, "preprocessed_end_to_end_ns", nanoseconds(row->preprocessed_ns));
        put(document, model, "speedup_ratio", real(row->speedup_ratio));
        push(document, models, model);
    }
    put(document, object, "models", models);
    put(document, object, "mean_speedup_ratio", real(comparison->mean_speedup_ratio));
    put(document, object, "saved_ns_per_image", real(comparison->saved_ns_per_image));
    return object;
}

/* Every raw variant with every preprocessed one that it can be compared to. */
static rue_status comparisons_json(struct document *document, const struct rue_findings *findings,
                                   json_t *array, rue_error *error)
{
    for (size_t r = 0; r < findings->variant_count; r++)
        for (size_t p = 0; p < findings->variant_count; p++) {
            const struct rue_variant_findings *raw = &findings->variants[r],
                                              *preprocessed = &findings->variants[p];
            if (!rue_comparison_possible(raw, preprocessed)) continue;
            struct rue_comparison *comparison;
            rue_status status = rue_comparison_open(raw, preprocessed, &comparison, error);
            if (status != RUE_OK) return status;
            push(document, array, comparison_json(document, comparison));
            rue_comparison_close(comparison);
        }
    return RUE_OK;
}

/* The runner's own words; null when it said none or they are no JSON object. */
static json_t *machine_json(const char *words)
{
    json_t *machine = json_loads(words, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(machine)) return machine;
    json_decref(machine);
    return json_null();
}

static json_t *provenance_json(struct document *document, const struct rue_findings *findings)
{
    json_t *object = json_object();
    put(document, object, "rue_version", text(findings->rue_version));
    put(document, object, "study", text_or_null(findings->study));
    put(document, object, "runner", text_or_null(findings->runner));
    put(document, object, "measured_with", text(findings->measured_with));
    put(document, object, "consumer", text_or_null(findings->consumer));
    put(document, object, "clock", json_string(findings->virtual_clock ? "virtual" : "real"));
    put(document, object, "cpu", text_or_null(findings->cpu));
    put(document, object, "usable_cpus",
        integer_or_null(findings->usable_cpus > 0 ? findings->usable_cpus : 0));
    put(document, object, "memory_bytes", integer_or_null(findings->memory_bytes));
    put(document, object, "kernel", text_or_null(findings->kernel));
    put(document, object, "libraries", text_or_null(findings->libraries));
    put(document, object, "machine", machine_json(findings->machine_json));
    put(document, object, "seed", integer(findings->seed));
    put(document, object, "repeats_planned", json_integer(findings->repeats_planned));
    put(document, object, "reused_trials", integer(findings->reused_trials));
    put(document, object, "command_line", text_or_null(findings->command_line));
    put(document, object, "started", text_or_null(findings->started));
    put(document, object, "duration_s", real(findings->duration_s));
    return object;
}

static rue_status build(struct document *document, const struct rue_findings *findings, json_t *root,
                        rue_error *error)
{
    rue_status status = RUE_OK;
    json_t *recommendations = json_array(), *comparisons = json_array();
    put(document, root, "format", json_string("rue.recommendation/1"));
    for (size_t v = 0; v < findings->variant_count && status == RUE_OK; v++) {
        json_t *recommendation;
        status = recommendation_json(document, findings, &findings->variants[v], &recommendation, error);
        push(document, recommendations, recommendation);
    }
    put(document, root, "recommendations", recommendations);
    if (status == RUE_OK) status = comparisons_json(document, findings, comparisons, error);
    put(document, root, "comparisons", comparisons);
    put(document, root, "partial", json_boolean(findings->partial));
    put(document, root, "partial_reason",
        findings->partial ? text_or_null(findings->partial_reason) : json_null());
    put(document, root, "provenance", provenance_json(document, findings));
    return status;
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    struct document document = {0};
    json_t *root = json_object();
    rue_status status = build(&document, findings, root, error);
    if (status == RUE_OK && (!root || document.failed))
        status = rue_fail(error, RUE_MEMORY, "no memory is left for the recommendation's JSON");
    if (status == RUE_OK) {
        bool dumped = json_dumpf(root, stream, JSON_FLAGS) == 0;
        fputc('\n', stream);
        status = rue_report_finish(stream, error);
        /* A dump whose stream is well has run out of memory. */
        if (status == RUE_OK && !dumped)
            status = rue_fail(error, RUE_MEMORY, "no memory is left for the recommendation's JSON");
    }
    json_decref(root);
    return status;
}

const struct rue_report rue_report_json = {.name = "json", .file = "recommendation.json", .render = render};
