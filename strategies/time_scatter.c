#include "time_scatter.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "random.h"

static bool has_times(const struct rue_cell *cell)
{
    return cell->state == RUE_CELL_OK && cell->times_ns;
}

static void collect(struct rue_time_scatter *scatter, const struct rue_cell *cell)
{
    if (!has_times(cell) || cell->repeats < 2) return;
    double mean = 0, count = (double)cell->repeats, scale = sqrt(count / (count - 1));
    for (size_t r = 0; r < cell->repeats; r++) mean += log(cell->times_ns[r]) / count;
    for (size_t r = 0; r < cell->repeats; r++)
        scatter->residuals[scatter->residual_count++] = scale * (log(cell->times_ns[r]) - mean);
    scatter->freedom += cell->repeats - 1;
}

rue_status rue_time_scatter_open(const struct rue_cost_matrix *matrix, struct rue_time_scatter *out,
                                 rue_error *error)
{
    size_t configs = rue_cost_matrix_configs(matrix), cells = rue_cost_matrix_models(matrix) * configs;
    size_t longest = 0;
    *out = (struct rue_time_scatter){0};
    for (size_t i = 0; i < cells; i++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, i / configs, i % configs);
        if (!has_times(cell)) continue;
        out->times += cell->repeats;
        if (cell->repeats > longest) longest = cell->repeats;
    }
    out->residuals = calloc(out->times + 1, sizeof *out->residuals);
    out->drawn = calloc(longest + 1, sizeof *out->drawn);
    if (!out->residuals || !out->drawn) {
        rue_time_scatter_close(out);
        return rue_fail_memory(error, "the scatter of times", out->times * sizeof(double));
    }
    for (size_t i = 0; i < cells; i++) collect(out, rue_cost_matrix_cell(matrix, i / configs, i % configs));
    return RUE_OK;
}

void rue_time_scatter_close(struct rue_time_scatter *scatter)
{
    free(scatter->residuals);
    free(scatter->drawn);
    *scatter = (struct rue_time_scatter){0};
}

bool rue_time_scatter_tells(const struct rue_time_scatter *scatter, const struct rue_cell *cell)
{
    if (cell->state != RUE_CELL_OK) return false;
    return cell->times_ns ? scatter->residual_count > 0 : isfinite(cell->estimate_sd);
}

double rue_time_scatter_draw_ns(struct rue_time_scatter *scatter, const struct rue_cell *cell, uint64_t *seed)
{
    if (!cell->times_ns) return cell->median_ns * exp(cell->estimate_sd * rue_random_normal(seed));
    for (size_t r = 0; r < cell->repeats; r++)
        scatter->drawn[r] = scatter->residuals[rue_random_below(seed, scatter->residual_count)];
    return cell->median_ns * exp(gsl_stats_median(scatter->drawn, 1, cell->repeats));
}
