#include "saving_interval.h"

#include <math.h>

/* The time of a side; adds how far it may be off. */
static double time_ns(const struct rue_saving_side *side, const struct rue_time_scatter *scatter,
                      size_t model, double *variance)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(side->matrix, model, side->config);
    double scaled_ns = side->scale * cell->median_ns;
    *variance += pow(scaled_ns * rue_time_scatter_cell_sd(scatter, cell), 2);
    return scaled_ns;
}

struct rue_saving_interval rue_saving_interval_find(const struct rue_saving_side *before,
                                                    const struct rue_saving_side *after,
                                                    const size_t (*pairs)[2], size_t count, double confidence)
{
    struct rue_time_scatter first = rue_time_scatter_of(before->matrix),
                            second = rue_time_scatter_of(after->matrix);
    double sum_ns = 0, variance = 0, probability = (1 + confidence) / 2;
    for (size_t i = 0; i < count; i++)
        sum_ns +=
            time_ns(before, &first, pairs[i][0], &variance) - time_ns(after, &second, pairs[i][1], &variance);
    if (isnan(variance) || !(confidence > 0)) return (struct rue_saving_interval){0};
    double half_ns = sqrt(variance) * fmax(rue_time_scatter_quantile(first.freedom, probability),
                                           rue_time_scatter_quantile(second.freedom, probability));
    return (struct rue_saving_interval){.confidence = confidence,
                                        .low_ns = (sum_ns - half_ns) / (double)count,
                                        .high_ns = (sum_ns + half_ns) / (double)count};
}
