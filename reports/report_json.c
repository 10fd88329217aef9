/* recommendation.json, as recommendation.schema.json says. What is not known is null; there is no NaN or
 * Infinity. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "json_findings.h"
#include "report.h"
#include "verdict.h"
#include "workload_json.h"

/* A sample lies nowhere once the run is over, and a runner may bring its own data: no path. */
static json_t *variant_json(const struct rue_variant_findings *findings)
{
    const struct rue_variant *variant = &findings->variant;
    return rue_json_make("label:T mode:T format:t dtype:T path:T image_key:T label_key:T",
                         findings->label ? findings->label : "",
                         rue_findings_mode_is_known(findings) ? rue_mode_names[variant->mode] : "",
                         variant->format, variant->dtype, findings->data.sample ? "" : variant->path,
                         variant->image_key, variant->label_key);
}

/* Keyword arguments of torch.utils.data.DataLoader; without workers it refuses those that need workers, and
 * without a GPU it warns of pin_memory. */
static json_t *torch_arguments(const struct rue_config *config, bool pins)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    bool workers = config->value[RUE_NUM_WORKERS] > 0;
    json_t *object = json_object();
    for (size_t k = 0; k < knobs->count; k++) {
        const struct rue_knob_info *knob = knobs->at[k];
        if (knob->torch && (workers || !knob->needs_workers) && (pins || k != RUE_PIN_MEMORY))
            rue_json_put(&object, knob->torch, rue_json_knob(knob, config->value[k]));
    }
    if (workers) rue_json_put(&object, "persistent_workers", json_true());
    return object;
}

static json_t *models_json(const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t m = 0; m < variant->selection->model_count; m++)
        rue_json_push(&array, rue_json_text(variant->matrix->models[m]));
    return array;
}

static json_t *best_by_batch_size(const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    struct rue_batch_best best = {0};
    while (rue_batch_best_next(variant, &best)) {
        json_t *object = json_object();
        rue_json_put(&object, "batch_size", json_integer(best.batch_size));
        rue_json_put(&object, "config", rue_json_config_of(variant, best.config, true));
        rue_json_put_standing(&object, variant, best.config);
        rue_json_push(&array, object);
    }
    return array;
}

static json_t *misses_json(const struct rue_variant_findings *variant, size_t config)
{
    static const char *const names[] = {[RUE_CELL_MISSING] = "unmeasured",
                                        [RUE_CELL_INFEASIBLE] = "infeasible",
                                        [RUE_CELL_FAILED] = "failed"};
    json_t *array = json_array();
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        if (cell->state != RUE_CELL_OK)
            rue_json_push(&array, rue_json_make("model:t status:t reason:T", variant->matrix->models[m],
                                                names[cell->state], cell->reason));
    }
    return array;
}

/* What the rules were told of a cell, so that they can be applied again. What is as in most cells is left
 * out.
 */
static json_t *cell_json(const struct rue_cell *cell)
{
    json_t *object = json_object();
    bool estimated = !cell->times_ns && !isnan(cell->median_ns);
    if (cell->times_ns) rue_json_put(&object, "times_ns", rue_json_reals(cell->times_ns, cell->repeats));
    if (estimated) rue_json_put(&object, "estimate_ns", rue_json_real(cell->median_ns));
    if (estimated) rue_json_put(&object, "trials", rue_json_integer(cell->repeats));
    if (estimated && !isnan(cell->estimate_sd))
        rue_json_put(&object, "estimate_sd", rue_json_real(cell->estimate_sd));
    if (cell->predicted) rue_json_put(&object, "predicted", json_true());
    if (cell->first_count)
        rue_json_put(&object, "first_batches_ns", rue_json_reals(cell->first_batches_ns, cell->first_count));
    else if (!isnan(cell->first_batch_ns))
        rue_json_put(&object, "first_estimate_ns", rue_json_real(cell->first_batch_ns));
    if (cell->missed == 0) return object;
    rue_json_put(&object, "missed", rue_json_integer(cell->missed));
    rue_json_put(&object, "infeasible", rue_json_integer(cell->infeasible));
    rue_json_put(&object, "reason", rue_json_text(cell->reason));
    return object;
}

