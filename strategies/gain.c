#include "gain.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static const double usual_sd = 0.057, usual_count = 4;

/* The mean of a model's pairs, and how many they are. */
static double mean_of(const struct rue_gain_pair *pairs, size_t count, size_t model, size_t *own)
{
    double sum = 0;
    *own = 0;
    for (size_t p = 0; p < count; p++) {
        if (pairs[p].model != model) continue;
        sum += pairs[p].log_ratio;
        ++*own;
    }
    return sum / (double)*own;
}

bool rue_gain_find(const struct rue_gain_pair *pairs, size_t count, size_t model_count, const double *weights,
                   struct rue_gain_noise noise, double confidence, struct rue_gain *out)
{
    double gain = 0, spread = 0, weight_sum = 0;
    double freedom = usual_count + noise.count, squares = usual_count * usual_sd * usual_sd + noise.squares;
    *out = (struct rue_gain){0};
    for (size_t m = 0; m < model_count; m++) {
        size_t own;
        double weight = weights ? weights[m] : 1, mean = mean_of(pairs, count, m, &own);
        if (own == 0) return false;
        for (size_t p = 0; p < count; p++)
            if (pairs[p].model == m) squares += pow(pairs[p].log_ratio - mean, 2);
        freedom += (double)own - 1;
        gain += weight * mean;
        spread += weight * weight / (double)own;
        weight_sum += weight;
    }
    gain /= weight_sum;
    double half =
        gsl_cdf_tdist_Pinv((1 + confidence) / 2, freedom) * sqrt(squares / freedom * spread) / weight_sum;
    *out = (struct rue_gain){.pairs = count,
                             .confidence = confidence,
                             .ratio = exp(gain),
                             .low = exp(gain - half),
                             .high = exp(gain + half)};
    return true;
}

bool rue_gain_is_proven(const struct rue_gain *gain)
{
    return gain->pairs > 0 && gain->low > 1;
}
