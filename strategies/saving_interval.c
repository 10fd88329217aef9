#include "saving_interval.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

struct rue_saving rue_saving_between(struct rue_saving_side before, struct rue_saving_side after)
{
    return (struct rue_saving){.before = before,
                               .after = after,
                               .before_scatter = rue_time_scatter_of(before.matrix),
                               .after_scatter = rue_time_scatter_of(after.matrix)};
}

/* The time of a side; adds how far it may be off. */
static double time_ns(const struct rue_saving_side *side, const struct rue_time_scatter *scatter,
                      size_t model, double *variance)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(side->matrix, model, side->config);
    double scaled_ns = side->scale * cell->median_ns;
    *variance += pow(scaled_ns * rue_time_scatter_cell_sd(scatter, cell), 2);
    return scaled_ns;
}

void rue_saving_add(struct rue_saving *saving, size_t before, size_t after)
{
    saving->sum_ns += time_ns(&saving->before, &saving->before_scatter, before, &saving->variance);
    saving->sum_ns -= time_ns(&saving->after, &saving->after_scatter, after, &saving->variance);
    saving->models++;
}

struct rue_saving_interval rue_saving_interval_find(const struct rue_saving *saving, double confidence)
{
    double probability = (1 + confidence) / 2, models = (double)saving->models;
    if (isnan(saving->variance) || !(confidence > 0)) return (struct rue_saving_interval){0};
    double widening = fmax(rue_time_scatter_widening(saving->before_scatter.freedom, probability),
                           rue_time_scatter_widening(saving->after_scatter.freedom, probability));
    double half_ns = widening * gsl_cdf_ugaussian_Pinv(probability) * sqrt(saving->variance);
    return (struct rue_saving_interval){.confidence = confidence,
                                        .low_ns = (saving->sum_ns - half_ns) / models,
                                        .high_ns = (saving->sum_ns + half_ns) / models};
}