static json_t *config_row(const struct rue_variant_findings *variant, size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    json_t *object = json_object(), *times = json_object(), *firsts = json_object(), *cells = json_object();
    rue_json_put_row(&object, variant, config, true);
    rue_json_put(&object, "coverage",
                 rue_json_make("ok:n infeasible:n failed:n of:n", row->covered, row->infeasible, row->failed,
                               variant->selection->model_count));
    rue_json_put(&object, "misses", misses_json(variant, config));
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        const char *model = variant->matrix->models[m];
        rue_json_put_named(&times, model, rue_json_nanoseconds(cell->median_ns));
        rue_json_put_named(&firsts, model, rue_json_nanoseconds(cell->first_batch_ns));
        rue_json_put_named(&cells, model, cell_json(cell));
    }
    rue_json_put(&object, "first_batch_ns", firsts);
    rue_json_put(&object, rue_goal_keys[variant->goal], times);
    rue_json_put(&object, "cells", cells);
    return object;
}

static json_t *configs_json(const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t c = 0; c < variant->selection->config_count; c++)
        rue_json_push(&array, config_row(variant, c));
    return array;
}

static json_t *evidence_json(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    static const struct rue_ranking_row none;
    const struct rue_selection *selection = variant->selection;
    const struct rue_trial_findings *trials = &variant->trials;
    const struct rue_ranking_row *best =
        selection->recommended == RUE_NONE ? &none : &selection->rows[selection->recommended];
    return rue_json_make(
        "configs:n trials_ok:n trials_failed:n trials_infeasible:n trials_timeout:n repeats:n "
        "missed_repeats:n repeats_planned:i trials_disturbed:n trials_cache_missed:n "
        "bad_images:n sleep_late_ratio:r",
        selection->config_count, trials->ok, trials->failed, trials->infeasible, trials->timeout,
        best->repeats, best->missed, findings->run.repeats_planned, trials->disturbed, trials->cache_missed,
        trials->bad_images, rue_findings_late_ratio(variant));
}

static void put_data(json_t **object, const struct rue_variant_findings *variant)
{
    rue_json_put(object, "job_images", rue_json_integer_or_null(variant->job.images));
    rue_json_put(object, "gpus", rue_json_integer_or_null(variant->job.gpus));
    rue_json_put(object, "drop_last", json_boolean(variant->job.workload.drop_last));
    rue_json_put(object, "decode", json_string(rue_decode_names[rue_findings_decode(variant)]));
    rue_json_put(object, "batch_dtype", json_string(rue_dtype_names[variant->job.workload.batch_dtype]));
    rue_json_put(object, "data_images", rue_json_integer(variant->data.images));
    rue_json_put(object, "data_bytes", rue_json_integer_or_null(variant->data.bytes));
    rue_json_put(object, "data_digest", rue_json_text_or_null(variant->data.digest));
    rue_json_put(object, "sample", json_boolean(variant->data.sample));
    bool built = isfinite(variant->data.build_s_per_image) && variant->data.build_s_per_image > 0;
    rue_json_put(object, "build_s_per_image",
                 built ? rue_json_real(variant->data.build_s_per_image) : json_null());
}

static json_t *lengths_json(const struct rue_variant_findings *variant)
{
    const struct rue_job_lengths *lengths = &variant->lengths;
    if (lengths->count == 0) return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < lengths->count; i++) {
        const struct rue_job_interval *at = &lengths->at[i];
        rue_json_push(&array, rue_json_make("from_images:n to_images:n config:o", at->from_images,
                                            at->to_images, rue_json_config_of(variant, at->config, true)));
    }
    return array;
}

static json_t *replay_json(const struct rue_replayed *replayed)
{
    json_t *best = json_null();
    if (replayed->knows_best)
        best = rue_json_make("config:o mean_regret_ratio:r max_regret_ratio:r",
                             rue_json_config(&replayed->best, true), replayed->best_mean_regret_ratio,
                             replayed->best_max_regret_ratio);
    return rue_json_make(
        "table_ns:d spent_ns:d spent_ratio:r trials:n mean_regret_ratio:r max_regret_ratio:r "
        "best:o",
        replayed->table_s * 1e9, replayed->spent_s * 1e9, replayed->spent_s / replayed->table_s,
        replayed->trials, replayed->mean_regret_ratio, replayed->max_regret_ratio, best);
}

