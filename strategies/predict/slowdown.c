#include "slowdown.h"

#include <math.h>

#include "disturbance.h"

static const double shifts[RUE_SLOWDOWN_SHIFTS] = {0.15,  0.22,  0.33,  0.5,  0.8,  1.3,
                                                   -0.15, -0.22, -0.33, -0.5, -0.8, -1.3};
static const double spread = 0.2; /* of a shift: it stands for those around it, too */

double rue_slowdown_ratio(double error, double sd, double shift)
{
    return log(rue_disturbance_density(error - shift, hypot(sd, spread * shift)) /
               rue_disturbance_density(error, sd));
}

struct rue_slowdown rue_slowdown_open(double false_alarms, size_t trials)
{
    return (struct rue_slowdown){.threshold = log((double)trials * RUE_SLOWDOWN_SHIFTS / false_alarms)};
}

void rue_slowdown_tell(struct rue_slowdown *slowdown, size_t trial, double error, double sd)
{
    for (int i = 0; i < RUE_SLOWDOWN_SHIFTS; i++) {
        struct rue_slowdown_sum *sum = &slowdown->sums[i];
        if (sum->evidence <= 0) *sum = (struct rue_slowdown_sum){0, trial};
        sum->evidence = fmax(0, sum->evidence + rue_slowdown_ratio(error, sd, shifts[i]));
    }
}

double rue_slowdown_evidence(const struct rue_slowdown *slowdown, size_t *since)
{
    const struct rue_slowdown_sum *most = &slowdown->sums[0];
    for (int i = 1; i < RUE_SLOWDOWN_SHIFTS; i++)
        if (slowdown->sums[i].evidence > most->evidence) most = &slowdown->sums[i];
    if (since) *since = most->since;
    return most->evidence;
}

bool rue_slowdown_is_sure(const struct rue_slowdown *slowdown)
{
    return rue_slowdown_evidence(slowdown, NULL) >= slowdown->threshold;
}

void rue_slowdown_forget(struct rue_slowdown *slowdown)
{
    for (int i = 0; i < RUE_SLOWDOWN_SHIFTS; i++) slowdown->sums[i] = (struct rue_slowdown_sum){0};
}
