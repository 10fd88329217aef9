#include "forecast.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "sort.h"

static const double spread_factor = 1.1; /* beliefs are bolder than they should be */
static const double sure = 0.95;         /* confidence that a quantile of draws is not below the true one */
static const double calm_configs = 4;    /* whose errors are as believed, before any is audited */
static const double far_off_ratio = 2;   /* of errors over what was believed of them: no belief is claimed */
enum { FAR_OFF_CONFIGS = 5 };            /* at least, that show it */
static const double least_bound = 0.001; /* no trials tell smaller differences apart */

/* ---- who leads ---- */

double rue_forecast_regret(const struct rue_forecast *forecast, size_t config)
{
    if (forecast->out[config]) return INFINITY;
    return rue_regret_summary_value(&forecast->joined[config], forecast->setup->aim.objective);
}

/* That of the last draw. */
static double drawn_regret(const struct rue_forecast *forecast, size_t config)
{
    if (forecast->out[config]) return INFINITY;
    return rue_regret_summary_value(&forecast->drawn[config], forecast->setup->aim.objective);
}

size_t rue_forecast_ranked(const struct rue_forecast *forecast, size_t place)
{
    bool any = place < forecast->configs && !forecast->out[forecast->ranked[place]];
    return any ? forecast->ranked[place] : SIZE_MAX;
}

size_t rue_forecast_challenger(struct rue_forecast *forecast)
{
    size_t leader = rue_forecast_ranked(forecast, 0), challenger = leader;
    double least = INFINITY;
    rue_forecast_sample(forecast, &forecast->draws.seed);
    for (size_t c = 0; c < forecast->configs; c++) {
        double regret = drawn_regret(forecast, c);
        if (c == leader || regret >= least) continue;
        least = regret;
        challenger = c;
    }
    return challenger;
}

/* ---- what can be claimed ---- */

static bool is_verified(const struct rue_forecast *forecast, size_t config)
{
    for (size_t m = 0; m < forecast->models; m++)
        if (forecast->tried[m * forecast->configs + config].trials == 0) return false;
    return true;
}

static size_t best_verified(const struct rue_forecast *forecast)
{
    size_t place = 0, config;
    while ((config = rue_forecast_ranked(forecast, place)) != SIZE_MAX && !is_verified(forecast, config))
        place++;
    return config;
}

bool rue_forecast_is_any_verified(const struct rue_forecast *forecast)
{
    return best_verified(forecast) != SIZE_MAX;
}

/* Draws what the claim is made by. */
static void draw_all(struct rue_forecast *forecast, size_t claimed, uint64_t seed)
{
    size_t configs = forecast->configs, cells = forecast->cells;
    memset(forecast->draws.means, 0, configs * sizeof *forecast->draws.means);
    memset(forecast->draws.squares, 0, cells * sizeof *forecast->draws.squares);
    for (size_t d = 0; d < forecast->draws.count; d++) {
        double *regrets = forecast->draws.regrets + d * configs;
        rue_forecast_sample(forecast, &seed);
        for (size_t c = 0; c < configs; c++) {
            regrets[c] = drawn_regret(forecast, c);
            forecast->draws.means[c] += regrets[c] / (double)forecast->draws.count;
        }
        for (size_t i = 0; i < cells; i++) forecast->draws.squares[i] += pow(forecast->log_off[i], 2);
        const struct rue_regret_summary *own = &forecast->drawn[claimed];
        forecast->draws.own[0][d] = rue_regret_summary_value(own, RUE_OBJECTIVE_MEAN);
        forecast->draws.own[1][d] = rue_regret_summary_value(own, RUE_OBJECTIVE_WORST);
    }
}

double rue_forecast_inflation(const struct rue_forecast *forecast)
{
    struct rue_posterior_calibration audit = rue_posterior_calibration(forecast->belief);
    double confidence = forecast->setup->aim.confidence, configs = (double)audit.configs + calm_configs;
    double squares = (double)audit.configs * audit.ratio * audit.ratio + calm_configs;
    double few = gsl_cdf_tdist_Pinv(confidence, configs - 1) / gsl_cdf_ugaussian_Pinv(confidence);
    return spread_factor * fmax(1, sqrt(squares / configs)) * few;
}

static double sorted_quantile(const double *sorted, size_t count, double share)
{
    size_t at = (size_t)(share * (double)count);
    return sorted[at < count ? at : count - 1];
}

