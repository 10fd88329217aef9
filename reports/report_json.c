/* recommendation.json, as recommendation.schema.json says. What is not known is null; there is no NaN or
 * Infinity. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch_best.h"
#include "comparison.h"
#include "json_findings.h"
#include "json_forecast.h"
#include "misses.h"
#include "report.h"

/* A sample lies nowhere once the run is over, and a runner may bring its own data: no path. */
static json_t *variant_json(struct rue_json_document *document, const struct rue_variant_findings *findings)
{
    const struct rue_variant *variant = &findings->variant;
    json_t *object = json_object();
    rue_json_put(document, object, "label", rue_json_text_or_null(findings->label ? findings->label : ""));
    rue_json_put(document, object, "mode",
                 rue_findings_mode_is_known(findings) ? json_string(rue_mode_names[variant->mode])
                                                      : json_null());
    rue_json_put(document, object, "format", rue_json_text(variant->format));
    rue_json_put(document, object, "dtype", rue_json_text_or_null(variant->dtype));
    rue_json_put(document, object, "path",
                 findings->data.sample ? json_null() : rue_json_text_or_null(variant->path));
    rue_json_put(document, object, "image_key", rue_json_text_or_null(variant->image_key));
    rue_json_put(document, object, "label_key", rue_json_text_or_null(variant->label_key));
    return object;
}

/* Keyword arguments of torch.utils.data.DataLoader; without workers it refuses those that need workers, and
 * without a GPU it warns of pin_memory. */
static json_t *torch_arguments(struct rue_json_document *document, const struct rue_config *config, bool pins)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    bool workers = config->value[RUE_NUM_WORKERS] > 0;
    json_t *object = json_object();
    for (size_t k = 0; k < knobs->count; k++) {
        const struct rue_knob_info *knob = knobs->at[k];
        if (knob->torch && (workers || !knob->needs_workers) && (pins || k != RUE_PIN_MEMORY))
            rue_json_put(document, object, knob->torch, rue_json_knob(knob, config->value[k]));
    }
    if (workers) rue_json_put(document, object, "persistent_workers", json_true());
    return object;
}

static json_t *models_json(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t m = 0; m < variant->selection->model_count; m++)
        rue_json_push(document, array, rue_json_text(variant->matrix->models[m]));
    return array;
}

static json_t *best_by_batch_size(struct rue_json_document *document,
                                  const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    struct rue_batch_best best = {0};
    while (rue_batch_best_next(variant, &best)) {
        json_t *object = json_object();
        rue_json_put(document, object, "batch_size", json_integer(best.batch_size));
        rue_json_put(document, object, "config", rue_json_config_of(document, variant, best.config, true));
        rue_json_put_standing(document, object, variant, best.config);
        rue_json_push(document, array, object);
    }
    return array;
}

static json_t *coverage_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
                             size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    json_t *object = json_object();
    rue_json_put(document, object, "ok", rue_json_integer(row->covered));
    rue_json_put(document, object, "infeasible", rue_json_integer(row->infeasible));
    rue_json_put(document, object, "failed", rue_json_integer(row->failed));
    rue_json_put(document, object, "of", rue_json_integer(variant->selection->model_count));
    return object;
}

static json_t *misses_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
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
        rue_json_put(document, object, "model", rue_json_model_of(variant, m));
        rue_json_put(document, object, "status", json_string(names[cell->state]));
        rue_json_put(document, object, "reason", rue_json_text_or_null(cell->reason));
        rue_json_push(document, array, object);
    }
    return array;
}

static json_t *numbers_json(struct rue_json_document *document, const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) rue_json_push(document, array, rue_json_real(values[i]));
    return array;
}

/* What the rules were told of a cell, so that they can be applied again. What is as in most cells is left
 * out.
 */
