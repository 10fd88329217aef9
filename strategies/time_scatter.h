/* How the times of a matrix scatter: the logarithms of repeats about their cell, of all cells taken together.
 */
#ifndef RUE_TIME_SCATTER_H
#define RUE_TIME_SCATTER_H

#include "cost_matrix.h"

struct rue_time_scatter {
    double *residuals;              /* [residual_count] of the size of one trial's scatter */
    size_t residual_count, freedom; /* 0: no cell has more than one repeat */
    size_t times;                   /* of all cells */
    double *drawn;                  /* [the most repeats of a cell] */
};

/* To be closed by the caller. RUE_MEMORY. */
rue_status rue_time_scatter_open(const struct rue_cost_matrix *matrix, struct rue_time_scatter *out,
                                 rue_error *error) RUE_MUST_CHECK;
void rue_time_scatter_close(struct rue_time_scatter *scatter);

/* Whether it tells what else a cell's time might have been: repeats do, or what a strategy believes. */
bool rue_time_scatter_tells(const struct rue_time_scatter *scatter, const struct rue_cell *cell);

/* The time of a cell that is ok, as it might have been measured, or as it may be where it is believed. Only
 * where cells with more than one repeat are, or this one has none of its own. */
double rue_time_scatter_draw_ns(struct rue_time_scatter *scatter, const struct rue_cell *cell,
                                uint64_t *seed);

#endif
