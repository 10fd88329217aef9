/* The configurations that may be the best, by what is predicted of them. */
#ifndef RUE_CANDIDATES_H
#define RUE_CANDIDATES_H

#include "prediction.h"

struct rue_candidates {
    size_t count;
    size_t *configs;   /* [count] the best prediction first */
    double *regrets;   /* [count] predicted, joined as the objective says */
    double cut_regret; /* the least predicted of those that there was no room for; INFINITY: there was */
    size_t *positions; /* [configs of the setup] of each in that list; RUE_NO_CANDIDATE: it is none */
};
#define RUE_NO_CANDIDATE SIZE_MAX

/* None yet. RUE_MEMORY; to be closed in any case. */
rue_status rue_candidates_open(struct rue_candidates *candidates, const struct rue_strategy_setup *setup,
                               rue_error *error) RUE_MUST_CHECK;
void rue_candidates_close(struct rue_candidates *candidates);

/* Chooses them anew: those that are predicted to be near the best, and the first few of each model, without
 * those that are `out` [configs]; as many as beliefs can be held about. `*changed`: they are others than
 * before. RUE_INFEASIBLE where all are out: there are none then; RUE_MEMORY. */
rue_status rue_candidates_choose(struct rue_candidates *candidates, const struct rue_strategy_setup *setup,
                                 const struct rue_prediction *prediction, const bool *out, bool *changed,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
