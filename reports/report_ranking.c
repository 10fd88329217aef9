/* The ranking as JSON, the same of a table measured elsewhere and of a study's store: for each data mode
 * every configuration, best first, those that are not ranked behind, with the reason. What only a tuning run
 * knows is in recommendation.json. */
#include <math.h>
#include <string.h>

#include "batch_best.h"
#include "json_findings.h"
#include "report.h"
#include "verdict.h"

enum { WHY_BYTES = 1024 };

/* Why a configuration is not ranked: what went wrong, for how many models, and how for the first of them. */
static json_t *reason_json(const struct rue_variant_findings *variant, size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    size_t models = variant->selection->model_count, at = rue_findings_first_miss(variant, config);
    if (row->ranked || at == RUE_NONE) return json_null();
    const struct {
        size_t count;
        const char *word;
    } kinds[] = {{models - row->covered - row->infeasible - row->failed, "not measured"},
                 {row->infeasible, "infeasible"},
                 {row->failed, "failed"}};
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, at, config);
    char why[WHY_BYTES];
    const char *between = ": ";
    size_t used = (size_t)snprintf(why, sizeof why, "ok for %zu of %zu model%s", row->covered, models,
                                   models == 1 ? "" : "s");
    for (int i = 0; i < 3; i++) {
        if (kinds[i].count == 0) continue;
        used += (size_t)snprintf(why + used, sizeof why - used, "%s%zu %s", between, kinds[i].count,
                                 kinds[i].word);
        between = ", ";
    }
    if (cell->state != RUE_CELL_MISSING)
        snprintf(why + used, sizeof why - used, "; %s%s%s", variant->matrix->models[at],
                 cell->reason[0] ? ": " : "", cell->reason);
    return rue_json_text(why);
}

static json_t *row_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
                        size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    json_t *object = rue_json_standing(document, variant, config, false), *times = json_object();
    rue_json_put(document, object, "ranked", json_boolean(row->ranked));
    rue_json_put(document, object, "covered", rue_json_integer(row->covered));
    rue_json_put(document, object, "reason", reason_json(variant, config));
    rue_json_put(document, object, "source",
                 row->covered ? json_string(row->predicted ? "predicted" : "measured") : json_null());
    rue_json_put(document, object, "verified", rue_json_verified(variant, config));
    rue_json_put(document, object, "repeats", rue_json_integer(row->repeats));
    rue_json_put(document, object, "missed_repeats", rue_json_integer(row->missed));
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        if (cell->state == RUE_CELL_OK)
            rue_json_put_named(document, times, variant->matrix->models[m],
                               rue_json_nanoseconds(cell->median_ns));
    }
    rue_json_put(document, object, rue_goal_keys[variant->goal], times);
    return object;
}

static json_t *configs_json(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *array = json_array();
    for (size_t i = 0; i < selection->ranked_count; i++)
        rue_json_push(document, array, row_json(document, variant, selection->ranked[i]));
    for (size_t c = 0; c < selection->config_count; c++)
        if (!selection->rows[c].ranked) rue_json_push(document, array, row_json(document, variant, c));
    return array;
}

static json_t *coverage_json(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    size_t ok = 0, infeasible = 0, failed = 0, missed = 0,
           cells = selection->config_count * selection->model_count;
    for (size_t c = 0; c < selection->config_count; c++) {
        ok += selection->rows[c].covered;
        infeasible += selection->rows[c].infeasible;
        failed += selection->rows[c].failed;
        missed += selection->rows[c].missed;
    }
    json_t *object = json_object();
    rue_json_put(document, object, "configs", rue_json_integer(selection->config_count));
    rue_json_put(document, object, "ranked", rue_json_integer(selection->ranked_count));
    rue_json_put(document, object, "cells", rue_json_integer(cells));
    rue_json_put(document, object, "ok", rue_json_integer(ok));
    rue_json_put(document, object, "infeasible", rue_json_integer(infeasible));
    rue_json_put(document, object, "failed", rue_json_integer(failed));
    rue_json_put(document, object, "unmeasured", rue_json_integer(cells - ok - infeasible - failed));
    rue_json_put(document, object, "missed_repeats", rue_json_integer(missed));
    return object;
}

static json_t *best_by_batch_size(struct rue_json_document *document,
                                  const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    struct rue_batch_best best = {0};
    while (rue_batch_best_next(variant, &best))
        if (best.config != RUE_NONE)
            rue_json_push(document, array, rue_json_standing(document, variant, best.config, false));
    return array;
}

