/* Where the time of a whole job goes. */
#ifndef RUE_JOB_PARTS_H
#define RUE_JOB_PARTS_H

#include "breakdown.h"

/* The time of a cell of the cost matrix, and its parts, which sum up to it. Computing and copying are those
 * of its longest trials, or of a prediction, for the images of the job; the first batch and the shut-down
 * last as long in a job of any length. Waiting is the rest. */
struct rue_job_parts {
    enum rue_parts_basis { RUE_PARTS_UNKNOWN, RUE_PARTS_MEASURED, RUE_PARTS_PREDICTED } basis;
    double total_ns;           /* NaN: not ok */
    double ns[RUE_PART_COUNT]; /* NaN: unknown */
};

/* `variant` is one of the findings. `config` RUE_NONE: all is unknown. */
struct rue_job_parts rue_job_parts_find(const struct rue_findings *findings,
                                        const struct rue_breakdown *breakdown,
                                        const struct rue_variant_findings *variant, size_t model,
                                        size_t config);

/* The share of the time in which the model waits: it neither computes nor copies. NaN: unknown, or it never
 * computes. */
double rue_job_parts_waiting(const struct rue_job_parts *parts);

/* Images per second of all loaders over the whole job; NaN: not ok, or another goal or job is unknown. */
double rue_job_rate(const struct rue_variant_findings *variant, size_t model, size_t config);

#endif
