/* What the runs of a study found, kept in its store (docs/store.md): rules of the ranking, facts of the run
 * and of each variant, changes of the machine, disturbed trials. Everything else in a report is computed from
 * these. */
#ifndef RUE_KEPT_FINDINGS_H
#define RUE_KEPT_FINDINGS_H

#include "recommendation_file.h"
#include "store.h"

/* The name for the store's rows of a scenario, of any model. `workload` is canonical. */
void rue_kept_scenario(const struct rue_store_origin *origin, const struct rue_trial_request *request,
                       const char *workload, char out[RUE_SCENARIO_BYTES]);

/* Saves what the run found; replaces what it had saved. `row` has the disturbed trials, and the run whose
 * findings are the result: this one (rue_store_run_id) or an earlier one; RUE_ABSENT while the run is under
 * way. Variants without a matrix have only a scenario. RUE_STORE, RUE_MEMORY. */
rue_status rue_kept_save(struct rue_store *store, const struct rue_findings *findings,
                         const struct rue_ranking_rules *rules, struct rue_store_result row,
                         rue_error *error) RUE_MUST_CHECK;

/* Reads what the run of row `index` of the table result knew, with its result; `path` is the store's, for
 * messages. The caller closes `*out` with rue_recommendation_close. RUE_STORE: a value is invalid;
 * RUE_MEMORY. */
rue_status rue_kept_read(struct rue_store *store, const struct rue_store_rows *results, size_t index,
                         const char *path, struct rue_recommendation **out, rue_error *error) RUE_MUST_CHECK;

/* The last result of earlier runs, of any study, and the run that found it. NULL: none. Otherwise as above.
 */
rue_status rue_kept_read_last(struct rue_store *store, int64_t *run_id, struct rue_recommendation **out,
                              rue_error *error) RUE_MUST_CHECK;

/* The findings, filled by `rules`. The caller closes `out` with rue_findings_close; it borrows from `kept`
 * and acquires its matrices, so call this once. The run's claims are dropped if its rules rank differently.
 * Fails as rue_findings_fill. */
rue_status rue_kept_rank(struct rue_recommendation *kept, const struct rue_ranking_rules *rules,
                         struct rue_findings **out, rue_error *error) RUE_MUST_CHECK;

#endif
