/* Intervals for measurement noise: of the recommended configuration's regrets, of the speed-up of one
 * configuration over another, and of the time that one variant saves over another. All use one standard
 * deviation, of the logarithm of a time about the median of its cell. It is pooled over the cells of a
 * matrix, without repeats that were likely disturbed (disturbance.h). The variance of the median of n
 * repeats is pi / (2n + pi - 2) times that of one repeat. Intervals cover these models only. Pure. */
#ifndef RUE_INTERVAL_H
#define RUE_INTERVAL_H

#include "selection.h"

struct rue_scatter {
    double sd;      /* of the logarithm of one trial's time */
    size_t freedom; /* degrees of freedom; 0: no cell has more than one repeat */
};

/* The pooled standard deviation of all cells. */
struct rue_scatter rue_scatter_find(const struct rue_cost_matrix *matrix);

/* Intervals of the recommended configuration's mean and worst regret, from a parametric bootstrap: times are
 * drawn from their sampling distributions. Noise lowers the minimum of many times, which biases regret
 * upwards; the bootstrap estimate of that bias is subtracted. The interval is widened by a factor from
 * simulations, where it then covers 95 % (grids with 1 to 5 % noise). */
struct rue_regret_interval {
    double confidence; /* 0: unknown, because no cell was repeated */
    double mean_low, mean_high, worst_low, worst_high;
    double bound_ratio; /* upper bound of the regret that another configuration can save */
};

/* For the recommended configuration of `selection`, which belongs to this matrix. Deterministic.
 * RUE_MEMORY. */
rue_status rue_regret_interval_find(const struct rue_cost_matrix *matrix,
                                    const struct rue_selection *selection, double confidence,
                                    struct rue_regret_interval *out, rue_error *error) RUE_MUST_CHECK;

/* The speed-up of one configuration (candidate) over another (baseline). With the times t(m,c), the variances
 * v(m,c) of their logarithms, and the weights w(m) of the models:
 *
 *   g = sum of w(m) (log t(m,baseline) - log t(m,candidate)) / sum of w(m)
 *   u = sum of w(m)^2 (v(m,baseline) + v(m,candidate)) / (sum of w(m))^2
 *   from g - q(1 - (1 - confidence) / 2k) sqrt(u) to g + q(1 - (1 - confidence) / 2) sqrt(u)
 *
 * If both configurations have estimates of a strategy, v is the estimate's, q the normal quantile and k = 1.
 * Else v is the variance of the median, shrunk towards a prior of 4 repeats with standard deviation 0.04; q
 * is Student's t, and k the number of rivals of the candidate (Bonferroni): the best of many was probably
 * lucky. */
struct rue_speedup {
    double confidence;       /* 0: unknown */
    double ratio, low, high; /* time of the baseline over that of the candidate; above 1: faster */
};

/* Returns false, with `*out` unknown, if a cell of either was not measured and has no estimate with an
 * uncertainty. `selection` belongs to this matrix. */
bool rue_speedup_find(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                      size_t candidate, size_t baseline, double confidence, struct rue_speedup *out);

/* The speed-up from `count` pairs, at least one, of which ratios[i] is the time before over the time after:
 * the geometric mean, and Student's interval of the mean of logarithms. One pair has no interval. */
struct rue_speedup rue_speedup_of_pairs(const double *ratios, size_t count, double confidence);

/* Whether the interval of the speed-up lies above 1. */
bool rue_speedup_is_proven(const struct rue_speedup *gain);

/* A column of a matrix. `scale` multiplies its times, to compare jobs of different lengths. */
struct rue_saving_side {
    const struct rue_cost_matrix *matrix;
    size_t config;
    double scale;
};

/* The interval of scale * time before - scale * time after; negative: slower. First-order error
 * propagation; the interval uses the t quantile of the side with fewer degrees of freedom. */
struct rue_saving_interval {
    double confidence; /* 0: unknown, because no cell was repeated */
    double low_ns, high_ns;
};

/* The mean over `count` models, at least one. pairs[i][0] is the row of the matrix before, and pairs[i][1]
 * the row of the matrix after, of the same model. */
struct rue_saving_interval rue_saving_interval_find(const struct rue_saving_side *before,
                                                    const struct rue_saving_side *after,
                                                    const size_t (*pairs)[2], size_t count,
                                                    double confidence);

/* The change of a cell's time from one matrix to another. */
struct rue_change {
    double confidence;       /* 0: unknown, because a cell has neither repeats nor an uncertainty */
    double ratio, low, high; /* time after over time before */
};

/* cells[0] before, cells[1] after, both ok; each with the scatter of its matrix. The interval holds for
 * `count` cells at once (Bonferroni). */
struct rue_change rue_change_find(const struct rue_scatter scatters[2], const struct rue_cell *const cells[2],
                                  double confidence, size_t count);

#endif
