/* One configuration for several variants: the selection rules over all of their scenarios, model by model and
 * variant by variant. */
#ifndef RUE_OVERALL_H
#define RUE_OVERALL_H

#include "findings.h"
#include "ranking_rules.h"

/* Fills in `overall` of the findings: for the raw variants, the preprocessed ones, and all of them, where
 * there are several with configurations in common. Must be closed also where it fails. RUE_MEMORY. */
rue_status rue_overall_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                            rue_error *error) RUE_MUST_CHECK;
void rue_overall_close(struct rue_findings *findings);

#endif
