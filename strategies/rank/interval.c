#include "interval.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "disturbance.h"
#include "random.h"

enum { DRAWS_MIN = 100, DRAWS_MAX = 800, USUAL_COUNT = 4, SCATTER_ROUNDS = 3 };

static const double draws_work = 1e7;    /* times drawn in all, about */
static const double spread_factor = 1.6; /* draws see too little of the scatter of the least times */
static const double usual_sd = 0.04;

/* ---- scatter ---- */

struct scatter {
    double sd;      /* of the logarithm of one trial's time */
    size_t freedom; /* that it rests on; 0: no cell has more than one repeat */
};

/* Adds the squares of a cell's repeats about their mean, but for those that lie too far off for `sd`. */
static void add_squares(const struct rue_cell *cell, double sd, double *squares, size_t *freedom)
{
    double sum = 0, square = 0;
    size_t count = 0;
    for (size_t r = 0; r < cell->repeats; r++) {
        double off = log(cell->times_ns[r] / cell->median_ns);
        if (rue_disturbance_is_likely(off, sd)) continue;
        sum += off;
        square += off * off;
        count++;
    }
    if (count < 2) return;
    *squares += fmax(0, square - sum * sum / (double)count);
    *freedom += count - 1;
}

static struct scatter scatter_of(const struct rue_cost_matrix *matrix)
{
    struct scatter scatter = {.sd = INFINITY};
    size_t cells = matrix->model_count * matrix->config_count;
    for (int round = 0; round < SCATTER_ROUNDS; round++) {
        struct scatter next = {0};
        double squares = 0;
        for (size_t i = 0; i < cells; i++)
            if (matrix->cells[i].state == RUE_CELL_OK && matrix->cells[i].times_ns)
                add_squares(&matrix->cells[i], scatter.sd, &squares, &next.freedom);
        if (next.freedom == 0) return next;
        next.sd = sqrt(squares / (double)next.freedom);
        scatter = next;
    }
    return scatter;
}

/* The standard deviation of the logarithm of a cell's time, which is a median of repeats, or what a strategy
 * believes; NaN where it is not known. */
static double cell_sd(const struct scatter *scatter, const struct rue_cell *cell)
{
    if (cell->state != RUE_CELL_OK) return NAN;
    if (!cell->times_ns) return cell->estimate_sd;
    /* Exact for one value and for very many, 2 % off for three of a normal distribution. */
    double median_share = M_PI / (2 * (double)cell->repeats + M_PI - 2);
    return scatter->freedom > 0 ? scatter->sd * sqrt(median_share) : NAN;
}

/* How many standard deviations hold an error with `probability` (one-sided): of a t distribution where the
 * deviation rests on `freedom`, of a normal one where that is 0. */
static double t_quantile(size_t freedom, double probability)
{
    return freedom ? gsl_cdf_tdist_Pinv(probability, (double)freedom) : gsl_cdf_ugaussian_Pinv(probability);
}

/* ---- the regret ---- */

/* What the matrix might have been. */
struct draw {
    const struct rue_cost_matrix *matrix;
    const struct rue_selection *selection;
    struct scatter scatter;
    struct rue_regret_summary *joined; /* [config_count] */
    double *times;                     /* [config_count] of a model */
    uint64_t *seed;
};

/* A time as it might have been measured; NaN where there is none. */
static double draw_time(const void *context, size_t model, size_t config)
{
    const struct draw *draw = context;
    const struct rue_cell *cell = rue_cost_matrix_cell(draw->matrix, model, config);
    if (cell->state != RUE_CELL_OK) return NAN;
    if (!cell->times_ns) return cell->median_ns;
    return cell->median_ns * exp(cell_sd(&draw->scatter, cell) * rue_random_normal(draw->seed));
}

/* Which configuration the draw would recommend. */
static size_t draw_winner(struct draw *draw)
{
    const struct rue_selection *selection = draw->selection;
    size_t winner = selection->recommended;
    rue_objective_summarise(&(struct rue_objective_times){.models = selection->model_count,
                                                          .configs = selection->config_count,
                                                          .weights = selection->weights,
                                                          .time = draw_time,
                                                          .context = draw,
                                                          .room = draw->times},
                            draw->joined);
    for (size_t c = 0; c < selection->config_count; c++)
        if (selection->rows[c].ranked && selection->rows[c].repeats > 0 &&
            rue_regret_summary_is_better(&draw->joined[c], &draw->joined[winner], selection->objective))
            winner = c;
    return winner;
}

