/* Parts of a study's report, for the terminal and for pages. */
#ifndef RUE_REPORT_PARTS_H
#define RUE_REPORT_PARTS_H

#include "findings.h"
#include "section.h"

/* What to use, in bold sentences. RUE_MEMORY. */
rue_status rue_parts_verdict(struct rue_page *page, const struct rue_findings *findings, bool brief,
                             rue_error *error) RUE_MUST_CHECK;

/* A variant: its ranking, and sentences about it. */
void rue_parts_variant(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, bool brief);

/* Compares raw with preprocessed data. With `tables`: a table for each pair, and a sentence if there are
 * several pairs. Else only a sentence, if there is one pair. RUE_MEMORY. */
rue_status rue_parts_comparisons(struct rue_page *page, const struct rue_findings *findings, bool tables,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
