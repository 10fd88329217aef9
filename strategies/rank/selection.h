/* The selection rules: a pure function from a cost matrix to a ranking. For models m and configurations c:
 *
 *   t(m,c)      the cell's median time of the job
 *   best(m)     min of t(m,c) over ok cells
 *   regret(m,c) (t(m,c) - best(m)) / best(m), a ratio; its mean (weighted, if there are weights) and maximum
 *
 * A configuration is ranked only if its cells are ok for every model. Each model votes for its N fastest
 * configurations. Ties share a place, so a model can have more than N votes; votes are not weighted. The
 * recommendation has the lowest value of the objective (ties: the mean) of all ranked configurations whose
 * predicted cells have a known uncertainty. If it was not measured on every model, the best one that was is
 * preferred within RUE_MEASURED_ADVANTAGE. Remaining ties keep grid order (the matrix's column order). */
#ifndef RUE_SELECTION_H
#define RUE_SELECTION_H

#include "cost_matrix.h"
#include "objective.h"

#define RUE_NONE SIZE_MAX

struct rue_selection_rules {
    size_t top_n; /* at least 1 */
    enum rue_objective objective;
    const double *weights; /* [models], at least 0; NULL: equal. With weight 0 a model only votes */
};

struct rue_ranking_row {
    size_t covered;           /* models with an ok cell */
    size_t infeasible;        /* models for which it is infeasible */
    size_t failed;            /* models for which it failed */
    bool ranked;              /* covered for every model */
    bool predicted;           /* some cell is a prediction */
    size_t repeats;           /* smallest number of repeats of its cells; 0: some are only estimated */
    bool uncertain;           /* an untried cell has an estimate of unknown uncertainty */
    size_t missed;            /* unsuccessful trials of its ok cells */
    double mean_regret_ratio; /* NaN unless ranked */
    double max_regret_ratio;  /* NaN unless ranked */
    size_t worst_model;       /* with the largest regret, ties by name; RUE_NONE unless ranked */
    size_t top_n_count;       /* votes, also of configurations that are not ranked */
};

struct rue_selection {
    size_t top_n;
    enum rue_objective objective;
    double *weights; /* [model_count]; NULL: equal */
    size_t config_count, model_count;
    struct rue_ranking_row *rows;         /* [config_count], by column of the matrix */
    struct rue_regret_summary *summaries; /* [config_count] regrets over all models */
    size_t ranked_count;
    size_t *ranked;        /* [ranked_count] columns, best first by the objective */
    size_t *best_of_model; /* [model_count] fastest column of each model; RUE_NONE: none */
    double *best_ns;       /* [model_count] its time; NaN when none */
    size_t recommended;    /* column; RUE_NONE: none */
    size_t top_n_winner;   /* ranked column with the most votes, ties by rank; RUE_NONE */
};

/* Borrows `rules` for the call. RUE_MEMORY on failure. A matrix without ranked configurations is not an
 * error. */
rue_status rue_selection_open(const struct rue_cost_matrix *matrix, const struct rue_selection_rules *rules,
                              struct rue_selection **out, rue_error *error) RUE_MUST_CHECK;
void rue_selection_close(struct rue_selection *selection);

/* The regret of a cell as defined above; NaN if it is not ok. */
double rue_selection_regret(const struct rue_selection *selection, const struct rue_cost_matrix *matrix,
                            size_t model, size_t config);

/* The value of the objective, NaN unless ranked; smaller is better. */
double rue_selection_value(const struct rue_selection *selection, size_t config);

/* Whether the objective ranks row `a` before row `b`; both are ranked. */
bool rue_selection_is_better(const struct rue_selection *selection, size_t a, size_t b);

/* Estimates the regret on a model that was not measured (Stone 1974). Each model is left out in turn: the
 * other models recommend a configuration, and its regret on the model left out is an estimate. */
struct rue_leave_one_out_row {
    size_t config;       /* recommended without this model; RUE_NONE: none */
    double regret_ratio; /* its regret on the model left out; NaN: it did not run there */
};

struct rue_leave_one_out {
    size_t model_count;
    struct rue_leave_one_out_row *rows;         /* [model_count] */
    size_t known;                               /* rows with a regret */
    double mean_regret_ratio, max_regret_ratio; /* of these; the mean is weighted by the rules */
    size_t worst_model;                         /* with the largest regret, the first one */
};

/* The smallest number of models for which the estimate is made. */
enum { RUE_LEAVE_ONE_OUT_MODELS = 3 };

/* Applies the rules of `selection`, which belongs to this matrix. `*out` is NULL with fewer than
 * RUE_LEAVE_ONE_OUT_MODELS models, or if no row has a regret. RUE_MEMORY. */
rue_status rue_leave_one_out_open(const struct rue_cost_matrix *matrix, const struct rue_selection *selection,
                                  struct rue_leave_one_out **out, rue_error *error) RUE_MUST_CHECK;
void rue_leave_one_out_close(struct rue_leave_one_out *left);

#endif
