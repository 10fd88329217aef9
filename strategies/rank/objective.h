/* How a configuration is judged over several models: by the mean of its regrets, or by the worst of them
 * (minimax regret). */
#ifndef RUE_OBJECTIVE_H
#define RUE_OBJECTIVE_H

#include <stddef.h>

enum rue_objective { RUE_OBJECTIVE_MEAN, RUE_OBJECTIVE_WORST, RUE_OBJECTIVE_COUNT };

/* Their names, NULL at the end. */
extern const char *const rue_objective_names[];

/* The regrets of one configuration, model by model; starts as zeros. */
struct rue_joined_regrets {
    double sum, weights;
    double worst;
    size_t worst_model; /* the first of those; of no model: 0 */
};

static inline void rue_joined_regrets_add(struct rue_joined_regrets *joined, size_t model, double weight,
                                          double regret)
{
    if (joined->weights == 0 || regret > joined->worst) {
        joined->worst = regret;
        joined->worst_model = model;
    }
    joined->sum += weight * regret;
    joined->weights += weight;
}

/* Adds the regrets of a model whose `times` [count] of all configurations are known, NaN where there is none,
 * to `joined` [count]; of those without a time they are NaN then. */
void rue_joined_regrets_add_model(struct rue_joined_regrets *joined, const double *times, size_t count,
                                  size_t model, double weight);

/* What the configuration is judged by; the less the better. */
double rue_joined_regrets_value(const struct rue_joined_regrets *joined, enum rue_objective objective);

#endif
