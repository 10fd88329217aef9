#include "regret_interval.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "time_scatter.h"

enum { DRAWS_MIN = 100, DRAWS_MAX = 800 };

static const double draws_work = 2e7;    /* times drawn in all, about */
static const double spread_factor = 1.4; /* the bootstrap sees too little of the scatter of the least times */
static const double more_bias = 0.5;     /* and about two thirds of their bias */

struct bootstrap {
    const struct rue_cost_matrix *matrix;
    const struct rue_selection *selection;
    size_t models, configs;
    struct rue_time_scatter scatter;
    double *regret;              /* [configs] weighted sums in a draw */
    double *worst;               /* [configs] */
    double *times;               /* [configs] */
    double *fixed[2], *lucky[2]; /* [draws] mean and worst: of the recommended one; what the winner of the
                                    draw seems to be better than it is */
    double *excess;              /* [draws] of the recommended one over that winner, by the objective */
    uint64_t seed;
};

static void bootstrap_close(struct bootstrap *bootstrap)
{
    rue_time_scatter_close(&bootstrap->scatter);
    free(bootstrap->regret);
    free(bootstrap->worst);
    free(bootstrap->times);
    free(bootstrap->excess);
    for (int i = 0; i < 2; i++) free(bootstrap->fixed[i]), free(bootstrap->lucky[i]);
}

static const struct rue_cell *cell_of(const struct bootstrap *bootstrap, size_t model, size_t config)
{
    return rue_cost_matrix_cell(bootstrap->matrix, model, config);
}

static rue_status bootstrap_open(struct bootstrap *bootstrap, size_t draws, rue_error *error)
{
    size_t configs = bootstrap->configs;
    bootstrap->regret = calloc(configs + 1, sizeof(double));
    bootstrap->worst = calloc(configs + 1, sizeof(double));
    bootstrap->times = calloc(configs + 1, sizeof(double));
    bootstrap->excess = calloc(draws, sizeof(double));
    bool missing = !bootstrap->regret || !bootstrap->worst || !bootstrap->times || !bootstrap->excess;
    for (int i = 0; i < 2; i++) {
        bootstrap->fixed[i] = calloc(draws, sizeof(double));
        bootstrap->lucky[i] = calloc(draws, sizeof(double));
        missing |= !bootstrap->fixed[i] || !bootstrap->lucky[i];
    }
    if (!missing) return RUE_OK;
    return rue_fail_memory(error, "an interval of the regret", (configs + draws) * sizeof(double));
}

/* A median as it might have been measured. */
static double draw_time(struct bootstrap *bootstrap, const struct rue_cell *cell)
{
    if (cell->state != RUE_CELL_OK) return NAN;
    if (!cell->times_ns) return cell->median_ns;
    return rue_time_scatter_draw_ns(&bootstrap->scatter, cell, &bootstrap->seed);
}

static bool is_better(const struct bootstrap *bootstrap, size_t a, size_t b)
{
    const double *regret = bootstrap->regret, *worst = bootstrap->worst;
    if (bootstrap->selection->objective == RUE_OBJECTIVE_WORST && worst[a] != worst[b])
        return worst[a] < worst[b];
    return regret[a] < regret[b];
}

/* Which configuration the draw would recommend; regrets of those not ranked are NaN. */
static size_t draw_winner(struct bootstrap *bootstrap)
{
    const struct rue_selection *selection = bootstrap->selection;
    double weights = 0;
    size_t winner = selection->recommended;
    for (size_t c = 0; c < bootstrap->configs; c++) bootstrap->regret[c] = bootstrap->worst[c] = 0;
    for (size_t m = 0; m < bootstrap->models; m++) {
        double best = NAN, weight = selection->weights ? selection->weights[m] : 1;
        for (size_t c = 0; c < bootstrap->configs; c++) {
            bootstrap->times[c] = draw_time(bootstrap, cell_of(bootstrap, m, c));
            best = fmin(best, bootstrap->times[c]); /* NaN gives way */
        }
        for (size_t c = 0; c < bootstrap->configs; c++) {
            double regret = bootstrap->times[c] / best - 1;
            bootstrap->regret[c] += weight * regret;
            bootstrap->worst[c] = fmax(bootstrap->worst[c], regret);
        }
        weights += weight;
    }
    for (size_t c = 0; c < bootstrap->configs; c++) {
        bootstrap->regret[c] /= weights;
        if (selection->rows[c].ranked && selection->rows[c].repeats > 0 && is_better(bootstrap, c, winner))
            winner = c;
    }
    return winner;
}

