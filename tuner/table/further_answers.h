/* What is gained over what people use anyway, and where too little is. */
#ifndef RUE_FURTHER_ANSWERS_H
#define RUE_FURTHER_ANSWERS_H

#include "findings.h"
#include "ranking_rules.h"

/* Fills in the gains of `baselines`, whose rows have columns of the matrix and names. A baseline is
 * recommended in place of the best configuration where whole jobs of both on every model do not prove that
 * one to be faster, and it is better by no more than half a point of regret, by the objective: of several
 * baselines the best. */
void rue_baseline_gains_find(const struct rue_cost_matrix *matrix, double confidence,
                             struct rue_selection *selection, struct rue_baseline_findings *baselines);

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
