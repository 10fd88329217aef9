#include "standing.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "sort.h"

/* Draws to search by, and to claim by: of large grids fewer. */
enum { SEARCH_DRAWS = 48, LEAST_DRAWS = 12, SEARCH_CELLS = 50000, CLAIM_CELLS = 5000000 };

static const double spread_factor = 1.1; /* beliefs are bolder than they should be */
static const double calm_configs = 4;    /* whose errors are as believed, before any is audited */
static const double untried_factor = 2;  /* of sorts of configurations that no trial tells of */
static const double far_off_ratio = 2;   /* of errors over what was believed of them: no belief is claimed */
enum { FAR_OFF_CONFIGS = 5 };            /* at least, that show it */
static const double least_bound = 0.001; /* no trials tell smaller differences apart */
static const double sure = 0.95;         /* that a quantile of draws is no less than the true one */

struct standing_draws {
    size_t count, room;
    double *regrets; /* [count][configs] what they are judged by */
};

struct rue_standing {
    const struct rue_strategy_setup *setup;
    struct rue_forecast *forecast;
    struct standing_draws search, claim;
    size_t *worst;   /* [search draws][configs] models of the worst regrets */
    double *means;   /* [configs] of the claim's draws */
    double *excess;  /* [claim draws] */
    double *own[2];  /* [claim draws] the mean and the worst regrets of what is claimed of */
    double *squares; /* [cells] sums of squared logarithms */
    double *weights; /* [2][models] */
    bool drawn;
    double factor;  /* by which draws were spread */
    double far_off; /* of the last claim */
    size_t leader, claimed;
    uint64_t seed;
};

static size_t cells_of(const struct rue_standing *standing)
{
    return standing->setup->scenario_count * standing->setup->config_count;
}

static size_t clamp_draws(size_t most, size_t room, size_t cells)
{
    size_t count = room / cells;
    return count > most ? most : count < LEAST_DRAWS ? LEAST_DRAWS : count;
}

rue_status rue_standing_open(const struct rue_strategy_setup *setup, struct rue_forecast *forecast,
                             struct rue_standing **out, rue_error *error)
{
    struct rue_standing *standing = calloc(1, sizeof *standing);
    if (!standing) return rue_fail_memory(error, "a standing", sizeof *standing);
    size_t configs = setup->config_count, cells = setup->scenario_count * configs;
    standing->setup = setup;
    standing->forecast = forecast;
    standing->seed = rue_mix64(setup->seed ^ UINT64_C(0x5354414E44494E47));
    standing->search.count = clamp_draws(SEARCH_DRAWS, SEARCH_CELLS, cells);
    standing->claim.room = clamp_draws(RUE_STANDING_CLAIM, CLAIM_CELLS, cells);
    standing->search.regrets = calloc(standing->search.count * configs, sizeof *standing->search.regrets);
    standing->claim.regrets = calloc(standing->claim.room * configs, sizeof *standing->claim.regrets);
    standing->worst = calloc(standing->search.count * configs, sizeof *standing->worst);
    standing->means = calloc(configs, sizeof *standing->means);
    standing->excess = calloc(standing->claim.room, sizeof *standing->excess);
    for (int i = 0; i < 2; i++) standing->own[i] = calloc(standing->claim.room, sizeof *standing->own[i]);
    standing->squares = calloc(cells, sizeof *standing->squares);
    standing->weights = calloc(2 * setup->scenario_count, sizeof *standing->weights);
    if (!standing->search.regrets || !standing->claim.regrets || !standing->worst || !standing->means ||
        !standing->excess || !standing->own[0] || !standing->own[1] || !standing->squares ||
        !standing->weights) {
        size_t doubles = standing->claim.room * configs;
        rue_standing_close(standing);
        return rue_fail_memory(error, "a standing", doubles * sizeof(double));
    }
    *out = standing;
    return RUE_OK;
}

void rue_standing_close(struct rue_standing *standing)
{
    if (!standing) return;
    free(standing->search.regrets);
    free(standing->claim.regrets);
    free(standing->worst);
    free(standing->means);
    free(standing->excess);
    free(standing->own[0]);
    free(standing->own[1]);
    free(standing->squares);
    free(standing->weights);
    free(standing);
}

static bool is_out(const struct rue_standing *standing, size_t config)
{
    return standing->forecast->out[config];
}

/* ---- who leads ---- */

double rue_standing_regret(const struct rue_standing *standing, size_t config)
{
    if (is_out(standing, config)) return INFINITY;
    return rue_joined_regrets_value(&standing->forecast->joined[config], standing->setup->objective);
}

