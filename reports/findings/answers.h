/* Answers beside the winner: the smallest set of configurations, leave-one-out, time against memory. */
#ifndef RUE_ANSWERS_H
#define RUE_ANSWERS_H

#include "config_set.h"
#include "selection.h"

struct rue_answers {
    struct rue_config_set *set;              /* of all models */
    struct rue_leave_one_out *leave_one_out; /* NULL with fewer than three models */
    double *memory_bytes;                    /* [configs] of the batches in flight; NULL: unknown */
    size_t front_count;
    size_t *front; /* [front_count] ranked columns: the Pareto front, least regret first */
};

/* Borrows `matrix`, `selection` and `memory_bytes` [configs] (NULL: unknown) for the call. RUE_MEMORY. */
rue_status rue_answers_open(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                            double set_epsilon_ratio, const double *memory_bytes, struct rue_answers **out,
                            rue_error *error) RUE_MUST_CHECK;
void rue_answers_close(struct rue_answers *answers);

#endif
