/* One trial of a study: what was requested, what came of it, where its time went, and what was expected. */
#ifndef RUE_TRIAL_PAGE_H
#define RUE_TRIAL_PAGE_H

#include <jansson.h>

#include "findings.h"
#include "section.h"

struct rue_trial_life {
    const char *study;                          /* its name; borrowed */
    const struct rue_findings *findings;        /* (optional) of the study */
    const struct rue_variant_findings *variant; /* its variant in them; NULL: not a trial of the last run */
    const struct rue_cell *cell;                /* of its model and configuration; NULL: none */
    struct rue_trial_row row;                   /* its result has the times of batches */
    char recorded[32];                          /* when it was stored */
    char runner[128];
    char machine[32];
    double job_ns;   /* time of the whole job by this trial alone; NaN: unknown */
    bool extended;   /* job_ns extends a truncated trial */
    bool own_runner; /* rue's own; false if that is unknown */
    bool of_table;   /* a row of a table; the path is the name of a mode */
    bool of_sample;  /* on the sample of a study, which is removed at its end */
};

/* For people; style->brief: only some of its batches. RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_trial_write(const struct rue_trial_life *life, const struct rue_report_style *style,
                           FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* An object (docs/output.md). A new reference; NULL: out of memory. */
json_t *rue_trial_json(const struct rue_trial_life *life);

#endif
