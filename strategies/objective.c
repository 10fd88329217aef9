#include "objective.h"

const char *const rue_objective_names[] = {
    [RUE_OBJECTIVE_MEAN] = "mean", [RUE_OBJECTIVE_WORST] = "worst", NULL};

void rue_joined_regrets_add(struct rue_joined_regrets *joined, size_t model, double weight, double regret)
{
    if (joined->weights == 0 || regret > joined->worst) {
        joined->worst = regret;
        joined->worst_model = model;
    }
    joined->sum += weight * regret;
    joined->weights += weight;
}

double rue_joined_regrets_value(const struct rue_joined_regrets *joined, enum rue_objective objective)
{
    return objective == RUE_OBJECTIVE_WORST ? joined->worst : joined->sum / joined->weights;
}
