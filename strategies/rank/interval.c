#include "interval.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "disturbance.h"
#include "random.h"

enum { DRAWS_MIN = 100, DRAWS_MAX = 800, PRIOR_COUNT = 4, POOLING_ROUNDS = 3 };

static const double draw_work = 1e7; /* limit on configurations × models × draws */
static const double widening = 1.6;  /* draws underestimate the noise of the minimum */
static const double prior_sd = 0.04;

/* Adds the squares of a cell's repeats about their mean, without repeats that are likely disturbed for
 * `sd`. */
static void add_squares(const struct rue_cell *cell, double sd, double *squares, size_t *freedom)
{
    double sum = 0, square = 0;
    size_t count = 0;
    for (size_t r = 0; r < cell->repeats; r++) {
        double deviation = log(cell->times_ns[r] / cell->median_ns);
        if (rue_disturbance_is_likely(deviation, sd)) continue;
        sum += deviation;
        square += deviation * deviation;
        count++;
    }
    if (count < 2) return;
    *squares += fmax(0, square - sum * sum / (double)count);
    *freedom += count - 1;
}

struct rue_scatter rue_scatter_find(const struct rue_cost_matrix *matrix)
{
    struct rue_scatter scatter = {.sd = INFINITY};
    size_t cells = matrix->model_count * matrix->config_count;
    for (int round = 0; round < POOLING_ROUNDS; round++) {
        struct rue_scatter next = {0};
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

/* The standard deviation of the logarithm of a cell's time: of the median of its repeats, or of the estimate;
 * NaN: unknown. */
static double cell_sd(const struct rue_scatter *scatter, const struct rue_cell *cell)
{
    if (cell->state != RUE_CELL_OK) return NAN;
    if (!cell->times_ns) return cell->estimate_sd;
    /* Exact for one repeat and for many; 2 % off for three repeats of a normal distribution. */
    double median_share = M_PI / (2 * (double)cell->repeats + M_PI - 2);
    return scatter->freedom > 0 ? scatter->sd * sqrt(median_share) : NAN;
}

/* The one-sided quantile: of a t distribution with `freedom` degrees of freedom; of a normal one for 0. */
static double t_quantile(size_t freedom, double probability)
{
    return freedom ? gsl_cdf_tdist_Pinv(probability, (double)freedom) : gsl_cdf_ugaussian_Pinv(probability);
}

/* ---- intervals of the regret ---- */

/* One bootstrap draw of the matrix. */
struct draw {
    const struct rue_cost_matrix *matrix;
    const struct rue_selection *selection;
    struct rue_scatter scatter;
    struct rue_regret_summary *summaries; /* [config_count] */
    double *times;                        /* [config_count] of one model */
    uint64_t *seed;
};

/* A time drawn from its sampling distribution; NaN: none. */
static double draw_time(const void *context, size_t model, size_t config)
{
    const struct draw *draw = context;
    const struct rue_cell *cell = rue_cost_matrix_cell(draw->matrix, model, config);
    if (cell->state != RUE_CELL_OK) return NAN;
    if (!cell->times_ns) return cell->median_ns;
    return cell->median_ns * exp(cell_sd(&draw->scatter, cell) * rue_random_normal(draw->seed));
}

/* The configuration that the draw would recommend. */
static size_t draw_winner(struct draw *draw)
{
    const struct rue_selection *selection = draw->selection;
    size_t winner = selection->recommended;
    const struct rue_objective_times times = {
        selection->model_count, selection->config_count, selection->weights, draw_time, draw, draw->times};
    rue_objective_summarise(&times, draw->summaries);
    for (size_t c = 0; c < selection->config_count; c++)
        if (selection->rows[c].ranked && selection->rows[c].repeats > 0 &&
            rue_regret_summary_is_better(&draw->summaries[c], &draw->summaries[winner], selection->objective))
            winner = c;
    return winner;
}

/* The basic bootstrap interval (Davison and Hinkley 1997) about `measured`, corrected for bias. */
static void bootstrap_interval(double *values, size_t count, double measured, double widen, double confidence,
                               double *low, double *high)
{
    double tail = (1 - confidence) / 2, mean = gsl_stats_mean(values, 1, count), centre = 2 * measured - mean;
    gsl_sort(values, 1, count);
    double below = mean - gsl_stats_quantile_from_sorted_data(values, 1, count, tail),
           above = gsl_stats_quantile_from_sorted_data(values, 1, count, 1 - tail) - mean;
    *low = fmax(0, fmin(measured, centre - widen * above));
    *high = fmax(measured, centre + widen * below);
}

/* `work` [3 * count]: of each draw the mean and the worst regret of the recommended configuration, and its
 * excess over the draw's winner. */
static void bootstrap_regrets(struct draw *draw, double *work, size_t count, struct rue_regret_interval *out)
{
    size_t best = draw->selection->recommended;
    enum rue_objective objective = draw->selection->objective;
    const struct rue_ranking_row *row = &draw->selection->rows[best];
    double *mean = work, *worst = work + count, *excess = work + 2 * count, confidence = out->confidence;
    for (size_t d = 0; d < count; d++) {
        size_t winner = draw_winner(draw);
        mean[d] = rue_regret_summary_value(&draw->summaries[best], RUE_OBJECTIVE_MEAN);
        worst[d] = draw->summaries[best].worst;
        excess[d] = rue_regret_summary_value(&draw->summaries[best], objective) -
                    rue_regret_summary_value(&draw->summaries[winner], objective);
    }
    /* Few degrees of freedom widen the interval as those of a t distribution. */
    double probability = (1 + confidence) / 2,
           widen = widening * t_quantile(draw->scatter.freedom, probability) / t_quantile(0, probability);
    bootstrap_interval(mean, count, row->mean_regret_ratio, widen, confidence, &out->mean_low,
                       &out->mean_high);
    bootstrap_interval(worst, count, row->max_regret_ratio, widen, confidence, &out->worst_low,
                       &out->worst_high);
    gsl_sort(excess, 1, count);
    out->bound_ratio = widen * gsl_stats_quantile_from_sorted_data(excess, 1, count, confidence);
}

rue_status rue_regret_interval_find(const struct rue_cost_matrix *matrix,
                                    const struct rue_selection *selection, double confidence,
                                    struct rue_regret_interval *out, rue_error *error)
{
    size_t configs = selection->config_count;
    uint64_t seed = 1;
    struct draw draw = {.matrix = matrix, .selection = selection, .seed = &seed};
    *out = (struct rue_regret_interval){.confidence = 0};
    draw.scatter = rue_scatter_find(matrix);
    if (selection->recommended == RUE_NONE || draw.scatter.freedom == 0) return RUE_OK;
    double budget = draw_work / (double)(configs * selection->model_count);
    size_t count = budget > DRAWS_MAX ? DRAWS_MAX : budget < DRAWS_MIN ? DRAWS_MIN : (size_t)budget;
    double *work = calloc(3 * count, sizeof *work);
    draw.summaries = calloc(configs, sizeof *draw.summaries);
    draw.times = calloc(configs, sizeof *draw.times);
    bool allocated = work && draw.summaries && draw.times;
    if (allocated) {
        out->confidence = confidence;
        bootstrap_regrets(&draw, work, count, out);
    }
    free(work);
    free(draw.summaries);
    free(draw.times);
    return allocated ? RUE_OK : rue_fail_memory(error, "an interval of the regret", configs * sizeof(double));
}

/* ---- speed-up ---- */

/* The pooled standard deviation, shrunk towards that of PRIOR_COUNT repeats seen before. */
static struct rue_scatter shrunken_scatter(const struct rue_cost_matrix *matrix)
{
    struct rue_scatter scatter = rue_scatter_find(matrix);
    double squares = PRIOR_COUNT * prior_sd * prior_sd + (double)scatter.freedom * scatter.sd * scatter.sd;
    scatter.freedom += PRIOR_COUNT;
    scatter.sd = sqrt(squares / (double)scatter.freedom);
    return scatter;
}

bool rue_speedup_find(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                      size_t candidate, size_t baseline, double confidence, struct rue_speedup *out)
{
    double gain = 0, variance = 0, weights = 0, tail = (1 - confidence) / 2;
    *out = (struct rue_speedup){0};
    if (!selection->rows[candidate].ranked || !selection->rows[baseline].ranked) return false;
    struct rue_scatter scatter = shrunken_scatter(matrix);
    bool estimated = true;
    for (size_t m = 0; m < selection->model_count; m++) {
        const struct rue_cell *after = rue_cost_matrix_cell(matrix, m, candidate),
                              *before = rue_cost_matrix_cell(matrix, m, baseline);
        double weight = rue_objective_weight(selection->weights, m);
        gain += weight * log(before->median_ns / after->median_ns);
        variance += pow(weight * cell_sd(&scatter, after), 2) + pow(weight * cell_sd(&scatter, before), 2);
        weights += weight;
        estimated &= !after->times_ns && !before->times_ns;
    }
    if (!isfinite(variance)) return false;
    if (estimated) scatter.freedom = 0;
    double rivals = estimated ? 1 : (double)(selection->ranked_count - 1), sd = sqrt(variance) / weights,
           above = t_quantile(scatter.freedom, 1 - tail),
           below = t_quantile(scatter.freedom, 1 - tail / rivals);
    gain /= weights;
    *out = (struct rue_speedup){.confidence = confidence,
                                .ratio = exp(gain),
                                .low = exp(gain - below * sd),
                                .high = exp(gain + above * sd)};
    return true;
}

struct rue_speedup rue_speedup_of_pairs(const double *ratios, size_t count, double confidence)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += log(ratios[i]);
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += pow(log(ratios[i]) - mean, 2);
    if (count < 2) return (struct rue_speedup){.ratio = exp(mean)};
    double half =
        t_quantile(count - 1, (1 + confidence) / 2) * sqrt(squares / (double)(count - 1) / (double)count);
    return (struct rue_speedup){confidence, exp(mean), exp(mean - half), exp(mean + half)};
}

bool rue_speedup_is_proven(const struct rue_speedup *gain)
{
    return gain->confidence > 0 && gain->low > 1;
}

/* ---- saving ---- */

/* The scaled time of a side; adds its variance to `*variance`. */
static double side_ns(const struct rue_saving_side *side, const struct rue_scatter *scatter, size_t model,
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
    struct rue_scatter first = rue_scatter_find(before->matrix), second = rue_scatter_find(after->matrix);
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

/* ---- change ---- */

struct rue_change rue_change_find(const struct rue_scatter scatters[2], const struct rue_cell *const cells[2],
                                  double confidence, size_t count)
{
    double variance = 0;
    size_t freedom = 0;
    for (int side = 0; side < 2; side++) {
        size_t own = cells[side]->times_ns ? scatters[side].freedom : 0;
        variance += pow(cell_sd(&scatters[side], cells[side]), 2);
        if (own && (!freedom || own < freedom)) freedom = own;
    }
    struct rue_change change = {.ratio = cells[1]->median_ns / cells[0]->median_ns};
    if (!isfinite(variance)) return change;
    double half = t_quantile(freedom, 1 - (1 - confidence) / (2 * (double)count)) * sqrt(variance);
    change.confidence = confidence;
    change.low = change.ratio * exp(-half);
    change.high = change.ratio * exp(half);
    return change;
}