static json_t *cell_json(struct rue_json_document *document, const struct rue_cell *cell)
{
    json_t *object = json_object();
    bool estimated = !cell->times_ns && !isnan(cell->median_ns);
    if (cell->times_ns)
        rue_json_put(document, object, "times_ns", numbers_json(document, cell->times_ns, cell->repeats));
    if (estimated) rue_json_put(document, object, "estimate_ns", rue_json_real(cell->median_ns));
    if (estimated) rue_json_put(document, object, "trials", rue_json_integer(cell->repeats));
    if (estimated && !isnan(cell->estimate_sd))
        rue_json_put(document, object, "estimate_sd", rue_json_real(cell->estimate_sd));
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

static json_t *config_row(struct rue_json_document *document, const struct rue_variant_findings *variant,
                          size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    json_t *object = json_object(), *times = json_object(), *firsts = json_object(), *cells = json_object();
    rue_json_put(document, object, "config", rue_json_config_of(document, variant, config, true));
    rue_json_put(document, object, "ranked", json_boolean(row->ranked));
    rue_json_put_standing(document, object, variant, config);
    rue_json_put(document, object, "source",
                 row->covered ? json_string(row->predicted ? "predicted" : "measured") : json_null());
    rue_json_put(document, object, "verified", rue_json_verified(variant, config));
    rue_json_put(document, object, "repeats", rue_json_integer(row->repeats));
    rue_json_put(document, object, "missed_repeats", rue_json_integer(row->missed));
    rue_json_put(document, object, "coverage", coverage_json(document, variant, config));
    rue_json_put(document, object, "misses", misses_json(document, variant, config));
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        const char *model = variant->matrix->models[m];
        rue_json_put_named(document, times, model, rue_json_nanoseconds(cell->median_ns));
        rue_json_put_named(document, firsts, model, rue_json_nanoseconds(cell->first_batch_ns));
        rue_json_put_named(document, cells, model, cell_json(document, cell));
    }
    rue_json_put(document, object, "first_batch_ns", firsts);
    rue_json_put(document, object, rue_goal_keys[variant->goal], times);
    rue_json_put(document, object, "cells", cells);
    return object;
}

static json_t *configs_json(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t c = 0; c < variant->selection->config_count; c++)
        rue_json_push(document, array, config_row(document, variant, c));
    return array;
}

static json_t *evidence_json(struct rue_json_document *document, const struct rue_findings *findings,
                             const struct rue_variant_findings *variant)
{
    size_t best = variant->selection->recommended;
    json_t *object = json_object();
    rue_json_put(document, object, "configs", rue_json_integer(variant->selection->config_count));
    rue_json_put(document, object, "trials_ok", rue_json_integer(variant->trials.ok));
    rue_json_put(document, object, "trials_failed", rue_json_integer(variant->trials.failed));
    rue_json_put(document, object, "trials_infeasible", rue_json_integer(variant->trials.infeasible));
    rue_json_put(document, object, "trials_timeout", rue_json_integer(variant->trials.timeout));
    rue_json_put(document, object, "repeats",
                 rue_json_integer(best == RUE_NONE ? 0 : variant->selection->rows[best].repeats));
    rue_json_put(document, object, "missed_repeats",
                 rue_json_integer(best == RUE_NONE ? 0 : variant->selection->rows[best].missed));
    rue_json_put(document, object, "repeats_planned", json_integer(findings->run.repeats_planned));
    rue_json_put(document, object, "trials_disturbed", rue_json_integer(variant->trials.disturbed));
    rue_json_put(document, object, "trials_cache_missed", rue_json_integer(variant->trials.cache_missed));
    rue_json_put(document, object, "bad_images", rue_json_integer(variant->trials.bad_images));
    rue_json_put(document, object, "sleep_late_ratio", rue_json_real(rue_findings_late_ratio(variant)));
    return object;
}

