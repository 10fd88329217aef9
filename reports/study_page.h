/* The page of a study: a poster, then sections: the answer in full, rankings, charts with their tables,
 * trials, and how it was measured. */
#ifndef RUE_STUDY_PAGE_H
#define RUE_STUDY_PAGE_H

#include "findings.h"
#include "section.h"

/* Adds the page; walks all trials. RUE_MEMORY. The caller closes `page` in any case, before the findings. */
rue_status rue_study_page_make(const struct rue_findings *findings, struct rue_page *page,
                               rue_error *error) RUE_MUST_CHECK;

/* Writes it as HTML with the findings as JSON. RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_study_page_write(const struct rue_page *page, const struct rue_findings *findings,
                                FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
