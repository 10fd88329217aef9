#include "misses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts `reasons` and finds the longest run of equal ones; among runs of one length the first in the
 * alphabet. */
static void find_most_frequent(const char **reasons, size_t count, struct rue_misses *out)
{
    qsort(reasons, count, sizeof *reasons, compare_texts);
    for (size_t start = 0, i = 0; i < count; i++) {
        if (strcmp(reasons[i], reasons[start]) != 0) start = i;
        if (i - start + 1 <= out->reason_cells) continue;
        out->reason_cells = i - start + 1;
        out->reason = reasons[start];
    }
}

rue_status rue_misses_count(const struct rue_cost_matrix *matrix, struct rue_misses *out, rue_error *error)
{
    size_t models = matrix->model_count, configs = matrix->config_count, count = 0;
    *out = (struct rue_misses){.cells = models * configs};
    const char **reasons = calloc(out->cells + 1, sizeof *reasons);
    if (!reasons) return rue_fail_memory(error, "the reasons of failed trials", out->cells * sizeof *reasons);
    for (size_t m = 0; m < models; m++)
        for (size_t c = 0; c < configs; c++) {
            const struct rue_cell *cell = rue_cost_matrix_cell(matrix, m, c);
            out->infeasible += cell->state == RUE_CELL_INFEASIBLE;
            out->failed += cell->state == RUE_CELL_FAILED;
            out->unmeasured += cell->state == RUE_CELL_MISSING;
            if (cell->state != RUE_CELL_OK && cell->reason[0]) reasons[count++] = cell->reason;
        }
    find_most_frequent(reasons, count, out);
    free(reasons);
    return RUE_OK;
}

void rue_misses_explain(const struct rue_misses *misses, char *out, size_t bytes)
{
    const struct {
        size_t count;
        const char *one, *more;
    } kinds[] = {{misses->infeasible, "is infeasible", "are infeasible"},
                 {misses->failed, "failed", "failed"},
                 {misses->unmeasured, "was not measured", "were not measured"}};
    const char *comma = "";
    size_t used = (size_t)snprintf(out, bytes, "no configuration was measured on every model");
    if (misses->infeasible + misses->failed + misses->unmeasured == 0) return; /* predicted, at best */
    used += (size_t)snprintf(out + used, bytes - used, ": of %zu cell%s (a model with a configuration) ",
                             misses->cells, misses->cells == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && used < bytes; i++) {
        if (kinds[i].count == 0) continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s%zu %s", comma, kinds[i].count,
                                 kinds[i].count == 1 ? kinds[i].one : kinds[i].more);
        comma = ", ";
    }
    if (!misses->reason || used >= bytes) return;
    snprintf(out + used, bytes - used, "; most frequent reason (%zu %s): %s", misses->reason_cells,
             misses->reason_cells == 1 ? "cell" : "cells", misses->reason);
}