static void put_data(struct rue_json_document *document, json_t *object,
                     const struct rue_variant_findings *variant)
{
    rue_json_put(document, object, "job_images", rue_json_integer_or_null(variant->job.images));
    rue_json_put(document, object, "gpus", rue_json_integer_or_null(variant->job.gpus));
    rue_json_put(document, object, "drop_last", json_boolean(variant->job.drop_last));
    rue_json_put(document, object, "decode", json_string(rue_decode_names[variant->job.decode]));
    rue_json_put(document, object, "batch_dtype", json_string(rue_dtype_names[variant->job.batch_dtype]));
    rue_json_put(document, object, "data_images", rue_json_integer(variant->data.images));
    rue_json_put(document, object, "data_bytes", rue_json_integer_or_null(variant->data.bytes));
    rue_json_put(document, object, "data_digest", rue_json_text_or_null(variant->data.digest));
    rue_json_put(document, object, "sample", json_boolean(variant->data.sample));
    bool built = isfinite(variant->data.build_s_per_image) && variant->data.build_s_per_image > 0;
    rue_json_put(document, object, "build_s_per_image",
                 built ? rue_json_real(variant->data.build_s_per_image) : json_null());
}

static json_t *lengths_json(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    const struct rue_job_lengths *lengths = &variant->lengths;
    if (lengths->count == 0) return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < lengths->count; i++) {
        json_t *object = json_object();
        rue_json_put(document, object, "from_images", rue_json_integer(lengths->at[i].from_images));
        rue_json_put(document, object, "to_images", rue_json_integer(lengths->at[i].to_images));
        rue_json_put(document, object, "config",
                     rue_json_config_of(document, variant, lengths->at[i].config, true));
        rue_json_push(document, array, object);
    }
    return array;
}

static json_t *replay_json(struct rue_json_document *document, const struct rue_replayed *replayed)
{
    json_t *object = json_object();
    rue_json_put(document, object, "table_ns", rue_json_nanoseconds(replayed->table_s * 1e9));
    rue_json_put(document, object, "spent_ns", rue_json_nanoseconds(replayed->spent_s * 1e9));
    rue_json_put(document, object, "spent_ratio", rue_json_real(replayed->spent_s / replayed->table_s));
    rue_json_put(document, object, "trials", rue_json_integer(replayed->trials));
    rue_json_put(document, object, "mean_regret_ratio", rue_json_real(replayed->mean_regret_ratio));
    rue_json_put(document, object, "max_regret_ratio", rue_json_real(replayed->max_regret_ratio));
    json_t *best = replayed->knows_best ? json_object() : json_null();
    if (replayed->knows_best) {
        rue_json_put(document, best, "config", rue_json_config(document, &replayed->best, true));
        rue_json_put(document, best, "mean_regret_ratio", rue_json_real(replayed->best_mean_regret_ratio));
        rue_json_put(document, best, "max_regret_ratio", rue_json_real(replayed->best_max_regret_ratio));
    }
    rue_json_put(document, object, "best", best);
    return object;
}

