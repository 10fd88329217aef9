/* How far two studies agree about which configurations are faster: one of simulated models, say, and one of
 * real ones. */
#ifndef RUE_AGREEMENT_H
#define RUE_AGREEMENT_H

#include "findings.h"

/* A model of one and the same model of the other, be it on another device. */
struct rue_agreement {
    char variant[128];         /* of the data, by which those of the studies are matched */
    const char *model, *other; /* borrowed from the findings */
    size_t configs;            /* measured in both */
    double rank_agreement;     /* Kendall's tau-b of their times; NaN where all of one are equal */
};

/* Those that there are, `most` of them at most. RUE_DATA where the studies have no model and variant in
 * common, RUE_MEMORY. */
rue_status rue_agreement_find(const struct rue_findings *one, const struct rue_findings *other,
                              struct rue_agreement *out, size_t most, size_t *count,
                              rue_error *error) RUE_MUST_CHECK;

#endif
