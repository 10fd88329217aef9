/* How far noise leaves open what measured times say: of the recommendation's regrets, of how many times as
 * fast one configuration is as another, and of what one variant saves over another. Pure. All rest on one
 * scatter: the standard deviation of the logarithms of repeats about their cell, of all cells of a matrix
 * together, without repeats that were likely disturbed (disturbance.h). The median of n repeats has the
 * variance pi / (2n + pi - 2) of one of them. Intervals are about these models, not others. */
#ifndef RUE_INTERVAL_H
#define RUE_INTERVAL_H

#include "selection.h"

/* Intervals of the recommendation's mean and worst regret. Times are drawn as they might have been measured.
 * A regret is over the least of many times, so scatter alone makes it larger: what the draws see of that is
 * taken off. The interval is widened, as they see too little of it (of regrets on grids with 1 to 5 % of
 * noise it then covers 95 %). */
struct rue_regret_interval {
    double confidence; /* 0: nothing is known, as when everything was measured once */
    double mean_low, mean_high, worst_low, worst_high;
    double bound_ratio; /* no configuration is better by more, by the objective */
};

/* Of the recommended configuration of `selection`, which is of this matrix. Deterministic. RUE_MEMORY. */
rue_status rue_regret_interval_find(const struct rue_cost_matrix *matrix,
                                    const struct rue_selection *selection, double confidence,
                                    struct rue_regret_interval *out, rue_error *error) RUE_MUST_CHECK;

/* How many times as fast one configuration is as another. With t(m,c) and its variance v(m,c), of logarithms,
 * and the models' weights w(m):
 *
 *   g = sum of w(m) (log t(m,other) - log t(m,one)) / sum of w(m)
 *   u = sum of w(m)^2 (v(m,other) + v(m,one)) / (sum of w(m))^2
 *   from g - q(1 - (1 - confidence) / 2k) sqrt(u) to g + q(1 - (1 - confidence) / 2) sqrt(u)
 *
 * Of cells that a strategy believes in, v is what it believes, q the normal quantile, and k = 1. Of cells
 * with measured times v is that of their median, as if 4 values had shown a standard deviation of 0.04
 * beforehand; q is Student's, and k counts the rivals that `one` was chosen among: the best of many is likely
 * to have been lucky. */
struct rue_speedup {
    double confidence;       /* 0: not known */
    double ratio, low, high; /* times as fast; more than 1: faster */
};

/* Of `selection`, which is of this matrix. False, with nothing known in `*out`, where a cell of one of them
 * was neither measured nor predicted with a known uncertainty. */
bool rue_speedup_find(const struct rue_cost_matrix *matrix, const struct rue_selection *selection, size_t one,
                      size_t other, double confidence, struct rue_speedup *out);

/* Whether the gain is more than noise. */
bool rue_speedup_is_proven(const struct rue_speedup *gain);

/* A column of a matrix; its times count so often, for jobs of different lengths. */
struct rue_saving_side {
    const struct rue_cost_matrix *matrix;
    size_t config;
    double scale;
};

/* Of scale * time before - scale * time after; negative where it does not save. Errors are taken to be small;
 * the interval is a t distribution's of the side whose scatter rests on fewer repeats. */
struct rue_saving_interval {
    double confidence; /* 0: nothing is known, as when everything was measured once */
    double low_ns, high_ns;
};

/* The mean over `count` models, at least one: row pairs[i][0] of the matrix before and pairs[i][1] of that
 * after are the same model. */
struct rue_saving_interval rue_saving_interval_find(const struct rue_saving_side *before,
                                                    const struct rue_saving_side *after,
                                                    const size_t (*pairs)[2], size_t count,
                                                    double confidence);

#endif