static rue_status recommendation_json(struct rue_json_document *document, const struct rue_findings *findings,
                                      const struct rue_variant_findings *variant, json_t **out,
                                      rue_error *error)
{
    const struct rue_selection *selection = variant->selection;
    size_t best = selection->recommended;
    json_t *object = json_object();
    *out = object;
    rue_json_put(document, object, "variant", variant_json(document, variant));
    rue_json_put(document, object, "config", rue_json_config_of(document, variant, best, true));
    if (best == RUE_NONE) {
        struct rue_misses misses;
        char reason[1024];
        rue_status status = rue_misses_count(variant->matrix, &misses, error);
        if (status != RUE_OK) return status;
        rue_misses_explain(&misses, reason, sizeof reason);
        rue_json_put(document, object, "reason", rue_json_text(reason));
    }
    rue_json_put_standing(document, object, variant, best);
    rue_json_put_rules(document, object, variant);
    rue_json_put(document, object, "top_n_winner",
                 rue_json_standing(document, variant, variant->selection->top_n_winner, true));
    rue_json_put_goal(document, object, variant);
    put_data(document, object, variant);
    rue_json_put(document, object, "measured_with", rue_json_text(findings->runner.measured_with));
    rue_json_put(document, object, "verified", rue_json_verified(variant, best));
    rue_json_put(document, object, "certificate", rue_json_certificate(document, variant));
    rue_json_put(document, object, "baselines", rue_json_baselines(document, variant, true));
    if (variant->replayed.table_s > 0)
        rue_json_put(document, object, "replay", replay_json(document, &variant->replayed));
    if (best != RUE_NONE && strcmp(findings->runner.measured_with, "torch") == 0)
        rue_json_put(document, object, "torch",
                     torch_arguments(document, &variant->matrix->configs[best], findings->runner.pins));
    rue_json_put(document, object, "workload", rue_json_words(variant->job.workload_json));
    rue_json_put(document, object, "forecast", rue_json_forecast(document, findings, variant));
    rue_json_put(document, object, "models", models_json(document, variant));
    rue_json_put(document, object, "models_unnamed", json_boolean(variant->models_unnamed));
    rue_json_put_answers(document, object, variant, true);
    rue_json_put(document, object, "best_by_model", rue_json_best_by_model(document, variant, true));
    rue_json_put(document, object, "best_by_batch_size", best_by_batch_size(document, variant));
    rue_json_put(document, object, "by_job_images", lengths_json(document, variant));
    rue_json_put(document, object, "configs", configs_json(document, variant));
    rue_json_put(document, object, "evidence", evidence_json(document, findings, variant));
    return RUE_OK;
}

static json_t *side_json(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    json_t *object = json_object();
    rue_json_put(document, object, "variant", variant_json(document, variant));
    rue_json_put(document, object, "config",
                 rue_json_config_of(document, variant, variant->selection->recommended, true));
    rue_json_put(document, object, "job_images", rue_json_integer_or_null(variant->job.images));
    return object;
}

static json_t *saved_interval_json(struct rue_json_document *document,
                                   const struct rue_saving_interval *interval)
{
    if (interval->confidence == 0) return json_null();
    json_t *object = json_object();
    rue_json_put(document, object, "confidence", rue_json_real(interval->confidence));
    rue_json_put(document, object, "low_ns_per_image", rue_json_real(interval->low_ns));
    rue_json_put(document, object, "high_ns_per_image", rue_json_real(interval->high_ns));
    return object;
}

static json_t *comparison_json(struct rue_json_document *document, const struct rue_comparison *comparison)
{
    json_t *object = json_object(), *models = json_array();
    rue_json_put(document, object, "raw", side_json(document, comparison->raw));
    rue_json_put(document, object, "preprocessed", side_json(document, comparison->preprocessed));
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct rue_comparison_row *row = &comparison->rows[i];
        json_t *model = json_object();
        rue_json_put(document, model, "model", rue_json_text(row->model));
        rue_json_put(document, model, "raw_end_to_end_ns", rue_json_nanoseconds(row->raw_ns));
        rue_json_put(document, model, "preprocessed_end_to_end_ns",
                     rue_json_nanoseconds(row->preprocessed_ns));
        rue_json_put(document, model, "speedup_ratio", rue_json_real(row->speedup_ratio));
        rue_json_push(document, models, model);
    }
    rue_json_put(document, object, "models", models);
    rue_json_put(document, object, "mean_speedup_ratio", rue_json_real(comparison->mean_speedup_ratio));
    rue_json_put(document, object, "saved_ns_per_image", rue_json_real(comparison->saved_ns_per_image));
    rue_json_put(document, object, "saved_interval", saved_interval_json(document, &comparison->saved));
    return object;
}

static rue_status comparisons_json(struct rue_json_document *document, const struct rue_findings *findings,
                                   json_t *array, rue_error *error)
{
    struct rue_comparison_walk walk = {0};
    for (;;) {
        struct rue_comparison *comparison;
        rue_status status = rue_comparison_next(findings, &walk, &comparison, error);
        if (status != RUE_OK || !comparison) return status;
        rue_json_push(document, array, comparison_json(document, comparison));
        rue_comparison_close(comparison);
    }
}

