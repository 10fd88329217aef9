/* Cells of a cost matrix that hold no time, and why. */
#ifndef RUE_MISSES_H
#define RUE_MISSES_H

#include "cost_matrix.h"

struct rue_misses {
    size_t cells;                          /* of the matrix */
    size_t infeasible, failed, unmeasured; /* cells */
    const char *reason;  /* the most frequent one that a trial gave, borrowed from the matrix; NULL when there
                            is none */
    size_t reason_cells; /* that gave it */
};

/* RUE_MEMORY. */
rue_status rue_misses_count(const struct rue_cost_matrix *matrix, struct rue_misses *out,
                            rue_error *error) RUE_MUST_CHECK;

/* Why nothing is ranked, one line of text. */
void rue_misses_explain(const struct rue_misses *misses, char *out, size_t bytes);

#endif
