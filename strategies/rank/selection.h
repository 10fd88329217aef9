/* The selection rules: a pure function from a cost matrix to a ranking. With models m and configurations c:
 *
 *   t(m,c)      the cell's median time of the job
 *   best(m)     min over ok cells of t(m,c)
 *   regret(m,c) (t(m,c) - best(m)) / best(m), a ratio; mean (weighted, where weights are given) and max over
 *               the models
 *
 * A configuration is ranked only when its cells are ok for every model. Each model votes for its N fastest
 * configurations; ties share a place, so a vote can hold more than N, and models count alike whatever they
 * weigh. The recommendation is the lowest mean regret, or the lowest worst regret where that is the objective
 * (ties by the mean), of those that were measured on every model; equal ones stay in grid order (the column
 * order of the matrix). */
#ifndef RUE_SELECTION_H
#define RUE_SELECTION_H

#include "cost_matrix.h"
#include "objective.h"

#define RUE_NONE SIZE_MAX

struct rue_selection_rules {
    size_t top_n; /* at least 1 */
    enum rue_objective objective;
    const double *weights; /* [models of the matrix], not negative; NULL: all alike. A model of weight 0 is as
                              if it were not there, but for its votes */
};

struct rue_ranking_row {
    size_t covered;           /* models with an ok cell */
    size_t infeasible;        /* models for which it is infeasible */
    size_t failed;            /* models for which it failed */
    bool ranked;              /* covered for every model */
    bool predicted;           /* some cell is a prediction */
    size_t repeats;           /* the smallest number of repeats of its cells; 0: some are but estimated */
    size_t missed;            /* trials of its ok cells that were not ok */
    double mean_regret_ratio; /* NaN unless ranked */
    double max_regret_ratio;  /* NaN unless ranked */
    size_t worst_model;       /* where the regret is largest, ties by name; RUE_NONE unless ranked */
    size_t top_n_count;       /* votes; counted for unranked configurations too */
};

struct rue_selection {
    size_t top_n;
    enum rue_objective objective;
    double *weights; /* [model_count]; NULL: all alike */
    size_t config_count, model_count;
    struct rue_ranking_row *rows;      /* [config_count], by column of the matrix */
    struct rue_regret_summary *joined; /* [config_count] what they are ranked by */
    size_t ranked_count;
    size_t *ranked;        /* [ranked_count] columns, best first by the objective */
    size_t *best_of_model; /* [model_count] the fastest column of each model; RUE_NONE when it has none */
    double *best_ns;       /* [model_count] its time; NaN when none */
    size_t recommended;    /* column; RUE_NONE when nothing is ranked that was measured */
    size_t top_n_winner;   /* the ranked column with the most votes, ties to the better ranked; RUE_NONE */
};

/* `rules` are borrowed for the call. RUE_MEMORY on failure. A matrix without any ranked configuration is no
 * error. */
rue_status rue_selection_open(const struct rue_cost_matrix *matrix, const struct rue_selection_rules *rules,
                              struct rue_selection **out, rue_error *error) RUE_MUST_CHECK;
void rue_selection_close(struct rue_selection *selection);

/* The regret of a cell as defined above; NaN when the cell is not ok. */
double rue_selection_regret(const struct rue_selection *selection, const struct rue_cost_matrix *matrix,
                            size_t model, size_t config);

/* Whether the objective ranks row `a` before row `b`; both ranked. */
bool rue_selection_is_better(const struct rue_selection *selection, size_t a, size_t b);

/* ---- one model left out ---- */

/* How a configuration may do for a model that was not measured: each model in turn is left out, what would be
 * recommended without it is looked up, and its regret for the model that was left out is the estimate. */
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
