/* What is gained over what people use anyway, and where too little is. */
#ifndef RUE_STUDY_ANSWERS_H
#define RUE_STUDY_ANSWERS_H

#include "findings.h"
#include "json_document.h"
#include "json_reader.h"
#include "ranking_rules.h"

/* Fills in the gains of `baselines`, whose rows have columns of the matrix and names. A baseline is
 * recommended in place of the best configuration where whole jobs of both on every model do not prove that
 * one to be faster, and it is better by no more than half a point of regret, by the objective: of several
 * baselines the best. */
void rue_baseline_gains_find(const struct rue_cost_matrix *matrix, double confidence,
                             struct rue_selection *selection, struct rue_baseline_findings *baselines);

/* The rows in kept findings (kept_findings.h), without the gains: they are found anew. */
json_t *rue_baseline_gains_json(struct rue_json_document *document,
                                const struct rue_baseline_findings *baselines);

/* Reads member "baselines", whose columns are below `config_count`. None where an older rue wrote the rest.
 */
void rue_baseline_gains_read(struct rue_json_reader *reader, const json_t *object, size_t config_count,
                             struct rue_baseline_findings *out);

/* Fills in `overall` of the findings: for the raw variants, the preprocessed ones, and all of them, where
 * there are several with configurations in common. Must be closed also where it fails. RUE_MEMORY. */
rue_status rue_overall_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                            rue_error *error) RUE_MUST_CHECK;
void rue_overall_close(struct rue_findings *findings);

/* Fills in `answers`, owned, of every variant, `overall`, and `interval` and the bound where none was claimed
 * and repeats tell one. The memory of batches in flight is known of our own loader. Must be closed also where
 * it fails. RUE_MEMORY.
 */
rue_status rue_further_answers_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                                    rue_error *error) RUE_MUST_CHECK;
void rue_further_answers_close(struct rue_findings *findings);

#endif