static void take_search(void *context, const struct rue_forecast_draw *draw)
{
    struct rue_standing *standing = context;
    size_t configs = standing->setup->config_count, at = draw->index * configs;
    for (size_t c = 0; c < configs; c++) {
        standing->search.regrets[at + c] =
            is_out(standing, c) ? INFINITY
                                : rue_joined_regrets_value(&draw->joined[c], standing->setup->objective);
        standing->worst[at + c] = draw->joined[c].worst_model;
    }
}

rue_status rue_standing_update(struct rue_standing *standing, rue_error *error)
{
    standing->leader = 0;
    for (size_t c = 1; c < standing->setup->config_count; c++)
        if (rue_standing_regret(standing, c) < rue_standing_regret(standing, standing->leader))
            standing->leader = c;
    return rue_forecast_draw(standing->forecast, standing->search.count, true,
                             rue_random_next(&standing->seed), take_search, standing, error);
}

size_t rue_standing_leader(const struct rue_standing *standing)
{
    return standing->leader;
}

size_t rue_standing_challenger(const struct rue_standing *standing, uint64_t draw)
{
    size_t configs = standing->setup->config_count, challenger = standing->leader;
    const double *regrets = standing->search.regrets + draw % standing->search.count * configs;
    for (size_t c = 0; c < configs; c++) {
        if (c == standing->leader || is_out(standing, c)) continue;
        if (challenger == standing->leader || regrets[c] < regrets[challenger]) challenger = c;
    }
    return challenger;
}

const double *rue_standing_weights(struct rue_standing *standing, size_t challenger)
{
    const struct rue_strategy_setup *setup = standing->setup;
    size_t models = setup->scenario_count, draws = standing->search.count;
    double all = 0;
    for (size_t m = 0; m < models; m++) all += setup->weights ? setup->weights[m] : 1;
    for (size_t m = 0; m < models; m++)
        standing->weights[m] = standing->weights[models + m] = (setup->weights ? setup->weights[m] : 1) / all;
    if (setup->objective != RUE_OBJECTIVE_WORST) return standing->weights;
    /* As often as the model has the worst one. */
    memset(standing->weights, 0, 2 * models * sizeof *standing->weights);
    for (size_t d = 0; d < draws; d++) {
        const size_t *worst = standing->worst + d * setup->config_count;
        standing->weights[worst[standing->leader]] += 1 / (double)draws;
        standing->weights[models + worst[challenger]] += 1 / (double)draws;
    }
    return standing->weights;
}

/* ---- what can be claimed ---- */

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

static size_t recommended(const struct rue_standing *standing, bool *verified)
{
    size_t best = SIZE_MAX;
    for (size_t c = 0; c < standing->setup->config_count; c++)
        if (!is_out(standing, c) && is_verified(standing, c) &&
            (best == SIZE_MAX || rue_standing_regret(standing, c) < rue_standing_regret(standing, best)))
            best = c;
    *verified = best != SIZE_MAX;
    return *verified ? best : standing->leader;
}

bool rue_standing_is_any_verified(const struct rue_standing *standing)
{
    bool verified;
    recommended(standing, &verified);
    return verified;
}

static void take_claim(void *context, const struct rue_forecast_draw *draw)
{
    struct rue_standing *standing = context;
    size_t configs = standing->setup->config_count, cells = cells_of(standing);
    double *regrets = standing->claim.regrets + draw->index * configs;
    for (size_t c = 0; c < configs; c++) {
        if (is_out(standing, c)) continue;
        regrets[c] = rue_joined_regrets_value(&draw->joined[c], standing->setup->objective);
        standing->means[c] += regrets[c] / (double)standing->claim.count;
    }
    for (size_t i = 0; i < cells; i++) standing->squares[i] += draw->log_off[i] * draw->log_off[i];
    const struct rue_joined_regrets *own = &draw->joined[standing->claimed];
    standing->own[0][draw->index] = rue_joined_regrets_value(own, RUE_OBJECTIVE_MEAN);
    standing->own[1][draw->index] = rue_joined_regrets_value(own, RUE_OBJECTIVE_WORST);
}

double rue_standing_spread(const struct rue_standing *standing)
{
    struct rue_belief_audit audit = rue_belief_audit(standing->forecast->belief);
    double confidence = standing->setup->confidence, configs = (double)audit.configs + calm_configs;
    double squares = (double)audit.configs * audit.ratio * audit.ratio + calm_configs;
    double few = gsl_cdf_tdist_Pinv(confidence, configs - 1) / gsl_cdf_ugaussian_Pinv(confidence);
    return spread_factor * fmax(1, sqrt(squares / configs)) * few;
}

static double quantile(const double *sorted, size_t count, double share)
{
    size_t at = (size_t)(share * (double)count);
    return sorted[at < count ? at : count - 1];
}

