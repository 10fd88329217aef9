/* Two variants of the data, each at its own winner: what the one brings that would be made from the other, as
 * preprocessed data from raw ones. */
#ifndef RUE_COMPARISON_H
#define RUE_COMPARISON_H

#include "findings.h"
#include "interval.h"
#include "section.h"

/* What is saved. */
struct rue_saving {
    double ns_per_image; /* negative when slower; NaN when the images of the jobs are not known */
    struct rue_saving_interval interval; /* of that; confidence 0 where noise is not known */
};

struct rue_comparison_row {
    const char *model;          /* borrowed from the first variant's matrix */
    double before_ns, after_ns; /* each variant's own job, at its winner */
    double speedup_ratio; /* time an image before / time an image after; the same as of the times where the
                             jobs are equally long, as is assumed where neither job is known */
    struct rue_saving saving;
};

struct rue_comparison {
    const struct rue_variant_findings *before, *after; /* borrowed */
    size_t row_count;
    struct rue_comparison_row *rows; /* [row_count] the models that both have, by name */
    double mean_speedup_ratio;       /* the geometric mean, as ratios ask for */
    struct rue_saving saving;        /* the arithmetic mean over the models */
};

/* Compares the two; `*out` is NULL where that cannot be done: both need a recommendation, by the time of the
 * job, and a model in common, and both jobs have to be known, or neither. Closed by the caller; the findings
 * must live as long. RUE_MEMORY. */
rue_status rue_comparison_open(const struct rue_variant_findings *before,
                               const struct rue_variant_findings *after, struct rue_comparison **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_comparison_close(struct rue_comparison *comparison);

/* Walks over the pairs of a raw and a preprocessed variant. A zeroed struct stands before the first. */
struct rue_comparison_walk {
    size_t before, after;
};

/* The next pair that can be compared; `*out` is NULL behind the last one. As rue_comparison_open. */
rue_status rue_comparison_next(const struct rue_findings *findings, struct rue_comparison_walk *walk,
                               struct rue_comparison **out, rue_error *error) RUE_MUST_CHECK;

/* After how many epochs converting `before` to `after` pays. */
struct rue_payback {
    double epochs;     /* INFINITY: it does not save anything; NaN: not known */
    double confidence; /* of the interval; 0: there is none */
    double low, high;  /* INFINITY: it may never pay */
};

/* By what is saved on a model, or on all, which is `speedup_ratio` times as fast. What saves less than 5 %
 * pays only where an interval says that it does save: it may be noise. */
struct rue_payback rue_comparison_payback(const struct rue_comparison *comparison,
                                          const struct rue_saving *saving, double speedup_ratio);

/* What the two are, as a sentence, and the time of an epoch of each model. (comparison_table.c) */
void rue_comparison_put(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison);

#endif
