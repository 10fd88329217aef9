/* One trial of a study: what was requested, what came of it, where its time went, and what was expected. */
#ifndef RUE_TRIAL_PAGE_H
#define RUE_TRIAL_PAGE_H

#include "record.h"
#include "section.h"

struct rue_trial_life {
    const struct rue_record *record;
    const struct rue_findings *findings;        /* (optional) of the record */
    const struct rue_variant_findings *variant; /* its variant in them; NULL: not a trial of the last run */
    const struct rue_cell *cell;                /* of its model and configuration; NULL: none */
    struct rue_store_trial trial;
    double job_ns; /* time of the whole job by this trial alone; NaN: unknown */
    bool extended; /* job_ns extends a truncated trial */
    bool disturbed;
};

/* Reads trial `id`; call it once for a record. `findings` (nullable) are those of the record. RUE_USAGE: the
 * study has no such trial; RUE_STORE, RUE_MEMORY. The caller closes `out`, also on failure. */
rue_status rue_trial_life_read(const struct rue_record *record, const struct rue_findings *findings,
                               uint64_t id, struct rue_trial_life *out, rue_error *error) RUE_MUST_CHECK;
void rue_trial_life_close(struct rue_trial_life *life);

/* For people; style->brief: only some of its batches. RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_trial_write(const struct rue_trial_life *life, const struct rue_report_style *style,
                           FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* An object (docs/output.md). A new reference; NULL: out of memory. */
json_t *rue_trial_json(const struct rue_trial_life *life);

#endif
