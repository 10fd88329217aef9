/* How a configuration may do for a model that was not measured: each model in turn is left out, what would be
 * recommended without it is looked up, and its regret for the model that was left out is the estimate. */
#ifndef RUE_LEAVE_ONE_OUT_H
#define RUE_LEAVE_ONE_OUT_H

#include "selection.h"

struct rue_leave_one_out_row {
    size_t config;       /* recommended without this model; RUE_NONE when nothing is */
    double regret_ratio; /* of it for the model that was left out; NaN where it did not run for it */
};

struct rue_leave_one_out {
    size_t model_count;
    struct rue_leave_one_out_row *rows;         /* [model_count] */
    size_t known;                               /* rows that have a regret */
    double mean_regret_ratio, max_regret_ratio; /* of these, the mean is weighted by the rules */
    size_t worst_model;                         /* where it is largest, the first one */
};

/* Fewer models tell nothing of another one. */
enum { RUE_LEAVE_ONE_OUT_MODELS = 3 };

/* `selection` is of this matrix, and its rules are those that are applied. `*out` is NULL with fewer than
 * RUE_LEAVE_ONE_OUT_MODELS models, or when no row has a regret. RUE_MEMORY. */
rue_status rue_leave_one_out_open(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                  struct rue_leave_one_out **out, rue_error *error) RUE_MUST_CHECK;
void rue_leave_one_out_close(struct rue_leave_one_out *left);

#endif
