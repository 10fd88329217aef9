#include "standing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sort.h"

static const double spread_factor = 1.1; /* beliefs are bolder than they should be */
static const double cut_doubt = 2;       /* standard deviations of predictions */
static const double few_joints = 12;     /* trials that double the variance of beliefs */

struct rue_standing {
    const struct rue_strategy_setup *setup;
    struct rue_forecast *forecast;
    size_t joints;
    double *drawn; /* [draws][candidates] what they are judged by: mean regrets, or the worst */
    double *means; /* [candidates] of them */
    struct rue_joined_regrets *joined; /* [candidates] of the cells as they are expected */
    double excess[RUE_FORECAST_DRAWS];
    double regrets[2][RUE_FORECAST_DRAWS]; /* the mean ones and the worst ones of one candidate */
    size_t leader;
};

rue_status rue_standing_open(const struct rue_strategy_setup *setup, struct rue_forecast *forecast,
                             struct rue_standing **out, rue_error *error)
{
    struct rue_standing *standing = calloc(1, sizeof *standing);
    if (!standing) return rue_fail_memory(error, "a standing", sizeof *standing);
    standing->setup = setup;
    standing->forecast = forecast;
    standing->drawn = calloc(RUE_FORECAST_DRAWS * setup->config_count, sizeof *standing->drawn);
    standing->means = calloc(setup->config_count, sizeof *standing->means);
    standing->joined = calloc(setup->config_count, sizeof *standing->joined);
    if (!standing->drawn || !standing->means || !standing->joined) {
        rue_standing_close(standing);
        return rue_fail_memory(error, "a standing", RUE_FORECAST_DRAWS * setup->config_count);
    }
    *out = standing;
    return RUE_OK;
}

void rue_standing_close(struct rue_standing *standing)
{
    if (!standing) return;
    free(standing->drawn);
    free(standing->means);
    free(standing->joined);
    free(standing);
}

static size_t candidate_count(const struct rue_standing *standing)
{
    const size_t *candidates;
    return rue_forecast_candidates(standing->forecast, &candidates);
}

void rue_standing_update(struct rue_standing *standing, size_t joints)
{
    size_t count = candidate_count(standing), draws = RUE_FORECAST_DRAWS;
    standing->joints = joints;
    memset(standing->means, 0, count * sizeof *standing->means);
    for (size_t d = 0; d < draws; d++) {
        double *regrets = standing->drawn + d * count;
        rue_forecast_regrets(standing->forecast, d, regrets);
        for (size_t c = 0; c < count; c++) standing->means[c] += regrets[c] / (double)draws;
    }
    standing->leader = 0;
    for (size_t c = 1; c < count; c++)
        if (standing->means[c] < standing->means[standing->leader]) standing->leader = c;
}

size_t rue_standing_leader(const struct rue_standing *standing)
{
    return standing->leader;
}

double rue_standing_mean(const struct rue_standing *standing, size_t position)
{
    return standing->means[position];
}

/* Few trials tell little of how far predictions are off. */
static double spread(const struct rue_standing *standing)
{
    return spread_factor * sqrt(1 + few_joints / fmax(1, (double)standing->joints));
}

static double quantile(const double *sorted, double share)
{
    size_t at = (size_t)(share * RUE_FORECAST_DRAWS);
    return sorted[at < RUE_FORECAST_DRAWS ? at : RUE_FORECAST_DRAWS - 1];
}

/* By how much the best of those that beliefs had no room for may be better: they are believed to be off their
 * predictions as the candidates are. */
static double cut_bound(const struct rue_standing *standing, size_t position)
{
    const struct rue_candidates *choice = rue_forecast_choice(standing->forecast);
    double off = 0;
    if (isinf(choice->cut_regret)) return 0;
    for (size_t c = 0; c < choice->count; c++)
        off += pow(standing->means[c] - choice->regrets[c], 2) / (double)choice->count;
    return fmax(0, standing->means[position] - choice->cut_regret + cut_doubt * sqrt(off));
}

/* What draws say of the differences is spread about their means: the least regret of a draw is of what is
 * spread. */
double rue_standing_bound(struct rue_standing *standing, size_t position)
{
    size_t count = candidate_count(standing), draws = RUE_FORECAST_DRAWS;
    double factor = spread(standing);
    for (size_t d = 0; d < draws; d++) {
        const double *regrets = standing->drawn + d * count;
        double most = 0;
        for (size_t c = 0; c < count; c++) {
            double mean = standing->means[position] - standing->means[c];
            most = fmax(most, mean + factor * (regrets[position] - regrets[c] - mean));
        }
        standing->excess[d] = most;
    }
    rue_sort_doubles(standing->excess, draws);
    return fmax(quantile(standing->excess, standing->setup->confidence), cut_bound(standing, position));
}