/* The quantiles are a t distribution's wider where the scatter is told by few repeats. */
static void find_limits(double *fixed, double *lucky, size_t draws, double told, double widen,
                        double confidence, double *low, double *high)
{
    double tail = (1 - confidence) / 2, mean = gsl_stats_mean(fixed, 1, draws), bias = mean - told;
    gsl_sort(fixed, 1, draws);
    gsl_sort(lucky, 1, draws);
    double below = gsl_stats_quantile_from_sorted_data(fixed, 1, draws, tail),
           above = gsl_stats_quantile_from_sorted_data(fixed, 1, draws, 1 - tail),
           luck = gsl_stats_quantile_from_sorted_data(lucky, 1, draws, tail);
    *low = fmax(0, told - bias - more_bias * fmax(0, bias) - widen * (above - mean));
    *high = fmax(told, fmax(told - bias + widen * (mean - below), told - luck));
}

rue_status rue_regret_interval_find(const struct rue_cost_matrix *matrix,
                                    const struct rue_selection *selection, double confidence,
                                    struct rue_regret_interval *out, rue_error *error)
{
    struct bootstrap bootstrap = {.matrix = matrix,
                                  .selection = selection,
                                  .models = selection->model_count,
                                  .configs = selection->config_count,
                                  .seed = 1};
    size_t best = selection->recommended;
    *out = (struct rue_regret_interval){.confidence = 0};
    if (best == RUE_NONE) return RUE_OK;
    rue_status status = rue_time_scatter_open(matrix, &bootstrap.scatter, error);
    if (status != RUE_OK || bootstrap.scatter.freedom == 0) return bootstrap_close(&bootstrap), status;
    double wanted = draws_work / (double)bootstrap.scatter.times;
    size_t draws = wanted > DRAWS_MAX ? DRAWS_MAX : wanted < DRAWS_MIN ? DRAWS_MIN : (size_t)wanted;
    status = bootstrap_open(&bootstrap, draws, error);
    if (status != RUE_OK) return bootstrap_close(&bootstrap), status;
    for (size_t d = 0; d < draws; d++) {
        size_t winner = draw_winner(&bootstrap);
        const struct rue_ranking_row *row = &selection->rows[winner];
        const double *judged =
            selection->objective == RUE_OBJECTIVE_WORST ? bootstrap.worst : bootstrap.regret;
        bootstrap.excess[d] = judged[best] - judged[winner];
        bootstrap.fixed[0][d] = bootstrap.regret[best];
        bootstrap.fixed[1][d] = bootstrap.worst[best];
        bootstrap.lucky[0][d] = bootstrap.regret[winner] - row->mean_regret_ratio;
        bootstrap.lucky[1][d] = bootstrap.worst[winner] - row->max_regret_ratio;
    }
    const struct rue_ranking_row *row = &selection->rows[best];
    double tail = (1 + confidence) / 2, freedom = (double)bootstrap.scatter.freedom;
    double widen = spread_factor * gsl_cdf_tdist_Pinv(tail, freedom) / gsl_cdf_ugaussian_Pinv(tail);
    out->confidence = confidence;
    find_limits(bootstrap.fixed[0], bootstrap.lucky[0], draws, row->mean_regret_ratio, widen, confidence,
                &out->mean_low, &out->mean_high);
    find_limits(bootstrap.fixed[1], bootstrap.lucky[1], draws, row->max_regret_ratio, widen, confidence,
                &out->worst_low, &out->worst_high);
    gsl_sort(bootstrap.excess, 1, draws);
    out->bound_ratio = widen * gsl_stats_quantile_from_sorted_data(bootstrap.excess, 1, draws, confidence);
    bootstrap_close(&bootstrap);
    return RUE_OK;
}
