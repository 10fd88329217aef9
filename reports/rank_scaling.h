/* How the rate grows with the number of ranks (`rue scale --ranks`): strong scaling, where all ranks share
 * one job, and weak scaling, where each rank has that job. */
#ifndef RUE_RANK_SCALING_H
#define RUE_RANK_SCALING_H

#include "findings.h"
#include "section.h"

enum { RUE_RANK_POINTS_MAX = 16 };

struct rue_rank_point {
    size_t variant;    /* of the findings */
    double ranks;      /* their number */
    double rate;       /* images per second of all ranks; NaN: not measured */
    double efficiency; /* rate / (ranks * the rate of one rank) */
};

struct rue_rank_curve {
    const char *name; /* "strong" or "weak" */
    size_t count;
    size_t knee;                                   /* the last point before the efficiency falls below 0.8 */
    struct rue_rank_point at[RUE_RANK_POINTS_MAX]; /* [count] by number, from one rank */
};

/* The curve of a model on the data of `variant`, which has one rank. Without points for other variants. */
struct rue_rank_curve rue_rank_curve(const struct rue_findings *findings, size_t variant, size_t model,
                                     bool weak);

/* The point of a variant, or NULL. */
const struct rue_rank_point *rue_rank_curve_find(const struct rue_rank_curve *curve, size_t variant);

/* Adds, for each model on each data, sentences about the knees and a table of both curves; with `chart` also
 * a chart. */
void rue_rank_scaling_put(struct rue_page *page, const struct rue_findings *findings, bool chart);

#endif