/* `measured`: the regret. What draws add to it on average, the measurement added as well. */
static void find_drawn_limits(double *drawn, size_t draws, double measured, double widen, double confidence,
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
static void find_from_draws(struct draw *draw, double *room, size_t draws, struct rue_regret_interval *out)
{
    size_t best = draw->selection->recommended;
    enum rue_objective objective = draw->selection->objective;
    const struct rue_ranking_row *row = &draw->selection->rows[best];
    double *mean = room, *worst = room + draws, *excess = room + 2 * draws, confidence = out->confidence;
    for (size_t d = 0; d < draws; d++) {
        size_t winner = draw_winner(draw);
        mean[d] = rue_regret_summary_value(&draw->joined[best], RUE_OBJECTIVE_MEAN);
        worst[d] = draw->joined[best].worst;
        excess[d] = rue_regret_summary_value(&draw->joined[best], objective) -
                    rue_regret_summary_value(&draw->joined[winner], objective);
    }
    /* A t distribution is wider where the scatter rests on few repeats. */
    double probability = (1 + confidence) / 2,
           widen =
               spread_factor * t_quantile(draw->scatter.freedom, probability) / t_quantile(0, probability);
    find_drawn_limits(mean, draws, row->mean_regret_ratio, widen, confidence, &out->mean_low,
                      &out->mean_high);
    find_drawn_limits(worst, draws, row->max_regret_ratio, widen, confidence, &out->worst_low,
                      &out->worst_high);
    gsl_sort(excess, 1, draws);
    out->bound_ratio = widen * gsl_stats_quantile_from_sorted_data(excess, 1, draws, confidence);
}

rue_status rue_regret_interval_find(const struct rue_cost_matrix *matrix,
                                    const struct rue_selection *selection, double confidence,
                                    struct rue_regret_interval *out, rue_error *error)
{
    size_t configs = selection->config_count;
    uint64_t seed = 1;
    struct draw draw = {.matrix = matrix, .selection = selection, .seed = &seed};
    *out = (struct rue_regret_interval){.confidence = 0};
    draw.scatter = scatter_of(matrix);
    if (selection->recommended == RUE_NONE || draw.scatter.freedom == 0) return RUE_OK;
    double wanted = draws_work / (double)(configs * selection->model_count);
    size_t draws = wanted > DRAWS_MAX ? DRAWS_MAX : wanted < DRAWS_MIN ? DRAWS_MIN : (size_t)wanted;
    double *room = calloc(3 * draws, sizeof *room);
    draw.joined = calloc(configs, sizeof *draw.joined);
    draw.times = calloc(configs, sizeof *draw.times);
    bool enough = room && draw.joined && draw.times;
    if (enough) {
        out->confidence = confidence;
        find_from_draws(&draw, room, draws, out);
    }
    free(room);
    free(draw.joined);
    free(draw.times);
    return enough ? RUE_OK : rue_fail_memory(error, "an interval of the regret", configs * sizeof(double));
}

/* ---- a gain ---- */

/* How measured times scatter, with what is usual before any. */
static struct scatter usual_scatter_of(const struct rue_cost_matrix *matrix)
{
    struct scatter scatter = scatter_of(matrix);
    double squares = USUAL_COUNT * usual_sd * usual_sd + (double)scatter.freedom * scatter.sd * scatter.sd;
    scatter.freedom += USUAL_COUNT;
    scatter.sd = sqrt(squares / (double)scatter.freedom);
    return scatter;
}

bool rue_speedup_find(const struct rue_cost_matrix *matrix, const struct rue_selection *selection, size_t one,
                      size_t other, double confidence, struct rue_speedup *out)
{
    double gain = 0, variance = 0, weights = 0, tail = (1 - confidence) / 2;
    *out = (struct rue_speedup){0};
    if (!selection->rows[one].ranked || !selection->rows[other].ranked) return false;
    struct scatter scatter = usual_scatter_of(matrix);
    bool believed = true;
    for (size_t m = 0; m < selection->model_count; m++) {
        const struct rue_cell *own = rue_cost_matrix_cell(matrix, m, one),
                              *its = rue_cost_matrix_cell(matrix, m, other);
        double weight = rue_objective_weight(selection->weights, m);
        gain += weight * log(its->median_ns / own->median_ns);
        variance += pow(weight * cell_sd(&scatter, own), 2) + pow(weight * cell_sd(&scatter, its), 2);
        weights += weight;
        believed &= !own->times_ns && !its->times_ns;
    }
    if (!isfinite(variance)) return false;
    if (believed) scatter.freedom = 0;
    double rivals = believed ? 1 : (double)(selection->ranked_count - 1), sd = sqrt(variance) / weights,
           above = t_quantile(scatter.freedom, 1 - tail),
           below = t_quantile(scatter.freedom, 1 - tail / rivals);
    gain /= weights;
    *out = (struct rue_speedup){.confidence = confidence,
                                .ratio = exp(gain),
                                .low = exp(gain - below * sd),
                                .high = exp(gain + above * sd)};
    return true;
}

bool rue_speedup_is_proven(const struct rue_speedup *gain)
{
    return gain->confidence > 0 && gain->low > 1;
}

/* ---- a saving ---- */

/* The time of a side; adds how far it may be off. */
static double side_ns(const struct rue_saving_side *side, const struct scatter *scatter, size_t model,
                      double *variance)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(side->matrix, model, side->config);
    double scaled_ns = side->scale * cell->median_ns;
    *variance += pow(scaled_ns * cell_sd(scatter, cell), 2);
    return scaled_ns;
}

struct rue_saving_interval rue_saving_interval_find(const struct rue_saving_side *before,
                                                    const struct rue_saving_side *after,
                                                    const size_t (*pairs)[2], size_t count, double confidence)
{
    struct scatter first = scatter_of(before->matrix), second = scatter_of(after->matrix);
    double sum_ns = 0, variance = 0, probability = (1 + confidence) / 2;
    for (size_t i = 0; i < count; i++)
        sum_ns +=
            side_ns(before, &first, pairs[i][0], &variance) - side_ns(after, &second, pairs[i][1], &variance);
    if (isnan(variance) || !(confidence > 0)) return (struct rue_saving_interval){0};
    double half_ns = sqrt(variance) *
                     fmax(t_quantile(first.freedom, probability), t_quantile(second.freedom, probability));
    return (struct rue_saving_interval){.confidence = confidence,
                                        .low_ns = (sum_ns - half_ns) / (double)count,
                                        .high_ns = (sum_ns + half_ns) / (double)count};
}
