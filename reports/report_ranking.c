/* The ranking as JSON, the same of a table measured elsewhere and of a study's store: for each data mode
 * every configuration, best first, those that are not ranked behind, with the reason. What only a tuning run
 * knows is in recommendation.json. */
#include <math.h>
#include <string.h>

#include "json_findings.h"
#include "report.h"
#include "verdict.h"

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
    struct rue_page why = {0};
    const char *between = ": ";
    rue_page_sentence(&why, RUE_LOOK_PLAIN, 0);
    rue_say(&why, "ok for %zu of %zu model%s", row->covered, models, models == 1 ? "" : "s");
    for (int i = 0; i < 3; i++) {
        if (kinds[i].count == 0) continue;
        rue_say(&why, "%s%zu %s", between, kinds[i].count, kinds[i].word);
        between = ", ";
    }
    if (cell->state != RUE_CELL_MISSING)
        rue_say(&why, "; %s%s%s", variant->matrix->models[at], cell->reason[0] ? ": " : "", cell->reason);
    return rue_page_json_text(&why);
}

static json_t *row_json(const struct rue_variant_findings *variant, size_t config)
{
    json_t *object = json_object(), *times = json_object();
    rue_json_put_row(&object, variant, config, false);
    rue_json_put(&object, "covered", rue_json_integer(variant->selection->rows[config].covered));
    rue_json_put(&object, "reason", reason_json(variant, config));
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        if (cell->state == RUE_CELL_OK)
            rue_json_put_named(&times, variant->matrix->models[m], rue_json_nanoseconds(cell->median_ns));
    }
    rue_json_put(&object, rue_goal_keys[variant->goal], times);
    return object;
}

static json_t *configs_json(const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *array = json_array();
    for (size_t i = 0; i < selection->ranked_count; i++)
        rue_json_push(&array, row_json(variant, selection->ranked[i]));
    for (size_t c = 0; c < selection->config_count; c++)
        if (!selection->rows[c].ranked) rue_json_push(&array, row_json(variant, c));
    return array;
}

static json_t *coverage_json(const struct rue_variant_findings *variant)
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
    return rue_json_make(
        "configs:n ranked:n cells:n ok:n infeasible:n failed:n unmeasured:n missed_repeats:n",
        selection->config_count, selection->ranked_count, cells, ok, infeasible, failed,
        cells - ok - infeasible - failed, missed);
}

static json_t *best_by_batch_size(const struct rue_variant_findings *variant)
{
    json_t *array = json_array();
    struct rue_batch_best best = {0};
    while (rue_batch_best_next(variant, &best))
        if (best.config != RUE_NONE) rue_json_push(&array, rue_json_standing(variant, best.config, false));
    return array;
}

static void put_circumstances(json_t **object, const struct rue_variant_findings *variant)
{
    const struct rue_circumstances *around = variant->circumstances;
    rue_json_put(object, "format", rue_json_text_or_null(variant->variant.format));
    rue_json_put(object, "dtype", rue_json_text_or_null(variant->variant.dtype));
    rue_json_put(object, "job_images", rue_json_integer_or_null(variant->job.images));
    if (!around) return;
    rue_json_put(object, "measured_with", rue_json_text_or_null(around->loader));
    rue_json_put(object, "runner", rue_json_text_or_null(around->runner));
    rue_json_put(object, "machine", rue_json_text_or_null(around->machine));
    rue_json_put(object, "workload", rue_json_text_or_null(around->workload));
    rue_json_put(object, "data_digest", rue_json_text_or_null(variant->data.digest));
    rue_json_put(object, "bad_images",
                 variant->label ? json_null()
                                : rue_json_integer(variant->trials.bad_images)); /* a table has none */
    rue_json_put(object, "path", rue_json_text_or_null(variant->variant.path));
}

static json_t *mode_json(const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *object = json_object(), *models = json_array();
    rue_json_put(&object, "mode", rue_json_text(rue_findings_mode(variant)));
    put_circumstances(&object, variant);
    for (size_t m = 0; m < selection->model_count; m++) rue_json_push(&models, rue_json_model_of(variant, m));
    rue_json_put(&object, "models", models);
    rue_json_put_rules(&object, variant);
    rue_json_put_goal(&object, variant);
    rue_json_put(&object, "recommended", rue_json_standing(variant, selection->recommended, false));
    rue_json_put(&object, "top_n_winner", rue_json_standing(variant, selection->top_n_winner, false));
    rue_json_put(&object, "disagreement", rue_json_said(rue_verdict_votes, variant));
    rue_json_put(&object, "coverage", coverage_json(variant));
    rue_json_put(&object, "certificate", rue_json_certificate(variant));
    rue_json_put(&object, "baselines", rue_json_baselines(variant, false));
    rue_json_put_answers(&object, variant, false);
    rue_json_put(&object, "best_by_model", rue_json_best_by_model(variant, false));
    rue_json_put(&object, "best_by_batch_size", best_by_batch_size(variant));
    rue_json_put(&object, "configs", configs_json(variant));
    return object;
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    json_t *root = json_object(), *modes = json_array();
    rue_json_put(&root, "format", json_string("rue.ranking/1"));
    rue_json_put(&root, "study", rue_json_text_or_null(findings->study));
    rue_json_put(&root, "measured_with", rue_json_text_or_null(findings->runner.measured_with));
    for (size_t v = 0; v < findings->variant_count; v++)
        rue_json_push(&modes, mode_json(&findings->variants[v]));
    rue_json_put(&root, "modes", modes);
    rue_json_put_course(&root, findings);
    rue_json_put(&root, "busy_before", rue_json_text_or_null(findings->changes.busy_before));
    rue_json_put(&root, "busy_after", rue_json_text_or_null(findings->changes.busy_after));
    return rue_json_write(root, stream, error);
}

const struct rue_report rue_report_ranking = {.name = "ranking", .file = NULL, .render = render};
