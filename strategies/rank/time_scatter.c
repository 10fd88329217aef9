#include "time_scatter.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

struct rue_time_scatter rue_time_scatter_of(const struct rue_cost_matrix *matrix)
{
    struct rue_time_scatter scatter = {.freedom = 0};
    size_t configs = matrix->config_count, cells = matrix->model_count * configs;
    double squares = 0;
    for (size_t i = 0; i < cells; i++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, i / configs, i % configs);
        if (cell->state != RUE_CELL_OK || !cell->times_ns || cell->repeats < 2) continue;
        double mean = 0;
        for (size_t r = 0; r < cell->repeats; r++) mean += log(cell->times_ns[r]) / (double)cell->repeats;
        for (size_t r = 0; r < cell->repeats; r++) squares += pow(log(cell->times_ns[r]) - mean, 2);
        scatter.freedom += cell->repeats - 1;
    }
    if (scatter.freedom > 0) scatter.sd = sqrt(squares / (double)scatter.freedom);
    return scatter;
}

double rue_time_scatter_cell_sd(const struct rue_time_scatter *scatter, const struct rue_cell *cell)
{
    if (cell->state != RUE_CELL_OK) return NAN;
    if (!cell->times_ns) return cell->estimate_sd;
    /* Exact for one value and for very many, 2 % off for three of a normal distribution. */
    double median_share = M_PI / (2 * (double)cell->repeats + M_PI - 2);
    return scatter->freedom > 0 ? scatter->sd * sqrt(median_share) : NAN;
}

double rue_time_scatter_quantile(size_t freedom, double probability)
{
    return freedom ? gsl_cdf_tdist_Pinv(probability, (double)freedom) : gsl_cdf_ugaussian_Pinv(probability);
}
