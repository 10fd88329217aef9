#include "baseline_gains.h"

#include <math.h>

static const double worth_ratio = 0.005; /* of regret: a gain of less is worth no change */

static double judged_ratio(const struct rue_selection *selection, size_t config)
{
    const struct rue_ranking_row *row = &selection->rows[config];
    return selection->objective == RUE_OBJECTIVE_WORST ? row->max_regret_ratio : row->mean_regret_ratio;
}

static void find_gains(const struct rue_cost_matrix *matrix, double confidence,
                       const struct rue_selection *selection, struct rue_baseline_findings *baselines)
{
    for (size_t i = 0; i < baselines->count; i++) {
        struct rue_baseline_row *row = &baselines->rows[i];
        row->gain = (struct rue_gain){0};
        if (row->config != selection->recommended)
            rue_gain_find(matrix, selection, selection->recommended, row->config, confidence, &row->gain);
    }
}

void rue_baseline_gains_find(const struct rue_cost_matrix *matrix, double confidence,
                             struct rue_selection *selection, struct rue_baseline_findings *baselines)
{
    const struct rue_baseline_row *stays = NULL;
    baselines->found = selection->recommended;
    baselines->found_gain = (struct rue_gain){0};
    if (selection->recommended == RUE_NONE) return;
    find_gains(matrix, confidence, selection, baselines);
    for (size_t i = 0; i < baselines->count; i++) {
        const struct rue_baseline_row *row = &baselines->rows[i];
        if (row->config == baselines->found) return;
        if (row->gain.confidence == 0 || selection->rows[row->config].predicted) continue;
        if (rue_gain_is_proven(&row->gain)) continue;
        if (judged_ratio(selection, row->config) - judged_ratio(selection, baselines->found) > worth_ratio)
            continue;
        if (!stays || rue_selection_is_better(selection, row->config, stays->config)) stays = row;
    }
    if (!stays || selection->rows[baselines->found].predicted) return;
    baselines->found_gain = stays->gain;
    selection->recommended = stays->config;
    find_gains(matrix, confidence, selection, baselines);
}

json_t *rue_baseline_gains_json(struct rue_json_document *document,
                                const struct rue_baseline_findings *baselines)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < baselines->count; i++) {
        json_t *row = json_object();
        rue_json_put(document, row, "config", rue_json_integer(baselines->rows[i].config));
        rue_json_put(document, row, "name", rue_json_text(baselines->rows[i].name));
        rue_json_push(document, rows, row);
    }
    return rows;
}

void rue_baseline_gains_read(struct rue_json_reader *reader, const json_t *object, size_t config_count,
                             struct rue_baseline_findings *out)
{
    const json_t *rows;
    if (!json_object_get(object, "baselines")) return;
    out->count = rue_json_list(reader, object, "baselines", RUE_BASELINES_MAX, &rows);
    size_t outer = rue_json_enter(reader, "baselines");
    for (size_t i = 0; reader->status == RUE_OK && i < out->count; i++) {
        const json_t *item = json_array_get(rows, i);
        struct rue_baseline_row *row = &out->rows[i];
        size_t length = rue_json_enter_at(reader, i);
        row->config = rue_json_count(reader, item, "config", false, INT64_MAX);
        if (row->config >= config_count) rue_json_refuse(reader, "config", "the number of a configuration");
        rue_json_copy_text(reader, item, "name", false, row->name, sizeof row->name);
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
}