/* Where the regrets lie that were drawn, with the confidence of the setup. Draws scatter the cells about what
 * is `expected`, so the least of them are less and regrets are more: the low end starts from the expected. */
static void find_limits(const struct rue_standing *standing, double expected, double *drawn, double *low,
                        double *high)
{
    double tail = (1 - standing->setup->confidence) / 2;
    rue_sort_doubles(drawn, RUE_FORECAST_DRAWS);
    double middle = quantile(drawn, 0.5);
    *low = fmax(0, fmin(middle, expected) - spread(standing) * (middle - quantile(drawn, tail)));
    *high = middle + spread(standing) * (quantile(drawn, 1 - tail) - middle);
}

static void find_interval(struct rue_standing *standing, size_t position, struct rue_claim *claim)
{
    for (size_t d = 0; d < RUE_FORECAST_DRAWS; d++) {
        struct rue_joined_regrets drawn = rue_forecast_joined(standing->forecast, d, position);
        standing->regrets[0][d] = rue_joined_regrets_value(&drawn, RUE_OBJECTIVE_MEAN);
        standing->regrets[1][d] = rue_joined_regrets_value(&drawn, RUE_OBJECTIVE_WORST);
    }
    const struct rue_joined_regrets *joined = &standing->joined[position];
    find_limits(standing, rue_joined_regrets_value(joined, RUE_OBJECTIVE_MEAN), standing->regrets[0],
                &claim->mean_low, &claim->mean_high);
    find_limits(standing, rue_joined_regrets_value(joined, RUE_OBJECTIVE_WORST), standing->regrets[1],
                &claim->worst_low, &claim->worst_high);
}

size_t rue_standing_challenger(const struct rue_standing *standing, size_t index)
{
    size_t count = candidate_count(standing), challenger = standing->leader;
    const double *regrets = standing->drawn + index * count;
    for (size_t c = 0; c < count; c++)
        if (c != standing->leader && (challenger == standing->leader || regrets[c] < regrets[challenger]))
            challenger = c;
    return challenger;
}

bool rue_standing_is_verified_on(const struct rue_standing *standing, size_t model, size_t config)
{
    return rue_forecast_cell(standing->forecast, model, config).joint_trials > 0;
}

static bool is_verified(const struct rue_standing *standing, size_t config)
{
    for (size_t m = 0; m < standing->setup->scenario_count; m++)
        if (!rue_standing_is_verified_on(standing, m, config)) return false;
    return true;
}

/* As the selection rules have it, of the cells as they are expected. */
static void expect_regrets(struct rue_standing *standing, const size_t *candidates, size_t count)
{
    const struct rue_strategy_setup *setup = standing->setup;
    memset(standing->joined, 0, count * sizeof *standing->joined);
    for (size_t m = 0; m < setup->scenario_count; m++) {
        double least = INFINITY, weight = setup->weights ? setup->weights[m] : 1;
        for (size_t c = 0; c < setup->config_count; c++)
            least = fmin(least, rue_forecast_cell(standing->forecast, m, c).time_s);
        for (size_t c = 0; c < count; c++)
            rue_joined_regrets_add(&standing->joined[c], m, weight,
                                   rue_forecast_cell(standing->forecast, m, candidates[c]).time_s / least -
                                       1);
    }
}

static bool is_better(const struct rue_standing *standing, size_t one, size_t other)
{
    enum rue_objective objective = standing->setup->objective;
    return rue_joined_regrets_value(&standing->joined[one], objective) <
           rue_joined_regrets_value(&standing->joined[other], objective);
}

struct rue_claim rue_standing_claim(struct rue_standing *standing)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(standing->forecast, &candidates), best = standing->leader;
    struct rue_claim claim = {.verified = false};
    expect_regrets(standing, candidates, count);
    for (size_t c = 0; c < count; c++) {
        if (!is_verified(standing, candidates[c])) continue;
        if (claim.verified && !is_better(standing, c, best)) continue;
        best = c;
        claim.verified = true;
    }
    claim.config = candidates[best];
    claim.bound_ratio = rue_standing_bound(standing, best);
    find_interval(standing, best, &claim);
    return claim;
}
