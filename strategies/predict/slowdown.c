#include "slowdown.h"

#include <math.h>

static const double shifts[RUE_SLOWDOWN_SHIFTS] = {0.15,  0.22,  0.33,  0.5,  0.8,  1.3,
                                                   -0.15, -0.22, -0.33, -0.5, -0.8, -1.3};
/* Disturbed trials: how many, how far on average, and of them those that were faster. */
static const double disturbed = 0.05, disturbed_mean = 0.4, disturbed_faster = 0.1;

static const double spread = 0.2; /* of a shift: it stands for those around it, too */

static double density(double error, double sd)
{
    double z = error / sd;
    double usual = exp(-0.5 * z * z) / (sd * sqrt(2 * M_PI));
    double far = exp(-fabs(error) / disturbed_mean) / disturbed_mean *
                 (error < 0 ? disturbed_faster : 1 - disturbed_faster);
    return (1 - disturbed) * usual + disturbed * far;
}

double rue_slowdown_ratio(double error, double sd, double shift)
{
    return log(density(error - shift, hypot(sd, spread * shift)) / density(error, sd));
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
