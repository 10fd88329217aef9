/* recommendation.json, described by recommendation.schema.json. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "json_findings.h"
#include "report.h"
#include "verdict.h"

/* Without the path of a sample, which is removed after the run, and of data that only the runner has. */
static json_t *variant_json(const struct rue_variant_findings *variant)
{
    json_t *object = rue_json_struct(rue_json_data_fields, variant, NULL);
    if (!rue_findings_mode_is_known(variant)) rue_json_put(&object, "mode", json_null());
    if (variant->data.sample) rue_json_put(&object, "path", json_null());
    return object;
}

/* Keyword arguments of torch.utils.data.DataLoader. */
static json_t *torch_arguments(const struct rue_findings *findings, const struct rue_config *config)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    json_t *object = json_object();
    for (size_t k = 0; k < knobs->count; k++)
        if (rue_findings_gives_torch(findings, config, k))
            rue_json_put(&object, knobs->at[k]->torch, rue_json_knob(knobs->at[k], config->value[k]));
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
        json_t *object = rue_json_make("batch_size:i", best.batch_size);
        rue_json_put_score(&object, variant, best.config);
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

static json_t *cell_json(const struct rue_cell *cell)
{
    bool estimated = !cell->times_ns && !isnan(cell->median_ns);
    const struct rue_json_cell members = {.time_count = cell->times_ns ? cell->repeats : 0,
                                          .times_ns = cell->times_ns,
                                          .estimate_ns = estimated ? cell->median_ns : NAN,
                                          .estimate_sd = estimated ? cell->estimate_sd : NAN,
                                          .trials = estimated ? cell->repeats : 0,
                                          .predicted = cell->predicted,
                                          .first_count = cell->first_count,
                                          .first_batches_ns = cell->first_batches_ns,
                                          .first_estimate_ns = cell->first_count ? NAN : cell->first_batch_ns,
                                          .missed = cell->missed,
                                          .infeasible = cell->infeasible,
                                          .reason = cell->missed ? cell->reason : ""};
    return rue_json_struct(rue_json_cell_fields, &members, NULL);
}

static json_t *cells_json(const struct rue_variant_findings *variant, size_t config)
{
    json_t *cells = json_object();
    for (size_t m = 0; m < variant->matrix->model_count; m++)
        rue_json_put_named(&cells, variant->matrix->models[m],
                           cell_json(rue_cost_matrix_cell(variant->matrix, m, config)));
    return cells;
}

static json_t *config_row(const struct rue_variant_findings *variant, size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    json_t *object = json_object(), *times = json_object(), *firsts = json_object();
    rue_json_put_row(&object, variant, config);
    rue_json_put(&object, "coverage",
                 rue_json_make("ok:n infeasible:n failed:n of:n", row->covered, row->infeasible, row->failed,
                               variant->selection->model_count));
    rue_json_put(&object, "misses", misses_json(variant, config));
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        const char *model = variant->matrix->models[m];
        rue_json_put_named(&times, model, rue_json_nanoseconds(cell->median_ns));
        rue_json_put_named(&firsts, model, rue_json_nanoseconds(cell->first_batch_ns));
    }
    rue_json_put(&object, "first_batch_ns", firsts);
    rue_json_put(&object, rue_goal_keys[variant->goal], times);
    rue_json_put(&object, "cells", cells_json(variant, config));
    return object;
}

static json_t *configs_json(const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    for (size_t c = 0; c < variant->selection->config_count; c++)
        rue_json_push(&array, config_row(variant, c));
    return array;
}

static void put_evidence(json_t **object, const struct rue_findings *findings,
                         const struct rue_variant_findings *variant)
{
    static const struct rue_ranking_row none;
    const struct rue_selection *selection = variant->selection;
    const struct rue_ranking_row *best =
        selection->recommended == RUE_NONE ? &none : &selection->rows[selection->recommended];
    json_t *evidence = rue_json_struct(rue_json_evidence_fields, variant, variant);
    rue_json_add(&evidence, "configs:n repeats:n missed_repeats:n repeats_planned:i sleep_overshoot_ratio:r",
                 selection->config_count, best->repeats, best->missed, findings->run.repeats_planned,
                 rue_findings_overshoot_ratio(variant));
    rue_json_put(object, "evidence", evidence);
}

static json_t *recommendation_json(const struct rue_findings *findings,
                                   const struct rue_variant_findings *variant)
{
    size_t best = variant->selection->recommended;
    const struct rue_workload *workload = &variant->job.workload;
    json_t *object = rue_json_make("variant:o", variant_json(variant));
    rue_json_put_score(&object, variant, best);
    if (best == RUE_NONE) rue_json_put(&object, "reason", rue_json_sentence(rue_verdict_why_none, variant));
    rue_json_put_rules(&object, variant);
    rue_json_put_fields(&object, rue_json_variant_fields, variant, variant);
    if (!variant->job.workload_known) rue_json_put(&object, "workload", json_null());
    rue_json_add(&object,
                 "top_n_winner:o drop_last:b decode:t batch_dtype:t measured_with:t verified:T baselines:o "
                 "forecast:o models:o best_by_batch_size:o",
                 rue_json_score(variant, variant->selection->top_n_winner), workload->drop_last,
                 rue_decode_names[rue_findings_decode(variant)], rue_dtype_names[workload->batch_dtype],
                 findings->runner.measured_with, rue_json_verified(variant, best),
                 rue_json_baselines(variant), rue_json_forecast(findings, variant), models_json(variant),
                 best_by_batch_size(variant));
    char why[RUE_WHY_NOT_BYTES];
    bool decided = !*rue_findings_why_not(findings, variant, why);
    rue_json_add(&object, "decided:b why_not:T", decided, why);
    if (best != RUE_NONE && strcmp(findings->runner.measured_with, "torch") == 0)
        rue_json_put(&object, decided ? "torch" : "torch_best_guess",
                     torch_arguments(findings, &variant->matrix->configs[best]));
    rue_json_put_answers(&object, variant);
    rue_json_put(&object, "configs", configs_json(variant));
    put_evidence(&object, findings, variant);
    return object;
}

