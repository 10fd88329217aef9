#include "gain.h"

#include <math.h>

#include "time_scatter.h"

enum { USUAL_COUNT = 4 };
static const double usual_sd = 0.04;

/* How measured times scatter, with what is usual before any. */
static struct rue_time_scatter find_scatter(const struct rue_cost_matrix *matrix)
{
    struct rue_time_scatter scatter = rue_time_scatter_of(matrix);
    double squares = USUAL_COUNT * usual_sd * usual_sd + (double)scatter.freedom * scatter.sd * scatter.sd;
    scatter.freedom += USUAL_COUNT;
    scatter.sd = sqrt(squares / (double)scatter.freedom);
    return scatter;
}

bool rue_gain_find(const struct rue_cost_matrix *matrix, const struct rue_selection *selection, size_t one,
                   size_t other, double confidence, struct rue_gain *out)
{
    double gain = 0, variance = 0, weights = 0, tail = (1 - confidence) / 2;
    *out = (struct rue_gain){0};
    if (!selection->rows[one].ranked || !selection->rows[other].ranked) return false;
    struct rue_time_scatter scatter = find_scatter(matrix);
    bool believed = true;
    for (size_t m = 0; m < selection->model_count; m++) {
        const struct rue_cell *own = rue_cost_matrix_cell(matrix, m, one),
                              *its = rue_cost_matrix_cell(matrix, m, other);
        double weight = selection->weights ? selection->weights[m] : 1;
        gain += weight * log(its->median_ns / own->median_ns);
        variance += pow(weight * rue_time_scatter_cell_sd(&scatter, own), 2) +
                    pow(weight * rue_time_scatter_cell_sd(&scatter, its), 2);
        weights += weight;
        believed &= !own->times_ns && !its->times_ns;
    }
    if (!isfinite(variance)) return false;
    if (believed) scatter.freedom = 0;
    double rivals = believed ? 1 : (double)(selection->ranked_count - 1), sd = sqrt(variance) / weights,
           above = rue_time_scatter_quantile(scatter.freedom, 1 - tail),
           below = rue_time_scatter_quantile(scatter.freedom, 1 - tail / rivals);
    gain /= weights;
    *out = (struct rue_gain){.confidence = confidence,
                             .ratio = exp(gain),
                             .low = exp(gain - below * sd),
                             .high = exp(gain + above * sd)};
    return true;
}

bool rue_gain_is_proven(const struct rue_gain *gain)
{
    return gain->confidence > 0 && gain->low > 1;
}
