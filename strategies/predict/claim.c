#include "forecast.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static const double base_inflation = 1.1;       /* the posterior is overconfident; set by simulation */
static const double quantile_confidence = 0.95; /* of the upper bound of a quantile of draws */
static const double prior_configs = 4; /* prior weight of a calibration ratio of 1, in configurations */
static const double max_ratio = 2;     /* calibration ratio above which only measured ones are claimed */
enum { CALIBRATED_CONFIGS = 5 };       /* minimum for a calibration ratio */
static const double min_bound = 0.001; /* smaller differences cannot be measured */

double rue_forecast_regret(const struct rue_forecast *forecast, size_t config)
{
    if (forecast->ineligible[config]) return INFINITY;
    return rue_regret_summary_value(&forecast->summaries[config], forecast->setup->aim.objective);
}

/* The objective in the last sample. */
static double sampled_regret(const struct rue_forecast *forecast, size_t config)
{
    if (forecast->ineligible[config]) return INFINITY;
    return rue_regret_summary_value(&forecast->sampled[config], forecast->setup->aim.objective);
}

size_t rue_forecast_ranked(const struct rue_forecast *forecast, size_t rank)
{
    bool any = rank < forecast->configs && !forecast->ineligible[forecast->ranked[rank]];
    return any ? forecast->ranked[rank] : SIZE_MAX;
}

size_t rue_forecast_challenger(struct rue_forecast *forecast)
{
    size_t leader = rue_forecast_ranked(forecast, 0), challenger = leader;
    double min_excess = INFINITY;
    rue_forecast_sample(forecast, &forecast->draws.seed);
    for (size_t c = 0; c < forecast->configs; c++) {
        double regret = sampled_regret(forecast, c);
        if (c == leader || regret >= min_excess) continue;
        min_excess = regret;
        challenger = c;
    }
    return challenger;
}

static bool is_verified(const struct rue_forecast *forecast, size_t config)
{
    for (size_t m = 0; m < forecast->models; m++)
        if (forecast->observed[m * forecast->configs + config].trials == 0) return false;
    return true;
}

static size_t best_verified(const struct rue_forecast *forecast)
{
    size_t rank = 0, config;
    while ((config = rue_forecast_ranked(forecast, rank)) != SIZE_MAX && !is_verified(forecast, config))
        rank++;
    return config;
}

bool rue_forecast_is_any_verified(const struct rue_forecast *forecast)
{
    return best_verified(forecast) != SIZE_MAX;
}

/* As rue_selection recommends. */
static size_t recommended(const struct rue_forecast *forecast)
{
    size_t leader = forecast->ranked[0], verified = best_verified(forecast);
    if (verified == SIZE_MAX) return leader;
    double gain = rue_forecast_regret(forecast, verified) - rue_forecast_regret(forecast, leader);
    return forecast->draws.prediction_error > 0 || gain <= RUE_MEASURED_ADVANTAGE ? verified : leader;
}

static void sample_regrets(struct rue_forecast *forecast, size_t claimed, uint64_t seed)
{
    struct rue_forecast_draws *draws = &forecast->draws;
    size_t configs = forecast->configs, cells = forecast->cells;
    memset(draws->means, 0, configs * sizeof *draws->means);
    memset(draws->squares, 0, cells * sizeof *draws->squares);
    for (size_t d = 0; d < draws->count; d++) {
        double *regrets = draws->regrets + d * configs;
        rue_forecast_sample(forecast, &seed);
        for (size_t c = 0; c < configs; c++) {
            regrets[c] = sampled_regret(forecast, c);
            draws->means[c] += regrets[c] / (double)draws->count;
        }
        for (size_t i = 0; i < cells; i++) draws->squares[i] += pow(forecast->deviation[i], 2);
        const struct rue_regret_summary *summary = &forecast->sampled[claimed];
        draws->claimed[0][d] = rue_regret_summary_value(summary, RUE_OBJECTIVE_MEAN);
        draws->claimed[1][d] = rue_regret_summary_value(summary, RUE_OBJECTIVE_WORST);
    }
}

double rue_forecast_inflation(const struct rue_forecast *forecast)
{
    struct rue_posterior_calibration calibration = rue_posterior_calibration(forecast->posterior);
    double confidence = forecast->setup->aim.confidence,
           configs = (double)calibration.configs + prior_configs;
    double squares = (double)calibration.configs * calibration.ratio * calibration.ratio + prior_configs;
    double few_configs = gsl_cdf_tdist_Pinv(confidence, configs - 1) / gsl_cdf_ugaussian_Pinv(confidence);
    return base_inflation * fmax(1, sqrt(squares / configs)) * few_configs;
}

