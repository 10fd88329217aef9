/* What one variant's time saves over another's, as far as noise leaves it open. A bootstrap of both, as that
 * of regrets (regret_interval.h): the medians of repeats that scatter as those of all cells do, wider where
 * few repeats tell how much that is; of cells that a strategy believes in, what it believes. Which
 * configurations are compared is taken as given. */
#ifndef RUE_SAVING_INTERVAL_H
#define RUE_SAVING_INTERVAL_H

#include "cost_matrix.h"

/* A column of a matrix; its times count so often, for jobs of different lengths. */
struct rue_saving_side {
    const struct rue_cost_matrix *matrix;
    size_t config;
    double scale;
};

/* The same model in both matrices. */
struct rue_saving_pair {
    size_t before, after;
};

struct rue_saving_question {
    struct rue_saving_side before, after;
    const struct rue_saving_pair *pairs; /* [pair_count], at least one; the mean over them is asked for */
    size_t pair_count;
    double confidence;
};

/* Of scale * time before - scale * time after; negative where it does not save. */
struct rue_saving_interval {
    double confidence; /* 0: nothing is known, as when everything was measured once */
    double low_ns, high_ns;
};

/* Deterministic. RUE_MEMORY. */
rue_status rue_saving_interval_find(const struct rue_saving_question *question,
                                    struct rue_saving_interval *out, rue_error *error) RUE_MUST_CHECK;

#endif
