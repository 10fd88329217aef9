/* How the times of a matrix scatter: the logarithms of repeats about their cell, of all cells taken together.
 */
#ifndef RUE_TIME_SCATTER_H
#define RUE_TIME_SCATTER_H

#include "cost_matrix.h"

struct rue_time_scatter {
    double sd;      /* of the logarithm of one trial's time */
    size_t freedom; /* that it rests on; 0: no cell has more than one repeat */
};

struct rue_time_scatter rue_time_scatter_of(const struct rue_cost_matrix *matrix);

/* The standard deviation of the logarithm of a cell's time, which is a median of repeats, or what a strategy
 * believes; NaN where it is not known. */
double rue_time_scatter_cell_sd(const struct rue_time_scatter *scatter, const struct rue_cell *cell);

/* How many standard deviations hold an error with `probability` (one-sided): of a t distribution where the
 * deviation rests on `freedom`, of a normal one where that is 0. */
double rue_time_scatter_quantile(size_t freedom, double probability);

#endif
