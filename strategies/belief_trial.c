#include "belief_trial.h"

#include <math.h>

static const double drift_sd = 0.02, drift_s = 1000;

double rue_belief_shared(const struct rue_belief_trial *a, const struct rue_belief_trial *b)
{
    const struct rue_belief_place *one = &a->point.place, *other = &b->point.place;
    bool alike = one->model == other->model && one->config == other->config && a->images == b->images;
    double sum = alike ? a->unsaid : 0;
    if (rue_speed_differs(a->speed, b->speed)) return sum;
    return sum + drift_sd * drift_sd * exp(-fabs(a->seconds - b->seconds) / drift_s);
}

double rue_belief_drift(void)
{
    return drift_sd * drift_sd;
}
