/* Variants of the same data, each with its own best configuration and compared with the first: the output of
 * `rue compare`, and the same on a page. */
#ifndef RUE_REPORT_COMPARE_H
#define RUE_REPORT_COMPARE_H

#include "findings.h"
#include "section.h"

/* Whether `rue compare` made the study. */
bool rue_compared_is(const struct rue_findings *findings);

/* Borrows the findings. RUE_MEMORY. The caller closes `*out`. */
struct rue_compared;
rue_status rue_compared_open(const struct rue_findings *findings, struct rue_compared **out,
                             rue_error *error) RUE_MUST_CHECK;
void rue_compared_close(struct rue_compared *compared);

/* The variant to use; RUE_NONE: none can be compared. */
size_t rue_compared_fastest(const struct rue_compared *compared);

/* Adds which variant to use, and a table of all. */
void rue_compared_put_answer(struct rue_page *page, const struct rue_compared *compared);

/* Adds what a longer queue gains, the fastest store, and a table of models for each pair. `brief`: as
 * rue_verdict_queue. */
void rue_compared_put_details(struct rue_page *page, const struct rue_compared *compared, bool brief);

#endif
