/* Two variants of the data, each with its own best configuration. The second is made from the first. */
#ifndef RUE_COMPARISON_H
#define RUE_COMPARISON_H

#include "findings.h"
#include "interval.h"

struct rue_saving {
    double ns_per_image;                 /* negative when slower; NaN: unknown */
    struct rue_saving_interval interval; /* confidence 0: unknown noise */
};

struct rue_comparison_row {
    const char *model;          /* borrowed from the first variant's matrix */
    double before_ns, after_ns; /* time of each variant's job */
    double speedup_ratio;       /* time per image before / after */
    struct rue_saving saving;
};

struct rue_comparison {
    const struct rue_variant_findings *before, *after; /* borrowed */
    size_t row_count;
    struct rue_comparison_row *rows; /* [row_count] common models, by name */
    double mean_speedup_ratio;       /* geometric */
    struct rue_saving saving;        /* arithmetic mean over the models */
};

/* `*out` is NULL if the two cannot be compared: each needs a recommendation for the time of the job, both
 * need a common model, and the length of the job has to be known for both or for neither. So it is where the
 * machine was too unsteady. The caller closes it before the findings. RUE_MEMORY. */
rue_status rue_comparison_open(const struct rue_findings *findings, const struct rue_variant_findings *before,
                               const struct rue_variant_findings *after, struct rue_comparison **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_comparison_close(struct rue_comparison *comparison);

/* A position among the pairs of a raw and a preprocessed variant; {0}: before the first. */
struct rue_comparison_walk {
    size_t before, after;
};

/* The next pair that can be compared; `*out` is NULL after the last one. Errors as rue_comparison_open. */
rue_status rue_comparison_next(const struct rue_findings *findings, struct rue_comparison_walk *walk,
                               struct rue_comparison **out, rue_error *error) RUE_MUST_CHECK;

/* The number of epochs after which converting `before` to `after` pays back. */
struct rue_payback {
    double epochs;     /* INFINITY: never; NaN: unknown */
    double confidence; /* of the interval; 0: none */
    double low, high;  /* INFINITY: maybe never */
};

/* The payback for one model, or for all. Savings below 5 % count only if their interval proves them. */
struct rue_payback rue_comparison_payback(const struct rue_comparison *comparison,
                                          const struct rue_saving *saving, double speedup_ratio);

#endif
