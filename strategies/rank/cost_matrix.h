/* The cost matrix of one variant: scenarios (rows, one per model) × configurations (columns). A cell has the
 * measured times of the job. The arrays of a cell grow by doubling; all memory belongs to the matrix. */
#ifndef RUE_COST_MATRIX_H
#define RUE_COST_MATRIX_H

#include "config.h"
#include "error.h"
#include "trial.h"

/* If a cell had several outcomes, the state listed last wins. */
enum rue_cell_state {
    RUE_CELL_MISSING,    /* not measured */
    RUE_CELL_FAILED,     /* no ok repeat, none infeasible; one failed or timed out */
    RUE_CELL_INFEASIBLE, /* no ok repeat, one infeasible; or its first batch is too late */
    RUE_CELL_OK,         /* at least one ok repeat */
};

struct rue_cell {
    enum rue_cell_state state;
    bool predicted;        /* the times are predictions from truncated trials; full trials replace them */
    size_t missed;         /* trials that were not ok */
    size_t infeasible;     /* of these, infeasible */
    size_t repeats;        /* ok repeats, all full or all predicted; 0 for an estimate of an untried cell */
    size_t capacity;       /* of times_ns */
    double *times_ns;      /* [repeats], in the order added; NULL for an estimate */
    double median_ns;      /* of times_ns, or the estimate; NaN: none */
    double estimate_sd;    /* of the logarithm of an estimate; NaN: unknown */
    double first_batch_ns; /* median of those reported, or the estimate; NaN: none */
    size_t first_count, first_capacity; /* of first_batches_ns; 0 for an estimate */
    double *first_batches_ns;           /* [first_count], in the order added */
    bool late; /* infeasible because its first batch is later than the limit, or its time is unknown */
    const char *reason; /* why the last trial was not ok, or why the cell is late; shorter than
                           RUE_REASON_BYTES; "" if neither */
};

/* Read only, except for the limit. */
struct rue_cost_matrix {
    size_t config_count, model_count;
    struct rue_config *configs; /* [config_count] */
    char **models;              /* [model_count], each owned */
    struct rue_cell *cells;     /* [model_count * config_count], row by row */
    double *scratch;            /* [scratch_capacity] for medians */
    size_t scratch_capacity;
    uint64_t first_limit_ns; /* a cell with a later first batch is infeasible; 0: no limit. Set it before the
                                first trial */
};

/* Copies `configs` [config_count] and `models` [model_count]; both may be empty. RUE_MEMORY on failure. */
rue_status rue_cost_matrix_open(const struct rue_config *configs, size_t config_count,
                                const char *const *models, size_t model_count, struct rue_cost_matrix **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_cost_matrix_close(struct rue_cost_matrix *matrix);

const struct rue_cell *rue_cost_matrix_cell(const struct rue_cost_matrix *matrix, size_t model,
                                            size_t config);

/* The index of the model of that name, or of an equal configuration; SIZE_MAX: none. */
size_t rue_cost_matrix_model(const struct rue_cost_matrix *matrix, const char *name);
size_t rue_cost_matrix_config(const struct rue_cost_matrix *matrix, const struct rue_config *config);

/* Adds the time until the first batch of an ok repeat. RUE_USAGE unless it is finite and at least 0;
 * RUE_MEMORY. */
rue_status rue_cost_matrix_add_first_batch(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                           double first_batch_ns, rue_error *error) RUE_MUST_CHECK;

/* Sets the expected time until the first batch; used only if none was reported. */
void rue_cost_matrix_estimate_first_batch(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                          double first_batch_ns);

/* The configuration with the smallest maximum over models of the time until the first batch. False if no
 * configuration has that time for every model. */
bool rue_cost_matrix_earliest_first_batch(const struct rue_cost_matrix *matrix, size_t *config,
                                          double *first_batch_ns);

/* Adds `count` ok repeats: `times_ns` of the whole job, positive and finite; `predicted` if extrapolated from
 * truncated trials. Predictions are dropped once a full trial is added. RUE_USAGE for a time that is not
 * positive and finite, after adding those before it; RUE_MEMORY. */
rue_status rue_cost_matrix_add_repeats(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                       const double *times_ns, size_t count, bool predicted,
                                       rue_error *error) RUE_MUST_CHECK;

/* Adds one ok repeat. */
rue_status rue_cost_matrix_add(struct rue_cost_matrix *matrix, size_t model, size_t config, double time_ns,
                               bool predicted, rue_error *error) RUE_MUST_CHECK;

/* Sets a strategy's estimate of the job's time, in a cell without times and without unsuccessful trials.
 * `repeats`: how many trials of the cell the estimate uses; `predicted`: none of them ran the whole job;
 * `sd`: standard deviation of the logarithm of the time, or NaN. Replaces an earlier estimate. RUE_USAGE for
 * a time that is not positive and finite. */
rue_status rue_cost_matrix_estimate(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                    double time_ns, double sd, size_t repeats, bool predicted,
                                    rue_error *error) RUE_MUST_CHECK;

/* Adds a trial that was not ok. `reason` may be NULL; it is lost if memory runs out. A cell with ok repeats
 * changes only `missed` and `reason`. */
void rue_cost_matrix_add_failure(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                 enum rue_outcome outcome, const char *reason);

#endif
