/* A study of recorded times: what a strategy would have cost, and how good its answer would be. */
#ifndef RUE_STUDY_RECORDING_H
#define RUE_STUDY_RECORDING_H

#include "study_ledger.h"

/* Reads the table and opens a runner that answers with its times. */
rue_status rue_study_open_recording(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Whether the table, if there is one, has that cell. */
bool rue_study_has_cell(const struct rue_study_setup *setup, size_t variant, size_t model, size_t config);

/* Seconds of one run of each cell of variant `index` (RUE_NONE: of all). The second function converts a
 * budget that is a share of it to a time. */
double rue_study_recording_s(const struct rue_study_setup *setup, size_t index);
rue_status rue_study_resolve_budget(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Whether J is assumed, because neither the table nor an option gives it. */
bool rue_study_assumes_job(const struct rue_study_setup *setup);

/* The recommendation's regret by the times of the table. */
rue_status rue_study_judge_recording(const struct rue_study_setup *setup,
                                     const struct rue_study_ledger *ledger, size_t index,
                                     const struct rue_variant_findings *variant, struct rue_replayed *out,
                                     rue_error *error) RUE_MUST_CHECK;

#endif
