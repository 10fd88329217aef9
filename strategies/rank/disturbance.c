#include "disturbance.h"

#include <math.h>

static const double share = 0.04, size = 0.4;

static double calm_density(double error, double sd)
{
    double z = error / sd;
    return (1 - share) * exp(-0.5 * z * z) / (sd * sqrt(2 * M_PI));
}

/* A Laplace distribution with the variance of both errors together. */
static double disturbed_density(double error, double sd)
{
    double scale = sqrt(size * size + 0.5 * sd * sd);
    return share * exp(-fabs(error) / scale) / (2 * scale);
}

double rue_disturbance_density(double error, double sd)
{
    return calm_density(error, sd) + disturbed_density(error, sd);
}

double rue_disturbance_probability(double error, double sd)
{
    return disturbed_density(error, sd) / rue_disturbance_density(error, sd);
}

bool rue_disturbance_is_likely(double error, double sd)
{
    return rue_disturbance_probability(error, sd) > 0.5;
}

double rue_disturbance_variance(double probability, double variance)
{
    return 1 / ((1 - probability) / variance + probability / (variance + 2 * size * size));
}