/* Whether the answer was measured on every variant and model, or predicted for some; null without one. */
static json_t *source_of(const struct rue_overall *overall)
{
    if (overall->best == RUE_NONE) return json_null();
    return json_string(overall->best == overall->selection->recommended ? "measured" : "predicted");
}

static json_t *overall_json(struct rue_json_document *document, const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < findings->overall_count; i++) {
        const struct rue_overall *overall = &findings->overall[i];
        const struct rue_variant_findings all = {
            .matrix = overall->matrix, .selection = overall->selection, .baselines = overall->baselines};
        size_t best = overall->best;
        json_t *object = json_object(), *parts = json_array();
        rue_json_put(document, object, "over", json_string(overall->over));
        rue_json_put(document, object, "config", rue_json_config_of(document, &all, best, true));
        rue_json_put(document, object, "source", source_of(overall));
        rue_json_put_standing(document, object, &all, best);
        rue_json_put(document, object, "scenarios", rue_json_integer(overall->selection->model_count));
        for (size_t p = 0; p < overall->part_count && best != RUE_NONE; p++) {
            json_t *part = json_object();
            rue_json_put(document, part, "variant", rue_json_text(overall->parts[p].name));
            rue_json_put(document, part, "mean_regret_ratio",
                         rue_json_real(overall->parts[p].mean_regret_ratio));
            rue_json_put(document, part, "max_regret_ratio",
                         rue_json_real(overall->parts[p].max_regret_ratio));
            rue_json_push(document, parts, part);
        }
        rue_json_put(document, object, "variants", parts);
        rue_json_put(document, object, "baselines", rue_json_baselines(document, &all, true));
        rue_json_push(document, array, object);
    }
    return array;
}

/* Which strategy chose the trials, and who chose it; null when not known. */
static json_t *strategy_json(struct rue_json_document *document, const struct rue_findings *findings)
{
    if (!findings->run.strategy[0]) return json_null();
    json_t *object = json_object();
    bool chosen = findings->run.strategy_why[0];
    rue_json_put(document, object, "name", rue_json_text(findings->run.strategy));
    rue_json_put(document, object, "chosen_by", json_string(chosen ? "auto" : "user"));
    rue_json_put(document, object, "why", rue_json_text_or_null(findings->run.strategy_why));
    return object;
}

static json_t *provenance_json(struct rue_json_document *document, const struct rue_findings *findings)
{
    json_t *object = json_object();
    rue_json_put(document, object, "rue_version", rue_json_text(findings->run.rue_version));
    rue_json_put(document, object, "study", rue_json_text_or_null(findings->study));
    rue_json_put(document, object, "runner", rue_json_text_or_null(findings->runner.name));
    rue_json_put(document, object, "measured_with", rue_json_text(findings->runner.measured_with));
    rue_json_put(document, object, "consumer", rue_json_text_or_null(findings->runner.consumer));
    rue_json_put(document, object, "clock", json_string(findings->runner.virtual_clock ? "virtual" : "real"));
    rue_json_put(document, object, "cpu", rue_json_text_or_null(findings->machine.cpu));
    rue_json_put(
        document, object, "usable_cpus",
        rue_json_integer_or_null(findings->machine.usable_cpus > 0 ? findings->machine.usable_cpus : 0));
    rue_json_put(document, object, "memory_bytes", rue_json_integer_or_null(findings->machine.memory_bytes));
    rue_json_put(document, object, "kernel", rue_json_text_or_null(findings->machine.kernel));
    rue_json_put(document, object, "libraries", rue_json_text_or_null(findings->machine.libraries));
    rue_json_put(document, object, "busy_before", rue_json_text_or_null(findings->changes.busy_before));
    rue_json_put(document, object, "busy_after", rue_json_text_or_null(findings->changes.busy_after));
    rue_json_put(document, object, "machine", rue_json_words(findings->machine.json));
    rue_json_put(document, object, "seed", rue_json_integer(findings->run.seed));
    rue_json_put(document, object, "strategy", strategy_json(document, findings));
    rue_json_put(document, object, "repeats_planned", json_integer(findings->run.repeats_planned));
    rue_json_put(document, object, "reused_trials", rue_json_integer(findings->run.reused_trials));
    rue_json_put(document, object, "command_line", rue_json_text_or_null(findings->run.command_line));
    rue_json_put(document, object, "started", rue_json_text_or_null(findings->run.started));
    rue_json_put(document, object, "duration_s", rue_json_real(findings->run.duration_s));
    return object;
}

