#include "batch_best.h"

static int batch_size(const struct rue_cost_matrix *matrix, size_t config)
{
    return rue_cost_matrix_config(matrix, config)->value[RUE_BATCH_SIZE];
}

static bool seen_before(const struct rue_cost_matrix *matrix, size_t config)
{
    for (size_t c = 0; c < config; c++)
        if (batch_size(matrix, c) == batch_size(matrix, config)) return true;
    return false;
}

bool rue_batch_best_next(const struct rue_variant_findings *variant, struct rue_batch_best *at)
{
    size_t configs = rue_cost_matrix_configs(variant->matrix);
    while (at->next < configs && seen_before(variant->matrix, at->next)) at->next++;
    if (at->next >= configs) return false;
    at->batch_size = batch_size(variant->matrix, at->next++);
    at->config = rue_selection_best_with(variant->selection, variant->matrix, RUE_BATCH_SIZE, at->batch_size);
    return true;
}