/* What the quantile of all draws that there might be is not above. */
static double quantile_limit(const double *sorted, size_t count, double share)
{
    double more = gsl_cdf_ugaussian_Pinv(sure) * sqrt(share * (1 - share) / (double)count);
    return sorted_quantile(sorted, count, fmin(1, share + more));
}

/* How much better another one may be. What draws say of differences is spread about their means; and what the
 * table shows to be better, is. Where predictions are far off it is about what was measured, which is known
 * by its trials. */
static double claim_bound(struct rue_forecast *forecast, size_t own)
{
    size_t configs = forecast->configs;
    double least =
        rue_forecast_regret(forecast, own) - rue_forecast_regret(forecast, rue_forecast_ranked(forecast, 0));
    memset(forecast->draws.excess, 0, forecast->draws.count * sizeof *forecast->draws.excess);
    for (size_t c = 0; c < configs; c++) {
        if (forecast->out[c] || c == own) continue;
        least = fmax(least, least_bound);
        if (forecast->draws.far_off > 0 && !is_verified(forecast, c)) continue;
        double mean = forecast->draws.means[own] - forecast->draws.means[c];
        double factor = forecast->draws.far_off > 0 ? spread_factor : forecast->draws.factor;
        for (size_t d = 0; d < forecast->draws.count; d++) {
            const double *regrets = forecast->draws.regrets + d * configs;
            forecast->draws.excess[d] =
                fmax(forecast->draws.excess[d], mean + factor * (regrets[own] - regrets[c] - mean));
        }
    }
    rue_sort_doubles(forecast->draws.excess, forecast->draws.count);
    return fmax(least, quantile_limit(forecast->draws.excess, forecast->draws.count,
                                      forecast->setup->aim.confidence));
}

/* Where the regrets lie that were drawn, with the confidence of the setup. Draws scatter the cells about what
 * is `expected`, so the least of them are less and regrets are more: the low end starts from the expected. */
static void find_regret_limits(const struct rue_forecast *forecast, double expected, double *drawn,
                               double *low, double *high)
{
    size_t count = forecast->draws.count;
    double tail = (1 - forecast->setup->aim.confidence) / 2;
    rue_sort_doubles(drawn, count);
    double middle = sorted_quantile(drawn, count, 0.5);
    *low = fmax(0, fmin(middle, expected) -
                       forecast->draws.factor * (middle - sorted_quantile(drawn, count, tail)));
    *high = middle + forecast->draws.factor * (sorted_quantile(drawn, count, 1 - tail) - middle);
}

void rue_forecast_claim(struct rue_forecast *forecast, size_t trials, size_t draws, size_t config,
                        struct rue_claim *out)
{
    struct rue_posterior_calibration audit = rue_posterior_calibration(forecast->belief);
    size_t verified = best_verified(forecast), best = verified == SIZE_MAX ? forecast->ranked[0] : verified;
    size_t claimed = config == SIZE_MAX ? best : config;
    forecast->draws.count = draws < forecast->draws.room ? draws : forecast->draws.room;
    forecast->draws.factor = rue_forecast_inflation(forecast);
    forecast->draws.far_off =
        audit.configs >= FAR_OFF_CONFIGS && audit.ratio > far_off_ratio ? audit.ratio : 0;
    draw_all(forecast, claimed, rue_mix64(forecast->setup->seed ^ rue_mix64(trials)));
    *out = (struct rue_claim){.config = claimed,
                              .bound_ratio = claim_bound(forecast, claimed),
                              .prediction_error_ratio = forecast->draws.far_off,
                              .verified = !forecast->out[claimed] && is_verified(forecast, claimed)};
    const struct rue_regret_summary *expected = &forecast->joined[claimed];
    find_regret_limits(forecast, rue_regret_summary_value(expected, RUE_OBJECTIVE_MEAN),
                       forecast->draws.own[0], &out->mean_low, &out->mean_high);
    find_regret_limits(forecast, rue_regret_summary_value(expected, RUE_OBJECTIVE_WORST),
                       forecast->draws.own[1], &out->worst_low, &out->worst_high);
}

double rue_forecast_sd(const struct rue_forecast *forecast, size_t model, size_t config)
{
    const struct rue_forecast_draws *draws = &forecast->draws;
    size_t cell = model * forecast->configs + config;
    if (draws->count == 0 || (draws->far_off > 0 && forecast->tried[cell].trials == 0)) return NAN;
    return draws->factor * sqrt(draws->squares[cell] / (double)draws->count);
}
