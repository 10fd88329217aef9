#include "objective.h"

const char *const rue_objective_names[] = {
    [RUE_OBJECTIVE_MEAN] = "mean", [RUE_OBJECTIVE_WORST] = "worst", NULL};

double rue_joined_regrets_value(const struct rue_joined_regrets *joined, enum rue_objective objective)
{
    return objective == RUE_OBJECTIVE_WORST ? joined->worst : joined->sum / joined->weights;
}
