#include "disturbance.h"

#include <math.h>

static const double disturbed_share = 0.04, laplace_mean = 0.4;

static double normal_density(double error, double sd)
{
    double z = error / sd;
    return (1 - disturbed_share) * exp(-0.5 * z * z) / (sd * sqrt(2 * M_PI));
}

/* A Laplace distribution with the variance of both errors. */
static double laplace_density(double error, double sd)
{
    double scale = sqrt(laplace_mean * laplace_mean + 0.5 * sd * sd);
    return disturbed_share * exp(-fabs(error) / scale) / (2 * scale);
}

double rue_disturbance_density(double error, double sd)
{
    return normal_density(error, sd) + laplace_density(error, sd);
}

double rue_disturbance_probability(double error, double sd)
{
    return laplace_density(error, sd) / rue_disturbance_density(error, sd);
}

bool rue_disturbance_is_likely(double error, double sd)
{
    return rue_disturbance_probability(error, sd) > 0.5;
}

double rue_disturbance_variance(double probability, double variance)
{
    return 1 / ((1 - probability) / variance + probability / (variance + 2 * laplace_mean * laplace_mean));
}
