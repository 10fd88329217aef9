#include "batch_best.h"

static int batch_size(const struct rue_cost_matrix *matrix, size_t config)
{
    return matrix->configs[config].value[RUE_BATCH_SIZE];
}

bool rue_batch_best_next(const struct rue_variant_findings *variant, struct rue_batch_best *at)
{
    const struct rue_ranking_row *rows = variant->selection->rows;
    size_t configs = variant->matrix->config_count, c = at->next;
    if (c >= configs) return false;
    at->batch_size = batch_size(variant->matrix, c);
    if (at->batch_size == RUE_KNOB_UNKNOWN) return false;
    at->config = RUE_NONE;
    for (; c < configs && batch_size(variant->matrix, c) == at->batch_size; c++) {
        if (!rows[c].ranked) continue;
        if (at->config == RUE_NONE || rue_selection_is_better(variant->selection, c, at->config))
            at->config = c;
    }
    at->next = c;
    return true;
}
