/* The page of a study: the verdict, then charts with their tables, then how it was measured. */
#ifndef RUE_STUDY_PAGE_H
#define RUE_STUDY_PAGE_H

#include "findings.h"
#include "section.h"

/* Adds the page; walks all trials. RUE_MEMORY. The caller closes `page` in any case, before the findings. */
rue_status rue_study_page_make(const struct rue_findings *findings, struct rue_page *page,
                               rue_error *error) RUE_MUST_CHECK;

/* "rue: photos". Returns `out`. */
enum { RUE_STUDY_TITLE_BYTES = 300 };
const char *rue_study_page_title(const struct rue_findings *findings, char out[RUE_STUDY_TITLE_BYTES]);

#endif
