#include "standing.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "sort.h"

enum { LEAST_DRAWS = 12, CLAIM_CELLS = 5000000 }; /* of large grids there are fewer draws */

static const double spread_factor = 1.1; /* beliefs are bolder than they should be */
static const double sure = 0.95;         /* confidence that a quantile of draws is not below the true one */
static const double calm_configs = 4;    /* whose errors are as believed, before any is audited */
static const double far_off_ratio = 2;   /* of errors over what was believed of them: no belief is claimed */
enum { FAR_OFF_CONFIGS = 5 };            /* at least, that show it */
static const double least_bound = 0.001; /* no trials tell smaller differences apart */

struct rue_standing {
    const struct rue_strategy_setup *setup;
    struct rue_forecast *forecast;
    size_t *ranked; /* [configs] the best one first */
    uint64_t seed;

    /* The last claim: */
    size_t claimed, room, draws; /* room: for draws */
    double *regrets;             /* [draws][configs] what they are judged by; owns those below, too */
    double *means;               /* [configs] of the draws */
    double *excess;              /* [draws] */
    double *own[2];              /* [draws] the mean and the worst regrets of what is claimed of */
    double *squares;             /* [cells] sums of squared logarithms */
    double factor;               /* by which draws were spread */
    double far_off;
};

static size_t cells_of(const struct rue_standing *standing)
{
    return standing->setup->grid.scenario_count * standing->setup->grid.config_count;
}

rue_status rue_standing_open(const struct rue_strategy_setup *setup, struct rue_forecast *forecast,
                             struct rue_standing **out, rue_error *error)
{
    struct rue_standing *standing = calloc(1, sizeof *standing);
    if (!standing) return rue_fail_memory(error, "a standing", sizeof *standing);
    standing->setup = setup;
    standing->forecast = forecast;
    standing->seed = rue_mix64(setup->seed ^ UINT64_C(0x5354414E44494E47));
    size_t configs = setup->grid.config_count, cells = cells_of(standing), room = CLAIM_CELLS / cells;
    if (room > RUE_STANDING_CLAIM) room = RUE_STANDING_CLAIM;
    if (room < LEAST_DRAWS) room = LEAST_DRAWS;
    size_t doubles = room * (configs + 3) + configs + cells;
    standing->room = room;
    standing->ranked = calloc(configs, sizeof *standing->ranked);
    standing->regrets = calloc(doubles, sizeof *standing->regrets);
    if (!standing->ranked || !standing->regrets) {
        rue_standing_close(standing);
        return rue_fail_memory(error, "a standing", doubles * sizeof(double));
    }
    standing->excess = standing->regrets + room * configs;
    standing->own[0] = standing->excess + room;
    standing->own[1] = standing->own[0] + room;
    standing->means = standing->own[1] + room;
    standing->squares = standing->means + configs;
    *out = standing;
    return RUE_OK;
}

void rue_standing_close(struct rue_standing *standing)
{
    if (!standing) return;
    free(standing->ranked);
    free(standing->regrets);
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
    return rue_joined_regrets_value(&standing->forecast->joined[config], standing->setup->aim.objective);
}

/* That of the last draw. */
static double drawn_regret(const struct rue_standing *standing, size_t config)
{
    if (is_out(standing, config)) return INFINITY;
    return rue_joined_regrets_value(&standing->forecast->drawn[config], standing->setup->aim.objective);
}

/* Those that are out last, equal ones in grid order. */
static int compare_places(const void *a, const void *b, void *context)
{
    const struct rue_standing *standing = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct rue_joined_regrets *joined = standing->forecast->joined;
    enum rue_objective objective = standing->setup->aim.objective;
    if (rue_joined_regrets_is_better(&joined[x], &joined[y], objective)) return -1;
    return rue_joined_regrets_is_better(&joined[y], &joined[x], objective) ? 1 : (x > y) - (x < y);
}

void rue_standing_update(struct rue_standing *standing)
{
    size_t configs = standing->setup->grid.config_count;
    for (size_t c = 0; c < configs; c++) standing->ranked[c] = c;
    qsort_r(standing->ranked, configs, sizeof *standing->ranked, compare_places, standing);
}

size_t rue_standing_at(const struct rue_standing *standing, size_t place)
{
    bool any = place < standing->setup->grid.config_count && !is_out(standing, standing->ranked[place]);
    return any ? standing->ranked[place] : SIZE_MAX;
}

size_t rue_standing_challenger(struct rue_standing *standing)
{
    size_t leader = rue_standing_at(standing, 0), challenger = leader;
    double least = INFINITY;
    rue_forecast_draw(standing->forecast, &standing->seed);
    for (size_t c = 0; c < standing->setup->grid.config_count; c++) {
        double regret = drawn_regret(standing, c);
        if (c == leader || regret >= least) continue;
        least = regret;
        challenger = c;
    }
    return challenger;
}

/* ---- what can be claimed ---- */

bool rue_standing_is_verified_on(const struct rue_standing *standing, size_t model, size_t config)
{
    return rue_forecast_cell(standing->forecast, model, config).joint_trials > 0;
}

static bool is_verified(const struct rue_standing *standing, size_t config)
{
    for (size_t m = 0; m < standing->setup->grid.scenario_count; m++)
        if (!rue_standing_is_verified_on(standing, m, config)) return false;
    return true;
}

static size_t best_verified(const struct rue_standing *standing)
{
    size_t place = 0, config;
    while ((config = rue_standing_at(standing, place)) != SIZE_MAX && !is_verified(standing, config)) place++;
    return config;
}

