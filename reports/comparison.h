/* Raw against preprocessed data, each at its own winner: what storing the data preprocessed would bring. */
#ifndef RUE_COMPARISON_H
#define RUE_COMPARISON_H

#include "findings.h"
#include "interval.h"

struct rue_comparison_row {
    const char *model;              /* borrowed from the raw variant's matrix */
    double raw_ns, preprocessed_ns; /* each variant's own job, at its winner */
    double speedup_ratio; /* time an image raw / time an image preprocessed; the same as of the times where
                             the jobs are equally long, as is assumed where neither job is known */
};

struct rue_comparison {
    const struct rue_variant_findings *raw, *preprocessed; /* borrowed */
    size_t row_count;
    struct rue_comparison_row *rows; /* [row_count] the models that both have, by name */
    double mean_speedup_ratio;       /* the geometric mean, as ratios ask for */
    double saved_ns_per_image; /* the arithmetic mean over the models; negative when slower; NaN when the
                                  images of the jobs are not known */
    struct rue_saving_interval saved; /* of that; confidence 0 where noise is not known */
};

/* Walks over the pairs of a raw and a preprocessed variant that can be compared: both have a recommendation
 * and a model in common, and both jobs are known, or neither. A zeroed struct stands before the first. */
struct rue_comparison_walk {
    size_t raw, preprocessed;
};

/* The next comparison, to be closed by the caller; `*out` is NULL behind the last one. The findings must live
 * as long. RUE_MEMORY. */
rue_status rue_comparison_next(const struct rue_findings *findings, struct rue_comparison_walk *walk,
                               struct rue_comparison **out, rue_error *error) RUE_MUST_CHECK;
void rue_comparison_close(struct rue_comparison *comparison);

#endif
