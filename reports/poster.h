/* The first screen of a study's page: the answer, four figures, code to paste, caveats, and two charts. */
#ifndef RUE_POSTER_H
#define RUE_POSTER_H

#include "breakdown.h"
#include "report_compare.h"
#include "section.h"

/* The variant whose figures and charts it shows: the fastest of a comparison, else the first one with a
 * recommendation, else the first. `compared`: NULL if it is not a comparison. */
size_t rue_poster_subject(const struct rue_findings *findings, const struct rue_compared *compared);

/* Adds it. `notes`: the heading that its caveats lead to. RUE_MEMORY. */
rue_status rue_poster_put(struct rue_page *page, const struct rue_findings *findings,
                          const struct rue_breakdown *breakdown, const struct rue_compared *compared,
                          const char *notes, rue_error *error) RUE_MUST_CHECK;

/* "The answer for raw folder other". Returns `out`. */
enum { RUE_POSTER_HEADING_BYTES = PATH_MAX + 256 };
const char *rue_poster_heading(const struct rue_findings *findings, size_t v,
                               char out[RUE_POSTER_HEADING_BYTES]);

/* Adds a section of this heading: the same for another variant. */
void rue_poster_put_other(struct rue_page *page, const struct rue_findings *findings,
                          const struct rue_breakdown *breakdown, size_t v, const char *notes);

#endif
