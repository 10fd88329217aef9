/* What trials cost beside their own time: an overhead each, which grows with the room that the images in
 * flight take, and a change of model. */
#ifndef RUE_TRIAL_COSTS_H
#define RUE_TRIAL_COSTS_H

#include "strategy.h"

struct rue_trial_costs {
    double spent_s;  /* by trials that were made now */
    double stored_s; /* by those that were made earlier */
    size_t made;     /* trials, now */
    double switch_s; /* the mean change of model */
    double switch_count;
    struct {
        double count, room, overhead_s, room_square, product; /* sums over the trials without a change */
    } overheads;
    bool any_model;
    size_t model; /* of the last trial that had one */
};

/* `config`: of the question. */
void rue_trial_costs_note(struct rue_trial_costs *costs, const struct rue_ask *ask,
                          const struct rue_config *config, const struct rue_trial_result *result);

/* Seconds since the first trial, of all of them one after the other. */
double rue_trial_costs_clock_s(const struct rue_trial_costs *costs);

/* Seconds beside the own time of such a trial, where the model is that of the trial before; and those more of
 * a trial of that model next. */
double rue_trial_costs_overhead_s(const struct rue_trial_costs *costs, enum rue_measure measure,
                                  const struct rue_config *config);
double rue_trial_costs_switch_s(const struct rue_trial_costs *costs, size_t model);

#endif
