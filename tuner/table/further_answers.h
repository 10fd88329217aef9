/* Gains over baselines, configurations for several variants, and other answers that need only a ranking. */
#ifndef RUE_FURTHER_ANSWERS_H
#define RUE_FURTHER_ANSWERS_H

#include "findings.h"
#include "ranking_rules.h"

/* Fills in the gains of `baselines`, whose rows have names and columns of the matrix. The best baseline is
 * recommended instead of the best configuration if two conditions hold: that is at most 0.5 points of
 * regret better, and whole jobs of both on every model do not prove it to be faster. */
void rue_baseline_gains_find(const struct rue_cost_matrix *matrix, double confidence,
                             struct rue_selection *selection, struct rue_baseline_findings *baselines);

/* Fills in `overall`: the raw variants, the preprocessed ones, and all of them, each if there are several
 * with common configurations. Close it even if this fails. RUE_MEMORY. */
rue_status rue_overall_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                            rue_error *error) RUE_MUST_CHECK;
void rue_overall_close(struct rue_findings *findings);

/* Fills in `overall`, and for every variant `answers` (owned), and `interval` and the bound if none was
 * claimed and there are repeats. The memory of batches is known only for rue's loader. Close it even if this
 * fails. RUE_MEMORY. */
rue_status rue_further_answers_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                                    rue_error *error) RUE_MUST_CHECK;
void rue_further_answers_close(struct rue_findings *findings);

#endif