static void put_circumstances(struct rue_json_document *document, json_t *object,
                              const struct rue_variant_findings *variant)
{
    const struct rue_circumstances *around = variant->circumstances;
    rue_json_put(document, object, "format", rue_json_text_or_null(variant->variant.format));
    rue_json_put(document, object, "dtype", rue_json_text_or_null(variant->variant.dtype));
    rue_json_put(document, object, "job_images", rue_json_integer_or_null(variant->job.images));
    if (!around) return;
    rue_json_put(document, object, "measured_with", rue_json_text_or_null(around->loader));
    rue_json_put(document, object, "runner", rue_json_text_or_null(around->runner));
    rue_json_put(document, object, "machine", rue_json_text_or_null(around->machine));
    rue_json_put(document, object, "workload", rue_json_text_or_null(around->workload));
    rue_json_put(document, object, "data_digest", rue_json_text_or_null(variant->data.digest));
    rue_json_put(document, object, "bad_images",
                 variant->label ? json_null()
                                : rue_json_integer(variant->trials.bad_images)); /* a table has none */
    rue_json_put(document, object, "path", rue_json_text_or_null(variant->variant.path));
}

static json_t *disagreement_json(const struct rue_variant_findings *variant)
{
    char words[RUE_VERDICT_BYTES], plain[RUE_VERDICT_BYTES];
    size_t used = 0;
    rue_verdict_votes(variant, true, words, sizeof words);
    for (const char *at = words; *at; at++) {
        bool no_break = strncmp(at, "\xC2\xA0", 2) == 0;
        plain[used++] = no_break ? ' ' : *at;
        at += no_break;
    }
    plain[used] = 0;
    return rue_json_text_or_null(plain);
}

static json_t *mode_json(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *object = json_object(), *models = json_array();
    rue_json_put(document, object, "mode", rue_json_text(rue_findings_mode(variant)));
    put_circumstances(document, object, variant);
    for (size_t m = 0; m < selection->model_count; m++)
        rue_json_push(document, models, rue_json_model_of(variant, m));
    rue_json_put(document, object, "models", models);
    rue_json_put_rules(document, object, variant);
    rue_json_put_goal(document, object, variant);
    rue_json_put(document, object, "recommended",
                 rue_json_standing(document, variant, selection->recommended, false));
    rue_json_put(document, object, "top_n_winner",
                 rue_json_standing(document, variant, selection->top_n_winner, false));
    rue_json_put(document, object, "disagreement", disagreement_json(variant));
    rue_json_put(document, object, "coverage", coverage_json(document, variant));
    rue_json_put(document, object, "certificate", rue_json_certificate(document, variant));
    rue_json_put(document, object, "baselines", rue_json_baselines(document, variant, false));
    rue_json_put_answers(document, object, variant, false);
    rue_json_put(document, object, "best_by_model", rue_json_best_by_model(document, variant, false));
    rue_json_put(document, object, "best_by_batch_size", best_by_batch_size(document, variant));
    rue_json_put(document, object, "configs", configs_json(document, variant));
    return object;
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    struct rue_json_document document = {0};
    json_t *root = json_object(), *modes = json_array();
    rue_json_put(&document, root, "format", json_string("rue.ranking/1"));
    rue_json_put(&document, root, "study", rue_json_text_or_null(findings->study));
    rue_json_put(&document, root, "measured_with", rue_json_text_or_null(findings->runner.measured_with));
    for (size_t v = 0; v < findings->variant_count; v++)
        rue_json_push(&document, modes, mode_json(&document, &findings->variants[v]));
    rue_json_put(&document, root, "modes", modes);
    rue_json_put(&document, root, "partial", json_boolean(findings->run.partial));
    rue_json_put(&document, root, "partial_reason",
                 findings->run.partial ? rue_json_text_or_null(findings->run.partial_reason) : json_null());
    rue_json_put(&document, root, "notices", rue_json_notices(&document, findings));
    rue_json_put(&document, root, "disturbance", rue_json_text_or_null(findings->changes.disturbance));
    rue_json_put(&document, root, "busy_before", rue_json_text_or_null(findings->changes.busy_before));
    rue_json_put(&document, root, "busy_after", rue_json_text_or_null(findings->changes.busy_after));
    rue_json_put(&document, root, "low_confidence", json_boolean(rue_findings_is_doubtful(findings)));
    rue_status status = rue_json_write(&document, root, stream, error);
    json_decref(root);
    return status;
}

const struct rue_report rue_report_ranking = {.name = "ranking", .file = NULL, .render = render};
