#include "regret_interval.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "random.h"
#include "time_scatter.h"

enum { DRAWS_MIN = 100, DRAWS_MAX = 800 };

static const double draws_work = 1e7;    /* times drawn in all, about */
static const double spread_factor = 1.6; /* draws see too little of the scatter of the least times */

/* What the matrix might have been. */
struct draw {
    const struct rue_cost_matrix *matrix;
    const struct rue_selection *selection;
    struct rue_time_scatter scatter;
    struct rue_joined_regrets *joined; /* [config_count] */
    double *times;                     /* [config_count] of a model */
    uint64_t seed;
};

/* A time as it might have been measured; NaN where there is none. */
static double draw_time(struct draw *draw, size_t model, size_t config)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(draw->matrix, model, config);
    if (cell->state != RUE_CELL_OK || !cell->times_ns) return cell->median_ns;
    double sd = rue_time_scatter_cell_sd(&draw->scatter, cell);
    return cell->median_ns * exp(sd * rue_random_normal(&draw->seed));
}

static double value_of(const struct draw *draw, size_t config)
{
    return rue_joined_regrets_value(&draw->joined[config], draw->selection->objective);
}

/* Which configuration the draw would recommend; the regrets of those that are not ranked are NaN. */
static size_t draw_winner(struct draw *draw)
{
    const struct rue_selection *selection = draw->selection;
    size_t winner = selection->recommended;
    for (size_t c = 0; c < selection->config_count; c++) draw->joined[c] = (struct rue_joined_regrets){0};
    for (size_t m = 0; m < selection->model_count; m++) {
        for (size_t c = 0; c < selection->config_count; c++) draw->times[c] = draw_time(draw, m, c);
        rue_joined_regrets_add_model(draw->joined, draw->times, selection->config_count, m,
                                     selection->weights ? selection->weights[m] : 1);
    }
    for (size_t c = 0; c < selection->config_count; c++)
        if (selection->rows[c].ranked && selection->rows[c].repeats > 0 &&
            value_of(draw, c) < value_of(draw, winner))
            winner = c;
    return winner;
}

/* `measured`: the regret. What draws add to it on average, the measurement added as well. */
static void find_limits(double *drawn, size_t draws, double measured, double widen, double confidence,
                        double *low, double *high)
{
    double tail = (1 - confidence) / 2, mean = gsl_stats_mean(drawn, 1, draws), centre = 2 * measured - mean;
    gsl_sort(drawn, 1, draws);
    double below = mean - gsl_stats_quantile_from_sorted_data(drawn, 1, draws, tail),
           above = gsl_stats_quantile_from_sorted_data(drawn, 1, draws, 1 - tail) - mean;
    *low = fmax(0, fmin(measured, centre - widen * above));
    *high = fmax(measured, centre + widen * below);
}

/* `room` [3 * draws] holds the mean and the worst regret of the recommended one, and its excess over the
 * winner of each draw. */
static void find(struct draw *draw, double *room, size_t draws, struct rue_regret_interval *out)
{
    size_t best = draw->selection->recommended;
    const struct rue_ranking_row *row = &draw->selection->rows[best];
    double *mean = room, *worst = room + draws, *excess = room + 2 * draws, confidence = out->confidence;
    for (size_t d = 0; d < draws; d++) {
        size_t winner = draw_winner(draw);
        mean[d] = rue_joined_regrets_value(&draw->joined[best], RUE_OBJECTIVE_MEAN);
        worst[d] = draw->joined[best].worst;
        excess[d] = value_of(draw, best) - value_of(draw, winner);
    }
    /* A t distribution is wider where the scatter rests on few repeats. */
    double probability = (1 + confidence) / 2,
           widen = spread_factor * rue_time_scatter_quantile(draw->scatter.freedom, probability) /
                   rue_time_scatter_quantile(0, probability);
    find_limits(mean, draws, row->mean_regret_ratio, widen, confidence, &out->mean_low, &out->mean_high);
    find_limits(worst, draws, row->max_regret_ratio, widen, confidence, &out->worst_low, &out->worst_high);
    gsl_sort(excess, 1, draws);
    out->bound_ratio = widen * gsl_stats_quantile_from_sorted_data(excess, 1, draws, confidence);
}

rue_status rue_regret_interval_find(const struct rue_cost_matrix *matrix,
                                    const struct rue_selection *selection, double confidence,
                                    struct rue_regret_interval *out, rue_error *error)
{
    size_t configs = selection->config_count;
    struct draw draw = {.matrix = matrix, .selection = selection, .seed = 1};
    *out = (struct rue_regret_interval){.confidence = 0};
    draw.scatter = rue_time_scatter_of(matrix);
    if (selection->recommended == RUE_NONE || draw.scatter.freedom == 0) return RUE_OK;
    double wanted = draws_work / (double)(configs * selection->model_count);
    size_t draws = wanted > DRAWS_MAX ? DRAWS_MAX : wanted < DRAWS_MIN ? DRAWS_MIN : (size_t)wanted;
    double *room = calloc(3 * draws, sizeof *room);
    draw.joined = calloc(configs, sizeof *draw.joined);
    draw.times = calloc(configs, sizeof *draw.times);
    bool enough = room && draw.joined && draw.times;
    if (enough) {
        out->confidence = confidence;
        find(&draw, room, draws, out);
    }
    free(room);
    free(draw.joined);
    free(draw.times);
    return enough ? RUE_OK : rue_fail_memory(error, "an interval of the regret", configs * sizeof(double));
}