bool rue_standing_is_any_verified(const struct rue_standing *standing)
{
    return best_verified(standing) != SIZE_MAX;
}

/* Draws what the claim is made by. */
static void draw_all(struct rue_standing *standing, uint64_t seed)
{
    size_t configs = standing->setup->grid.config_count, cells = cells_of(standing);
    memset(standing->means, 0, configs * sizeof *standing->means);
    memset(standing->squares, 0, cells * sizeof *standing->squares);
    for (size_t d = 0; d < standing->draws; d++) {
        double *regrets = standing->regrets + d * configs;
        rue_forecast_draw(standing->forecast, &seed);
        for (size_t c = 0; c < configs; c++) {
            regrets[c] = drawn_regret(standing, c);
            standing->means[c] += regrets[c] / (double)standing->draws;
        }
        for (size_t i = 0; i < cells; i++) standing->squares[i] += pow(standing->forecast->log_off[i], 2);
        const struct rue_joined_regrets *own = &standing->forecast->drawn[standing->claimed];
        standing->own[0][d] = rue_joined_regrets_value(own, RUE_OBJECTIVE_MEAN);
        standing->own[1][d] = rue_joined_regrets_value(own, RUE_OBJECTIVE_WORST);
    }
}

double rue_standing_spread(const struct rue_standing *standing)
{
    struct rue_belief_audit audit = rue_belief_audit(standing->forecast->belief);
    double confidence = standing->setup->aim.confidence, configs = (double)audit.configs + calm_configs;
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

/* What the claim's far_off_ratio is. */
static double find_far_off(const struct rue_standing *standing)
{
    struct rue_belief_audit audit = rue_belief_audit(standing->forecast->belief);
    return audit.configs >= FAR_OFF_CONFIGS && audit.ratio > far_off_ratio ? audit.ratio : 0;
}

/* How much better another one may be. What draws say of differences is spread about their means; and what the
 * table shows to be better, is. Where predictions are far off it is about what was measured, which is known
 * by its trials. */
static double claim_bound(struct rue_standing *standing)
{
    size_t configs = standing->setup->grid.config_count, own = standing->claimed;
    double least =
        rue_standing_regret(standing, own) - rue_standing_regret(standing, rue_standing_at(standing, 0));
    memset(standing->excess, 0, standing->draws * sizeof *standing->excess);
    for (size_t c = 0; c < configs; c++) {
        if (is_out(standing, c) || c == own) continue;
        least = fmax(least, least_bound);
        if (standing->far_off > 0 && !is_verified(standing, c)) continue;
        double mean = standing->means[own] - standing->means[c];
        double factor = standing->far_off > 0 ? spread_factor : standing->factor;
        for (size_t d = 0; d < standing->draws; d++) {
            const double *regrets = standing->regrets + d * configs;
            standing->excess[d] =
                fmax(standing->excess[d], mean + factor * (regrets[own] - regrets[c] - mean));
        }
    }
    rue_sort_doubles(standing->excess, standing->draws);
    return fmax(least, quantile_limit(standing->excess, standing->draws, standing->setup->aim.confidence));
}

/* Where the regrets lie that were drawn, with the confidence of the setup. Draws scatter the cells about what
 * is `expected`, so the least of them are less and regrets are more: the low end starts from the expected. */
static void find_regret_limits(const struct rue_standing *standing, double expected, double *drawn,
                               double *low, double *high)
{
    size_t count = standing->draws;
    double tail = (1 - standing->setup->aim.confidence) / 2;
    rue_sort_doubles(drawn, count);
    double middle = sorted_quantile(drawn, count, 0.5);
    *low =
        fmax(0, fmin(middle, expected) - standing->factor * (middle - sorted_quantile(drawn, count, tail)));
    *high = middle + standing->factor * (sorted_quantile(drawn, count, 1 - tail) - middle);
}

void rue_standing_claim(struct rue_standing *standing, size_t trials, size_t draws, size_t config,
                        struct rue_claim *out)
{
    size_t verified = best_verified(standing), best = verified == SIZE_MAX ? standing->ranked[0] : verified;
    standing->claimed = config == SIZE_MAX ? best : config;
    standing->draws = draws < standing->room ? draws : standing->room;
    standing->factor = rue_standing_spread(standing);
    standing->far_off = find_far_off(standing);
    draw_all(standing, rue_mix64(standing->setup->seed ^ rue_mix64(trials)));
    *out = (struct rue_claim){.config = standing->claimed,
                              .bound_ratio = claim_bound(standing),
                              .far_off_ratio = standing->far_off,
                              .verified = !is_out(standing, standing->claimed) &&
                                          is_verified(standing, standing->claimed)};
    const struct rue_joined_regrets *expected = &standing->forecast->joined[standing->claimed];
    find_regret_limits(standing, rue_joined_regrets_value(expected, RUE_OBJECTIVE_MEAN), standing->own[0],
                       &out->mean_low, &out->mean_high);
    find_regret_limits(standing, rue_joined_regrets_value(expected, RUE_OBJECTIVE_WORST), standing->own[1],
                       &out->worst_low, &out->worst_high);
}

double rue_standing_sd(const struct rue_standing *standing, size_t model, size_t config)
{
    if (standing->draws == 0) return NAN;
    if (standing->far_off > 0 && !rue_standing_is_verified_on(standing, model, config)) return NAN;
    double mean_square =
        standing->squares[model * standing->setup->grid.config_count + config] / (double)standing->draws;
    return standing->factor * sqrt(mean_square);
}
