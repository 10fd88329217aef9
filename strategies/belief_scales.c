#include "belief_scales.h"

#include <math.h>

enum { MODELS = 2, SMOOTHS = 3, CELLS = 4, NOISES = RUE_BELIEF_HYPOTHESES / MODELS / SMOOTHS / CELLS };

/* Cells are not believed to be nearer to their predictions than is usual: bounds would be too small. */
static const double models[MODELS] = {0.7, 3}, smooths[SMOOTHS] = {0.5, 2, 6}, cells[CELLS] = {1, 2, 4, 8},
                    noises[NOISES] = {0.5, 1, 2, 3.5};
static const double scale_sd = 1.2; /* of their logarithms, before any trial */

struct rue_belief_scales rue_belief_scales_of(size_t hypothesis)
{
    size_t n = hypothesis % NOISES, c = hypothesis / NOISES % CELLS,
           s = hypothesis / NOISES / CELLS % SMOOTHS, m = hypothesis / NOISES / CELLS / SMOOTHS;
    return (struct rue_belief_scales){{[RUE_SCALE_FIXED] = 1,
                                       [RUE_SCALE_MODEL] = models[m],
                                       [RUE_SCALE_SMOOTH] = smooths[s],
                                       [RUE_SCALE_CELL] = cells[c]},
                                      noises[n]};
}

double rue_belief_scales_log_prior(const struct rue_belief_scales *scales)
{
    double squares = pow(log(scales->noise), 2);
    for (int s = 0; s < RUE_SCALE_COUNT; s++) squares += pow(log(scales->of_fields[s]), 2);
    return -0.5 * squares / (scale_sd * scale_sd);
}

struct rue_belief_scales rue_belief_scales_mean(const double weights[RUE_BELIEF_HYPOTHESES])
{
    struct rue_belief_scales mean = {.noise = 0};
    for (size_t h = 0; h < RUE_BELIEF_HYPOTHESES; h++) {
        struct rue_belief_scales scales = rue_belief_scales_of(h);
        for (int s = 0; s < RUE_SCALE_COUNT; s++) mean.of_fields[s] += weights[h] * log(scales.of_fields[s]);
        mean.noise += weights[h] * log(scales.noise);
    }
    for (int s = 0; s < RUE_SCALE_COUNT; s++) mean.of_fields[s] = exp(mean.of_fields[s]);
    mean.noise = exp(mean.noise);
    return mean;
}
