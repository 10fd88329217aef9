/* How a configuration is judged over several models: by the mean of its regrets, or by the worst of them
 * (minimax regret). */
#ifndef RUE_OBJECTIVE_H
#define RUE_OBJECTIVE_H

enum rue_objective { RUE_OBJECTIVE_MEAN, RUE_OBJECTIVE_WORST };

/* Their names, NULL at the end. */
extern const char *const rue_objective_names[];

#endif