/* An upper confidence bound of a quantile, from a finite number of draws. */
static double quantile_upper_bound(const double *sorted, size_t count, double share)
{
    double margin = gsl_cdf_ugaussian_Pinv(quantile_confidence) * sqrt(share * (1 - share) / (double)count);
    return gsl_stats_quantile_from_sorted_data(sorted, 1, count, fmin(1, share + margin));
}

/* The upper bound of the regret that another configuration can save. The draws' spread about the mean
 * difference is inflated. The bound is at least the difference to the leader. If the calibration ratio is
 * above `max_ratio`, it covers only configurations measured on every model, with the base inflation. */
static double excess_bound(struct rue_forecast *forecast, size_t claimed)
{
    struct rue_forecast_draws *draws = &forecast->draws;
    size_t configs = forecast->configs;
    double bound = rue_forecast_regret(forecast, claimed) -
                   rue_forecast_regret(forecast, rue_forecast_ranked(forecast, 0));
    memset(draws->excess, 0, draws->count * sizeof *draws->excess);
    for (size_t c = 0; c < configs; c++) {
        if (forecast->ineligible[c] || c == claimed) continue;
        bound = fmax(bound, min_bound);
        if (draws->prediction_error > 0 && !is_verified(forecast, c)) continue;
        double mean = draws->means[claimed] - draws->means[c];
        double inflation = draws->prediction_error > 0 ? base_inflation : draws->inflation;
        for (size_t d = 0; d < draws->count; d++) {
            const double *regrets = draws->regrets + d * configs;
            draws->excess[d] =
                fmax(draws->excess[d], mean + inflation * (regrets[claimed] - regrets[c] - mean));
        }
    }
    gsl_sort(draws->excess, 1, draws->count);
    return fmax(bound, quantile_upper_bound(draws->excess, draws->count, forecast->setup->aim.confidence));
}

/* A credible interval of the drawn regrets, inflated about the median. Noise of the draws lowers each
 * minimum and so raises regrets. So the low end uses `expected` if that is smaller. */
static void regret_interval(const struct rue_forecast *forecast, double expected, double *values, double *low,
                            double *high)
{
    size_t count = forecast->draws.count;
    double tail = (1 - forecast->setup->aim.confidence) / 2, inflation = forecast->draws.inflation;
    gsl_sort(values, 1, count);
    double median = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.5);
    *low = fmax(0, fmin(median, expected) -
                       inflation * (median - gsl_stats_quantile_from_sorted_data(values, 1, count, tail)));
    *high = median + inflation * (gsl_stats_quantile_from_sorted_data(values, 1, count, 1 - tail) - median);
}

double rue_forecast_prediction_error(const struct rue_forecast *forecast)
{
    struct rue_posterior_calibration calibration = rue_posterior_calibration(forecast->posterior);
    return calibration.configs >= CALIBRATED_CONFIGS && calibration.ratio > max_ratio ? calibration.ratio : 0;
}

void rue_forecast_claim(struct rue_forecast *forecast, size_t trials, size_t draws, size_t config,
                        struct rue_claim *out)
{
    struct rue_forecast_draws *drawn = &forecast->draws;
    drawn->count = draws < drawn->capacity ? draws : drawn->capacity;
    drawn->inflation = rue_forecast_inflation(forecast);
    drawn->prediction_error = rue_forecast_prediction_error(forecast);
    size_t claimed = config == SIZE_MAX ? recommended(forecast) : config;
    sample_regrets(forecast, claimed, rue_mix64(forecast->setup->seed ^ rue_mix64(trials)));
    *out = (struct rue_claim){.config = claimed,
                              .bound_ratio = excess_bound(forecast, claimed),
                              .prediction_error_ratio = drawn->prediction_error,
                              .verified = !forecast->ineligible[claimed] && is_verified(forecast, claimed)};
    const struct rue_regret_summary *expected = &forecast->summaries[claimed];
    regret_interval(forecast, rue_regret_summary_value(expected, RUE_OBJECTIVE_MEAN), drawn->claimed[0],
                    &out->mean_low, &out->mean_high);
    regret_interval(forecast, rue_regret_summary_value(expected, RUE_OBJECTIVE_WORST), drawn->claimed[1],
                    &out->worst_low, &out->worst_high);
}

double rue_forecast_sd(const struct rue_forecast *forecast, size_t model, size_t config)
{
    const struct rue_forecast_draws *draws = &forecast->draws;
    size_t cell = model * forecast->configs + config;
    if (draws->count == 0 || (draws->prediction_error > 0 && forecast->observed[cell].trials == 0))
        return NAN;
    return draws->inflation * sqrt(draws->squares[cell] / (double)draws->count);
}
