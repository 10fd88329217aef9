/* The cost matrix of one variant: scenarios (rows, one a model) × configurations (columns); a cell holds the
 * times of the job measured for it. A cell's memory doubles as it grows; all memory belongs to the matrix. */
#ifndef RUE_COST_MATRIX_H
#define RUE_COST_MATRIX_H

#include "config.h"
#include "error.h"
#include "trial.h"

/* Where a cell had several outcomes, the state that is listed last counts. */
enum rue_cell_state {
    RUE_CELL_MISSING,    /* not measured */
    RUE_CELL_FAILED,     /* no ok repeat, none infeasible, one failed or ran into its time limit */
    RUE_CELL_INFEASIBLE, /* no ok repeat, and one was infeasible; or its first batch comes too late */
    RUE_CELL_OK,         /* at least one ok repeat */
};

struct rue_cell {
    enum rue_cell_state state;
    bool predicted; /* the times are predictions: full trials replace those that truncated ones are behind */
    size_t missed;  /* trials that were not ok */
    size_t infeasible; /* of them */
    size_t
        repeats; /* ok repeats of the kind that `predicted` says; 0 where nothing but an estimate is known */
    size_t capacity;                    /* of times_ns */
    double *times_ns;                   /* [repeats], in the order added; not of an estimate */
    double median_ns;                   /* of times_ns, or the estimate; NaN where there is none */
    double estimate_sd;                 /* of the logarithm of an estimate; NaN where that is not known */
    double first_batch_ns;              /* median of those told, or the estimate; NaN where there is none */
    size_t first_count, first_capacity; /* of first_batches_ns; 0 where there is but an estimate */
    double *first_batches_ns;           /* [first_count], in the order added */
    bool late;                          /* infeasible as its first batch comes later than the limit, or as it
                                           is not known when */
    const char *reason; /* of the last trial that was not ok, or why it is late, less than RUE_REASON_BYTES
                           long; "" when none */
};

/* To be read; changed by the functions below, but for the limit. */
struct rue_cost_matrix {
    size_t config_count, model_count;
    struct rue_config *configs; /* [config_count] */
    char **models;              /* [model_count], each owned */
    struct rue_cell *cells;     /* [model_count * config_count], a model's cells side by side */
    double *scratch;            /* [scratch_capacity] for medians */
    size_t scratch_capacity;
    uint64_t first_limit_ns; /* cells whose first batch comes later are infeasible; 0: whenever it comes. To
                                be set before anything is added */
};

/* `configs` [config_count] and `models` [model_count] are copied; both may be empty. RUE_MEMORY on failure.
 */
rue_status rue_cost_matrix_open(const struct rue_config *configs, size_t config_count,
                                const char *const *models, size_t model_count, struct rue_cost_matrix **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_cost_matrix_close(struct rue_cost_matrix *matrix);

const struct rue_cell *rue_cost_matrix_cell(const struct rue_cost_matrix *matrix, size_t model,
                                            size_t config);

/* Tells when the first batch of an ok repeat came, not negative and finite. RUE_USAGE otherwise, RUE_MEMORY.
 */
rue_status rue_cost_matrix_add_first_batch(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                           double first_batch_ns, rue_error *error) RUE_MUST_CHECK;

/* When it is expected: counts where nothing was told. */
void rue_cost_matrix_estimate_first_batch(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                          double first_batch_ns);

/* Of all configurations the one whose latest first batch of any model comes earliest; false where none is
 * known for every model. */
bool rue_cost_matrix_earliest_first_batch(const struct rue_cost_matrix *matrix, size_t *config,
                                          double *first_batch_ns);

/* Tells `count` ok repeats: `times_ns` of the whole job, positive and finite; `predicted` when extrapolated
 * from truncated trials. Once a full trial is there, predictions no longer count. RUE_USAGE for a time that
 * is not positive and finite (a runner that lies), RUE_MEMORY; what stood before the bad time has been told.
 */
rue_status rue_cost_matrix_add_repeats(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                       const double *times_ns, size_t count, bool predicted,
                                       rue_error *error) RUE_MUST_CHECK;

/* The same for one. */
rue_status rue_cost_matrix_add(struct rue_cost_matrix *matrix, size_t model, size_t config, double time_ns,
                               bool predicted, rue_error *error) RUE_MUST_CHECK;

/* Tells what a strategy believes of the job's time in a cell that has no time yet and no trial that was not
 * ok, after `repeats` trials of its own, none of which was told; `predicted` unless one of them ran the whole
 * job; `sd` is the standard deviation of the logarithm of that time, or NaN. Replaces what it believed
 * before. RUE_USAGE for a time that is not positive and finite. */
rue_status rue_cost_matrix_estimate(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                    double time_ns, double sd, size_t repeats, bool predicted,
                                    rue_error *error) RUE_MUST_CHECK;

/* Tells a trial that was not ok; `reason` may be NULL, and is lost where no memory is left for it. Changes
 * nothing but `missed` and `reason` in a cell that has ok repeats. */
void rue_cost_matrix_add_failure(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                 enum rue_outcome outcome, const char *reason);

#endif
