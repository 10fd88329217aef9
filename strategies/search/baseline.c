#include "baseline.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "disturbance.h"

/* Before anything is known, the scatter is as if that many values had shown this much. */
static const double usual_sd = 0.04, usual_count = 4;
static const double drift_sd = 0.02;
static const double doubt = 1.5;        /* standard deviations of the mean that an error is granted */
static const double median_loss = 1.57; /* of the variance of a median over that of a mean */

static double baseline_scatter(const struct rue_baseline *baseline)
{
    return sqrt((usual_count * usual_sd * usual_sd + baseline->squares) /
                (usual_count + baseline->square_count));
}

/* Values that are far off move it little. */
static double baseline_median(const struct rue_baseline *baseline)
{
    double values[RUE_BASELINE_KEPT];
    memcpy(values, baseline->kept, baseline->count * sizeof *values);
    return gsl_stats_median(values, 1, baseline->count);
}

bool rue_baseline_expect(const struct rue_baseline *baseline, double *mean, double *sd)
{
    if (baseline->count < RUE_BASELINE_LEAST) return false;
    double own = baseline_scatter(baseline);
    *mean = baseline_median(baseline);
    *sd = sqrt(own * own * (1 + median_loss / (double)baseline->count) + drift_sd * drift_sd);
    return true;
}

bool rue_baseline_error(const struct rue_baseline *baseline, double value, double *error, double *sd)
{
    double mean;
    if (!rue_baseline_expect(baseline, &mean, sd)) return false;
    double granted = doubt * baseline_scatter(baseline) * sqrt(median_loss / (double)baseline->count);
    *error = copysign(fmax(0, fabs(value - mean) - granted), value - mean);
    return true;
}

void rue_baseline_scatter(struct rue_baseline *baseline, double value)
{
    double mean, sd;
    if (!rue_baseline_expect(baseline, &mean, &sd)) return;
    double z = (value - mean) / sd, own = baseline_scatter(baseline);
    double calm = 1 - rue_disturbance_probability(value - mean, own);
    baseline->squares += calm * own * own * z * z;
    baseline->square_count += calm;
}

void rue_baseline_add(struct rue_baseline *baseline, double value)
{
    rue_baseline_scatter(baseline, value);
    baseline->kept[baseline->next] = value;
    baseline->next = (baseline->next + 1) % RUE_BASELINE_KEPT;
    if (baseline->count < RUE_BASELINE_KEPT) baseline->count++;
}

void rue_baseline_forget(struct rue_baseline *baseline)
{
    baseline->count = baseline->next = 0;
}
