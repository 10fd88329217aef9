/* What trials cost beside their own time: an overhead each, and a change of model. */
#ifndef RUE_TRIAL_COSTS_H
#define RUE_TRIAL_COSTS_H

#include "strategy.h"

struct rue_trial_costs {
    double spent_s;  /* by trials that were made now */
    double stored_s; /* by those that were made earlier */
    size_t made;     /* trials, now */
    struct rue_trial_cost {
        double mean_s, count;
    } overhead, change; /* of a trial; more, where the model is not that of the trial before */
    bool any_model;
    size_t model; /* of the last trial that had one */
};

void rue_trial_costs_note(struct rue_trial_costs *costs, const struct rue_ask *ask,
                          const struct rue_trial_result *result);

/* Seconds since the first trial, of all of them one after the other. */
double rue_trial_costs_clock_s(const struct rue_trial_costs *costs);

/* Seconds beside the own time of a trial of that model next. */
double rue_trial_costs_beside_s(const struct rue_trial_costs *costs, size_t model);

#endif