static json_t *recommendation_json(const struct rue_findings *findings,
                                   const struct rue_variant_findings *variant)
{
    size_t best = variant->selection->recommended;
    json_t *object = json_object();
    rue_json_put(&object, "variant", variant_json(variant));
    rue_json_put(&object, "config", rue_json_config_of(variant, best, true));
    if (best == RUE_NONE) rue_json_put(&object, "reason", rue_json_said(rue_verdict_why_none, variant));
    rue_json_put_standing(&object, variant, best);
    rue_json_put_rules(&object, variant);
    rue_json_put(&object, "top_n_winner", rue_json_standing(variant, variant->selection->top_n_winner, true));
    rue_json_put_goal(&object, variant);
    put_data(&object, variant);
    rue_json_put(&object, "measured_with", rue_json_text(findings->runner.measured_with));
    rue_json_put(&object, "verified", rue_json_verified(variant, best));
    rue_json_put(&object, "certificate", rue_json_certificate(variant));
    rue_json_put(&object, "baselines", rue_json_baselines(variant, true));
    if (variant->replayed.table_s > 0) rue_json_put(&object, "replay", replay_json(&variant->replayed));
    if (best != RUE_NONE && strcmp(findings->runner.measured_with, "torch") == 0)
        rue_json_put(&object, "torch",
                     torch_arguments(&variant->matrix->configs[best], findings->runner.pins));
    rue_json_put(&object, "workload",
                 variant->job.workload_known ? rue_workload_json(&variant->job.workload) : json_null());
    rue_json_put(&object, "forecast", rue_json_forecast(findings, variant));
    rue_json_put(&object, "models", models_json(variant));
    rue_json_put(&object, "models_unnamed", json_boolean(variant->models_unnamed));
    rue_json_put_answers(&object, variant, true);
    rue_json_put(&object, "best_by_model", rue_json_best_by_model(variant, true));
    rue_json_put(&object, "best_by_batch_size", best_by_batch_size(variant));
    rue_json_put(&object, "by_job_images", lengths_json(variant));
    rue_json_put(&object, "configs", configs_json(variant));
    rue_json_put(&object, "evidence", evidence_json(findings, variant));
    return object;
}

static json_t *side_json(const struct rue_variant_findings *variant)
{
    return rue_json_make("variant:o config:o job_images:N", variant_json(variant),
                         rue_json_config_of(variant, variant->selection->recommended, true),
                         variant->job.images);
}

static json_t *comparison_json(const struct rue_comparison *comparison)
{
    const struct rue_saving_interval *saved = &comparison->saving.interval;
    json_t *models = json_array(), *interval = json_null();
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct rue_comparison_row *row = &comparison->rows[i];
        rue_json_push(&models, rue_json_make("model:t raw_end_to_end_ns:d preprocessed_end_to_end_ns:d "
                                             "speedup_ratio:r",
                                             row->model, row->before_ns, row->after_ns, row->speedup_ratio));
    }
    if (saved->confidence > 0)
        interval = rue_json_make("confidence:r low_ns_per_image:r high_ns_per_image:r", saved->confidence,
                                 saved->low_ns, saved->high_ns);
    return rue_json_make("raw:o preprocessed:o models:o mean_speedup_ratio:r saved_ns_per_image:r "
                         "saved_interval:o",
                         side_json(comparison->before), side_json(comparison->after), models,
                         comparison->mean_speedup_ratio, comparison->saving.ns_per_image, interval);
}

static json_t *comparisons_json(const struct rue_findings *findings)
{
    struct rue_comparison_walk walk = {0};
    json_t *array = json_array();
    for (struct rue_comparison *comparison = NULL;; rue_comparison_close(comparison)) {
        if (rue_comparison_next(findings, &walk, &comparison, NULL) != RUE_OK) rue_json_push(&array, NULL);
        if (!comparison) return array;
        rue_json_push(&array, comparison_json(comparison));
    }
}

static json_t *overall_json(const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < findings->overall_count; i++) {
        const struct rue_overall *overall = &findings->overall[i];
        const struct rue_variant_findings all = {
            .matrix = overall->matrix, .selection = overall->selection, .baselines = overall->baselines};
        size_t best = overall->best;
        json_t *object = json_object(), *parts = json_array();
        rue_json_put(&object, "over", json_string(overall->over));
        rue_json_put(&object, "config", rue_json_config_of(&all, best, true));
        rue_json_put(&object, "source",
                     rue_json_text_or_null(best == RUE_NONE                          ? ""
                                           : best == overall->selection->recommended ? "measured"
                                                                                     : "predicted"));
        rue_json_put_standing(&object, &all, best);
        rue_json_put(&object, "scenarios", rue_json_integer(overall->selection->model_count));
        for (size_t p = 0; p < overall->part_count && best != RUE_NONE; p++) {
            const struct rue_overall_part *part = &overall->parts[p];
            rue_json_push(&parts, rue_json_make("variant:t mean_regret_ratio:r max_regret_ratio:r",
                                                part->name, part->mean_regret_ratio, part->max_regret_ratio));
        }
        rue_json_put(&object, "variants", parts);
        rue_json_put(&object, "baselines", rue_json_baselines(&all, true));
        rue_json_push(&array, object);
    }
    return array;
}

