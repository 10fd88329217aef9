/* Raw against preprocessed data, each at its own winner: what storing the data preprocessed would bring. */
#ifndef RUE_COMPARISON_H
#define RUE_COMPARISON_H

#include "findings.h"

struct rue_comparison_row {
    const char *model;              /* borrowed from the raw variant's matrix */
    double raw_ns, preprocessed_ns; /* each variant's own job, at its winner */
    double speedup_ratio; /* time an image raw / time an image preprocessed; the same as of the times where
                             the jobs are equally long */
};

struct rue_comparison {
    const struct rue_variant_findings *raw, *preprocessed; /* borrowed */
    size_t row_count;
    struct rue_comparison_row *rows; /* [row_count] the models that both have, in the raw variant's order */
    double mean_speedup_ratio;       /* the geometric mean, as ratios ask for */
    double saved_ns_per_image;       /* the arithmetic mean over the models; negative when slower */
};

/* True when `raw` and `preprocessed` are of these modes, both have a recommendation and a model in common. */
bool rue_comparison_possible(const struct rue_variant_findings *raw,
                             const struct rue_variant_findings *preprocessed);

/* For a pair that is possible; both variants must live as long. RUE_MEMORY. */
rue_status rue_comparison_open(const struct rue_variant_findings *raw,
                               const struct rue_variant_findings *preprocessed, struct rue_comparison **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_comparison_close(struct rue_comparison *comparison);

#endif