/* What the quantile of all draws that there might be is not above. */
static double quantile_limit(const double *sorted, size_t count, double share)
{
    double draws = (double)count;
    double more = gsl_cdf_ugaussian_Pinv(sure) * sqrt(share * (1 - share) / draws);
    return quantile(sorted, count, fmin(1, share + more));
}

/* What the claim's far_off_ratio is. */
static double find_far_off(const struct rue_standing *standing)
{
    struct rue_belief_audit audit = rue_belief_audit(standing->forecast->belief);
    return audit.configs >= FAR_OFF_CONFIGS && audit.ratio > far_off_ratio ? audit.ratio : 0;
}

/* How much better another one may be. What draws say of differences is spread about their means; and what the
 * table shows to be better, is. What was measured is known by its trials, however far off predictions are. */
static double bound(struct rue_standing *standing, bool measured_only)
{
    size_t configs = standing->setup->config_count, count = standing->claim.count, own = standing->claimed;
    double least = rue_standing_regret(standing, own) - rue_standing_regret(standing, standing->leader);
    memset(standing->excess, 0, count * sizeof *standing->excess);
    for (size_t c = 0; c < configs; c++) {
        if (is_out(standing, c) || c == own || (measured_only && !is_verified(standing, c))) continue;
        double mean = standing->means[own] - standing->means[c];
        least = fmax(least, least_bound);
        double factor = measured_only ? spread_factor : standing->factor;
        if (rue_forecast_is_untried_sort(standing->forecast, c)) factor *= untried_factor;
        for (size_t d = 0; d < count; d++) {
            const double *regrets = standing->claim.regrets + d * configs;
            standing->excess[d] =
                fmax(standing->excess[d], mean + factor * (regrets[own] - regrets[c] - mean));
        }
    }
    rue_sort_doubles(standing->excess, count);
    return fmax(least, quantile_limit(standing->excess, count, standing->setup->confidence));
}

/* Where the regrets lie that were drawn, with the confidence of the setup. Draws scatter the cells about what
 * is `expected`, so the least of them are less and regrets are more: the low end starts from the expected. */
static void find_limits(const struct rue_standing *standing, double expected, double *drawn, double *low,
                        double *high)
{
    size_t count = standing->claim.count;
    double tail = (1 - standing->setup->confidence) / 2;
    rue_sort_doubles(drawn, count);
    double middle = quantile(drawn, count, 0.5);
    *low = fmax(0, fmin(middle, expected) - standing->factor * (middle - quantile(drawn, count, tail)));
    *high = middle + standing->factor * (quantile(drawn, count, 1 - tail) - middle);
}

rue_status rue_standing_claim(struct rue_standing *standing, size_t trials, size_t draws, size_t config,
                              struct rue_claim *out, rue_error *error)
{
    bool any;
    uint64_t seed = rue_mix64(standing->setup->seed ^ rue_mix64(trials));
    standing->claimed = config == SIZE_MAX ? recommended(standing, &any) : config;
    standing->claim.count = draws < standing->claim.room ? draws : standing->claim.room;
    standing->factor = rue_standing_spread(standing);
    memset(standing->means, 0, standing->setup->config_count * sizeof *standing->means);
    memset(standing->squares, 0, cells_of(standing) * sizeof *standing->squares);
    rue_status status = rue_forecast_draw(standing->forecast, standing->claim.count, false, seed, take_claim,
                                          standing, error);
    if (status != RUE_OK) return status;
    standing->drawn = true;
    standing->far_off = find_far_off(standing);
    *out = (struct rue_claim){.config = standing->claimed,
                              .bound_ratio = bound(standing, standing->far_off > 0),
                              .far_off_ratio = standing->far_off,
                              .verified = !is_out(standing, standing->claimed) &&
                                          is_verified(standing, standing->claimed)};
    const struct rue_joined_regrets *expected = &standing->forecast->joined[standing->claimed];
    find_limits(standing, rue_joined_regrets_value(expected, RUE_OBJECTIVE_MEAN), standing->own[0],
                &out->mean_low, &out->mean_high);
    find_limits(standing, rue_joined_regrets_value(expected, RUE_OBJECTIVE_WORST), standing->own[1],
                &out->worst_low, &out->worst_high);
    return RUE_OK;
}

double rue_standing_sd(const struct rue_standing *standing, size_t model, size_t config)
{
    if (!standing->drawn) return NAN;
    if (standing->far_off > 0 && !rue_standing_is_verified_on(standing, model, config)) return NAN;
    double mean_square =
        standing->squares[model * standing->setup->config_count + config] / (double)standing->claim.count;
    return standing->factor * sqrt(mean_square);
}
