/* Parts of a study's report, for the terminal and for pages. */
#ifndef RUE_REPORT_PARTS_H
#define RUE_REPORT_PARTS_H

#include "breakdown.h"
#include "section.h"

/* What to use, in bold sentences. RUE_MEMORY. */
rue_status rue_parts_verdict(struct rue_page *page, const struct rue_findings *findings, bool brief,
                             rue_error *error) RUE_MUST_CHECK;

/* A variant: its ranking, and further answers. */
void rue_parts_ranking(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, bool brief);

/* Sentences about its recommendation and its trials; nothing without a recommendation. */
void rue_parts_notes(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_breakdown *breakdown, const struct rue_variant_findings *variant,
                     bool brief);

/* Compares raw with preprocessed data. With `tables`: a table for each pair, and a sentence if there are
 * several pairs. Else only a sentence, if there is one pair. RUE_MEMORY. */
rue_status rue_parts_comparisons(struct rue_page *page, const struct rue_findings *findings, bool tables,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