/* Which strategy chose the trials, and who chose it; null when not known. */
static json_t *strategy_json(const struct rue_run_findings *run)
{
    if (!run->strategy[0]) return json_null();
    return rue_json_make("name:t chosen_by:t why:T", run->strategy, run->strategy_why[0] ? "auto" : "user",
                         run->strategy_why);
}

static json_t *provenance_json(const struct rue_findings *findings)
{
    json_t *object = json_object();
    rue_json_put(&object, "rue_version", rue_json_text(findings->run.rue_version));
    rue_json_put(&object, "study", rue_json_text_or_null(findings->study));
    rue_json_put(&object, "runner", rue_json_text_or_null(findings->runner.name));
    rue_json_put(&object, "measured_with", rue_json_text(findings->runner.measured_with));
    rue_json_put(&object, "consumer", rue_json_text_or_null(findings->runner.consumer));
    rue_json_put(&object, "clock", json_string(findings->runner.virtual_clock ? "virtual" : "real"));
    rue_json_put(&object, "cpu", rue_json_text_or_null(findings->machine.cpu));
    rue_json_put(
        &object, "usable_cpus",
        rue_json_integer_or_null(findings->machine.usable_cpus > 0 ? findings->machine.usable_cpus : 0));
    rue_json_put(&object, "memory_bytes", rue_json_integer_or_null(findings->machine.memory_bytes));
    rue_json_put(&object, "kernel", rue_json_text_or_null(findings->machine.kernel));
    rue_json_put(&object, "libraries", rue_json_text_or_null(findings->machine.libraries));
    rue_json_put(&object, "busy_before", rue_json_text_or_null(findings->changes.busy_before));
    rue_json_put(&object, "busy_after", rue_json_text_or_null(findings->changes.busy_after));
    rue_json_put(&object, "machine", rue_json_words(findings->machine.json));
    rue_json_put(&object, "seed", rue_json_integer(findings->run.seed));
    rue_json_put(&object, "strategy", strategy_json(&findings->run));
    rue_json_put(&object, "repeats_planned", json_integer(findings->run.repeats_planned));
    rue_json_put(&object, "reused_trials", rue_json_integer(findings->run.reused_trials));
    rue_json_put(&object, "command_line", rue_json_text_or_null(findings->run.command_line));
    rue_json_put(&object, "started", rue_json_text_or_null(findings->run.started));
    rue_json_put(&object, "duration_s", rue_json_real(findings->run.duration_s));
    return object;
}

/* What of the study's store this rests on; null where there is none. */
static json_t *ledger_json(const struct rue_findings_ledger *ledger)
{
    if (!ledger) return json_null();
    json_t *scenarios = json_array();
    for (size_t i = 0; i < ledger->scenario_count; i++)
        rue_json_push(&scenarios, json_string(ledger->scenarios[i]));
    return rue_json_make("trials:n under_way:b scenarios:o rules:o", ledger->trials, ledger->under_way,
                         scenarios, rue_json_words(ledger->rules_json));
}

/* NULL without memory. */
static json_t *document_json(const struct rue_findings *findings)
{
    const struct rue_knobs *knobs = rue_findings_knobs(findings);
    json_t *root = json_object(), *recommendations = json_array();
    for (size_t v = 0; v < findings->variant_count; v++)
        rue_json_push(&recommendations, recommendation_json(findings, &findings->variants[v]));
    rue_json_put(&root, "format", json_string("rue.recommendation/1"));
    rue_json_put(&root, "recommendations", recommendations);
    if (knobs->count > RUE_OWN_KNOB_COUNT) rue_json_put(&root, "knobs", rue_json_knobs(knobs));
    rue_json_put(&root, "comparisons", comparisons_json(findings));
    rue_json_put(&root, "overall", overall_json(findings));
    rue_json_put_course(&root, findings);
    rue_json_put(&root, "ledger", ledger_json(findings->ledger));
    rue_json_put(&root, "provenance", provenance_json(findings));
    return root;
}

rue_status rue_report_json_text(const struct rue_findings *findings, char **out, rue_error *error)
{
    json_t *root = document_json(findings);
    *out = rue_json_dump(root, JSON_COMPACT);
    json_decref(root);
    return *out ? RUE_OK : rue_fail_memory(error, "findings", sizeof *findings);
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    return rue_json_write(document_json(findings), stream, error);
}

const struct rue_report rue_report_json = {.name = "json",
                                           .file = "recommendation.json",
                                           .mark = "{\n  \"format\": \"rue.recommendation/",
                                           .render = render};
