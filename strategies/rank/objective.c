#include "objective.h"

#include <math.h>

const char *const rue_objective_names[] = {
    [RUE_OBJECTIVE_MEAN] = "mean", [RUE_OBJECTIVE_WORST] = "worst", NULL};

void rue_objective_join(const struct rue_objective_times *times, struct rue_joined_regrets *out)
{
    double *of_model = times->room;
    for (size_t c = 0; c < times->configs; c++) out[c] = (struct rue_joined_regrets){0};
    for (size_t m = 0; m < times->models; m++) {
        double best = INFINITY, weight = rue_objective_weight(times->weights, m);
        if (weight == 0) continue;
        for (size_t c = 0; c < times->configs; c++) {
            of_model[c] = times->time(times->context, m, c);
            if (of_model[c] < best) best = of_model[c]; /* NaN gives way */
        }
        for (size_t c = 0; c < times->configs; c++)
            rue_joined_regrets_add(&out[c], m, weight, (of_model[c] - best) / best);
    }
}

double rue_joined_regrets_value(const struct rue_joined_regrets *joined, enum rue_objective objective)
{
    return objective == RUE_OBJECTIVE_WORST && !isnan(joined->sum) ? joined->worst
                                                                   : joined->sum / joined->weights;
}

bool rue_joined_regrets_is_better(const struct rue_joined_regrets *one,
                                  const struct rue_joined_regrets *other, enum rue_objective objective)
{
    double own = rue_joined_regrets_value(one, objective), its = rue_joined_regrets_value(other, objective);
    if (own != its) return own < its || (!isnan(own) && isnan(its));
    return one->sum / one->weights < other->sum / other->weights;
}