json_t *rue_json_variant_facts(const struct rue_findings *findings,
                               const struct rue_variant_findings *variant)
{
    json_t *configs = json_array();
    for (size_t c = 0; c < variant->matrix->config_count; c++)
        rue_json_push(&configs, rue_json_make("config:o cells:o", rue_json_config_at(variant, c),
                                              cells_json(variant, c)));
    json_t *object =
        rue_json_make("variant:o measured_with:t baselines:o forecast:o models:o configs:o",
                      variant_json(variant), findings->runner.measured_with, rue_json_baselines(variant),
                      rue_json_forecast(findings, variant), models_json(variant), configs);
    rue_json_put_score(&object, variant, variant->selection->recommended);
    rue_json_put_rules(&object, variant);
    rue_json_put_fields(&object, rue_json_variant_fields, variant, variant);
    if (!variant->job.workload_known) rue_json_put(&object, "workload", json_null());
    put_evidence(&object, findings, variant);
    return object;
}

static json_t *side_json(const struct rue_variant_findings *variant)
{
    return rue_json_make("variant:o config:o job_images:N", variant_json(variant),
                         rue_json_config_at(variant, variant->selection->recommended), variant->job.images);
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
        size_t best = overall->selection->recommended;
        json_t *object = rue_json_make("over:t", overall->scope), *parts = json_array();
        const char *source = best == RUE_NONE                             ? ""
                             : overall->selection->rows[best].repeats > 0 ? "measured"
                                                                          : "predicted";
        rue_json_put_score(&object, &all, best);
        for (size_t p = 0; p < overall->part_count && best != RUE_NONE; p++) {
            const struct rue_overall_part *part = &overall->parts[p];
            rue_json_push(&parts, rue_json_make("variant:t mean_regret_ratio:r max_regret_ratio:r",
                                                part->name, part->mean_regret_ratio, part->max_regret_ratio));
        }
        rue_json_add(&object, "source:T scenarios:n variants:o baselines:o", source,
                     overall->selection->model_count, parts, rue_json_baselines(&all));
        rue_json_push(&array, object);
    }
    return array;
}

static json_t *strategy_json(const struct rue_findings *findings)
{
    if (!findings->run.strategy[0]) return json_null();
    json_t *object = rue_json_struct(rue_json_strategy_fields, findings, NULL);
    rue_json_add(&object, "chosen_by:t", findings->run.strategy_why[0] ? "auto" : "user");
    return object;
}

static json_t *provenance_json(const struct rue_findings *findings)
{
    json_t *object = rue_json_struct(rue_json_provenance_fields, findings, NULL);
    rue_json_add(&object, "machine:o strategy:o", rue_json_parse(findings->machine.json),
                 strategy_json(findings));
    return object;
}

/* Knobs of the runner's own, and those of rue that it does not have. */
static void put_knobs(json_t **object, const struct rue_findings *findings)
{
    const struct rue_knobs *knobs = rue_findings_knobs(findings);
    if (!rue_knobs_are_own(knobs)) rue_json_put(object, "knobs", rue_json_knobs(knobs));
}

json_t *rue_json_run_facts(const struct rue_findings *findings)
{
    json_t *object =
        rue_json_make("provenance:o partial:b partial_reason:T disturbance:T pins_memory:b",
                      provenance_json(findings), findings->run.partial, findings->run.partial_reason,
                      findings->changes.disturbance, findings->runner.pins_memory);
    put_knobs(&object, findings);
    rue_json_put(&object, "contention",
                 rue_json_struct(rue_json_contention_fields, &findings->changes.contention, NULL));
    return object;
}

static void put_run(json_t **object, const struct rue_findings *findings)
{
    rue_json_put_fields(object, rue_json_run_fields, findings, NULL);
    json_t *notices = json_object_get(*object, "notices");
    for (size_t i = 0; *object && i < json_array_size(notices); i++) {
        char text[RUE_NOTICE_TEXT_BYTES];
        rue_notice_text(&findings->changes.notices[i], text, sizeof text);
        if (json_object_set_new(json_array_get(notices, i), "text", rue_json_text(text)) != 0)
            rue_json_put(object, "notices", NULL);
    }
    json_t *dropped = json_object_get(*object, "dropped_nodes");
    for (size_t i = 0; *object && i < json_array_size(dropped); i++) {
        char text[RUE_NOTICE_TEXT_BYTES * 2];
        rue_dropped_node_text(&findings->changes.dropped[i], text, sizeof text);
        if (json_object_set_new(json_array_get(dropped, i), "text", rue_json_text(text)) != 0)
            rue_json_put(object, "dropped_nodes", NULL);
    }
    rue_json_add(object, "decided:b low_confidence:b provenance:o", !rue_findings_first_undecided(findings),
                 rue_findings_is_doubtful(findings), provenance_json(findings));
}

static json_t *document_json(const struct rue_findings *findings)
{
    json_t *root = rue_json_make("format:t", "rue.recommendation/1"), *recommendations = json_array();
    for (size_t v = 0; v < findings->variant_count; v++)
        rue_json_push(&recommendations, recommendation_json(findings, &findings->variants[v]));
    rue_json_put(&root, "recommendations", recommendations);
    put_knobs(&root, findings);
    rue_json_put(&root, "comparisons", comparisons_json(findings));
    rue_json_put(&root, "overall", overall_json(findings));
    put_run(&root, findings);
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
