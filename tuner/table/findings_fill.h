/* Computes findings from cost matrices, for every command that shows findings. */
#ifndef RUE_FINDINGS_FILL_H
#define RUE_FINDINGS_FILL_H

#include "findings.h"
#include "ranking_rules.h"

/* Ranks a matrix by `rules`, and fills in the gains of `baselines`, whose rows have names and columns of the
 * matrix. The best baseline replaces the best configuration as the recommendation if two conditions hold: it
 * has at most 0.5 points more regret, and whole jobs of both on every model do not prove it slower. The
 * caller closes `*out`. RUE_MEMORY. */
rue_status rue_findings_rank(const struct rue_cost_matrix *matrix, const struct rue_ranking_rules *rules,
                             struct rue_baseline_findings *baselines, struct rue_selection **out,
                             rue_error *error) RUE_MUST_CHECK;

/* Does the same for all variants, which have matrices and facts, and fills in `overall`. Adds an interval and
 * a bound if none is claimed, there are repeats, and the machine was steady. The memory of batches is known
 * only for rue's loader. RUE_USAGE as rue_ranking_rules_check, RUE_MEMORY. */
rue_status rue_findings_fill(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                             rue_error *error) RUE_MUST_CHECK;

/* Frees findings that were allocated, with matrices, selections and answers. */
void rue_findings_close(struct rue_findings *findings);

/* Fills in `overall`: the raw variants, the preprocessed ones, and all of them, each if there are several
 * with common configurations. Close it even if this fails. RUE_MEMORY. */
rue_status rue_overall_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                            rue_error *error) RUE_MUST_CHECK;
void rue_overall_close(struct rue_findings *findings);

/* RUE_OK if every variant has a recommendation, and all are decided. RUE_INCONCLUSIVE: not decided, or none
 * yet, as the run ended early; else RUE_INFEASIBLE. The results are shown all the same. */
rue_status rue_findings_check_answer(const struct rue_findings *findings, rue_error *error) RUE_MUST_CHECK;

#endif
