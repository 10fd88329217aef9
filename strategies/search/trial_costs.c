#include "trial_costs.h"

#include <math.h>

static const double least_spread = 1e-6; /* of the room, relative to its mean square: less is all alike */

static bool changes_model(const struct rue_trial_costs *costs, size_t model)
{
    return !costs->any_model || model != costs->model;
}

/* Images that a trial makes room for before it starts. */
static double room_of(enum rue_measure measure, const struct rue_config *config)
{
    const int *value = config->value;
    if (measure == RUE_COMPUTE || value[RUE_NUM_WORKERS] == 0) return value[RUE_BATCH_SIZE];
    return (double)value[RUE_BATCH_SIZE] * value[RUE_NUM_WORKERS] * value[RUE_PREFETCH_FACTOR];
}

static void note_overhead(struct rue_trial_costs *costs, double room, double overhead_s)
{
    costs->overheads.count++;
    costs->overheads.room += room;
    costs->overheads.overhead_s += overhead_s;
    costs->overheads.room_square += room * room;
    costs->overheads.product += room * overhead_s;
}

void rue_trial_costs_note(struct rue_trial_costs *costs, const struct rue_ask *ask,
                          const struct rue_config *config, const struct rue_trial_result *result)
{
    costs->made += !ask->stored;
    if (result->cost_ns <= 0) return; /* nothing, or not known */
    bool computes = ask->measure == RUE_COMPUTE;
    int64_t own_ns = computes ? result->compute_ns : result->end_to_end_ns;
    double cost = (double)result->cost_ns / 1e9;
    *(ask->stored ? &costs->stored_s : &costs->spent_s) += cost;
    if (result->outcome != RUE_TRIAL_OK || own_ns == RUE_ABSENT) return;
    if (computes && result->batches > 0) own_ns += own_ns / result->batches; /* to warm up */
    double beside_s = fmax(0, cost - (double)own_ns / 1e9);
    if (ask->measure != RUE_LOAD && changes_model(costs, ask->scenario)) {
        double change_s = fmax(0, beside_s - rue_trial_costs_overhead_s(costs, ask->measure, config));
        costs->switch_s += (change_s - costs->switch_s) / ++costs->switch_count;
    } else {
        note_overhead(costs, room_of(ask->measure, config), beside_s);
    }
    if (ask->measure == RUE_LOAD) return;
    costs->any_model = true;
    costs->model = ask->scenario;
}

double rue_trial_costs_clock_s(const struct rue_trial_costs *costs)
{
    return costs->spent_s + costs->stored_s;
}

/* The line of least squares over the room, neither falling nor below 0 anywhere. */
double rue_trial_costs_overhead_s(const struct rue_trial_costs *costs, enum rue_measure measure,
                                  const struct rue_config *config)
{
    double n = costs->overheads.count, room = room_of(measure, config);
    if (n == 0) return 0;
    double mean_room = costs->overheads.room / n, mean_s = costs->overheads.overhead_s / n;
    double square = costs->overheads.room_square / n, spread = square - mean_room * mean_room;
    if (spread <= least_spread * square) return mean_s;
    double slope = (costs->overheads.product / n - mean_room * mean_s) / spread;
    if (slope <= 0) return mean_s;
    if (slope * mean_room > mean_s) return room * costs->overheads.product / costs->overheads.room_square;
    return mean_s + slope * (room - mean_room);
}

double rue_trial_costs_switch_s(const struct rue_trial_costs *costs, size_t model)
{
    return changes_model(costs, model) ? costs->switch_s : 0;
}
