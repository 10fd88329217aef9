#include "objective.h"

#include <math.h>

const char *const rue_objective_names[] = {
    [RUE_OBJECTIVE_MEAN] = "mean", [RUE_OBJECTIVE_WORST] = "worst", NULL};

void rue_joined_regrets_add_model(struct rue_joined_regrets *joined, const double *times, size_t count,
                                  size_t model, double weight)
{
    double best = INFINITY;
    for (size_t c = 0; c < count; c++) best = times[c] < best ? times[c] : best; /* NaN gives way */
    for (size_t c = 0; c < count; c++) rue_joined_regrets_add(&joined[c], model, weight, times[c] / best - 1);
}

double rue_joined_regrets_value(const struct rue_joined_regrets *joined, enum rue_objective objective)
{
    return objective == RUE_OBJECTIVE_WORST ? joined->worst : joined->sum / joined->weights;
}
