/* What one variant's time saves over another's, as far as noise leaves it open: times are medians of repeats
 * that scatter as those of all cells do (time_scatter.h), or what a strategy believes. Their errors are taken
 * to be normal and small, the interval is a t distribution's of the side whose scatter rests on fewer
 * repeats. Which configurations are compared is taken as given. */
#ifndef RUE_SAVING_INTERVAL_H
#define RUE_SAVING_INTERVAL_H

#include "time_scatter.h"

/* A column of a matrix; its times count so often, for jobs of different lengths. */
struct rue_saving_side {
    const struct rue_cost_matrix *matrix;
    size_t config;
    double scale;
};

/* Of scale * time before - scale * time after; negative where it does not save. */
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