/* What of the study's store this rests on; null where there is none. */
static json_t *ledger_json(struct rue_json_document *document, const struct rue_findings_ledger *ledger)
{
    if (!ledger) return json_null();
    json_t *object = json_object(), *scenarios = json_array();
    for (size_t i = 0; i < ledger->scenario_count; i++)
        rue_json_push(document, scenarios, json_string(ledger->scenarios[i]));
    rue_json_put(document, object, "trials", rue_json_integer(ledger->trials));
    rue_json_put(document, object, "under_way", json_boolean(ledger->under_way));
    rue_json_put(document, object, "scenarios", scenarios);
    rue_json_put(document, object, "rules", rue_json_words(ledger->rules_json));
    return object;
}

static rue_status build(struct rue_json_document *document, const struct rue_findings *findings, json_t *root,
                        rue_error *error)
{
    rue_status status = RUE_OK;
    const struct rue_knobs *knobs = rue_findings_knobs(findings);
    json_t *recommendations = json_array(), *comparisons = json_array();
    rue_json_put(document, root, "format", json_string("rue.recommendation/1"));
    for (size_t v = 0; v < findings->variant_count && status == RUE_OK; v++) {
        json_t *recommendation;
        status = recommendation_json(document, findings, &findings->variants[v], &recommendation, error);
        rue_json_push(document, recommendations, recommendation);
    }
    rue_json_put(document, root, "recommendations", recommendations);
    if (knobs->count > RUE_OWN_KNOB_COUNT) rue_json_put(document, root, "knobs", rue_json_knobs(knobs));
    if (status == RUE_OK) status = comparisons_json(document, findings, comparisons, error);
    rue_json_put(document, root, "comparisons", comparisons);
    rue_json_put(document, root, "overall", overall_json(document, findings));
    rue_json_put(document, root, "partial", json_boolean(findings->run.partial));
    rue_json_put(document, root, "partial_reason",
                 findings->run.partial ? rue_json_text_or_null(findings->run.partial_reason) : json_null());
    rue_json_put(document, root, "notices", rue_json_notices(document, findings));
    rue_json_put(document, root, "disturbance", rue_json_text_or_null(findings->changes.disturbance));
    rue_json_put(document, root, "low_confidence", json_boolean(rue_findings_is_doubtful(findings)));
    rue_json_put(document, root, "ledger", ledger_json(document, findings->ledger));
    rue_json_put(document, root, "provenance", provenance_json(document, findings));
    return status;
}

rue_status rue_report_json_text(const struct rue_findings *findings, char **out, rue_error *error)
{
    struct rue_json_document document = {0};
    json_t *root = json_object();
    rue_status status = build(&document, findings, root, error);
    *out = status == RUE_OK && !document.failed ? rue_json_dump(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return *out || status != RUE_OK ? status : rue_fail_memory(error, "findings", sizeof *findings);
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    struct rue_json_document document = {0};
    json_t *root = json_object();
    rue_status status = build(&document, findings, root, error);
    if (status == RUE_OK) status = rue_json_write(&document, root, stream, error);
    json_decref(root);
    return status;
}

const struct rue_report rue_report_json = {.name = "json",
                                           .file = "recommendation.json",
                                           .mark = "{\n  \"format\": \"rue.recommendation/",
                                           .render = render};
