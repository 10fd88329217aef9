/* What the findings mean, in sentences: each function adds to the sentence that was begun last on the page,
 * nothing where there is nothing to say. */
#ifndef RUE_VERDICT_H
#define RUE_VERDICT_H

#include "comparison.h"
#include "section.h"

/* What to use, and its regret; or why nothing can be recommended. */
void rue_verdict_use(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant);

/* What kept the machine busy; nothing where it was idle. */
void rue_verdict_confidence(struct rue_page *page, const struct rue_findings *findings);

/* Why no configuration is ranked, without a full stop. */
void rue_verdict_why_none(struct rue_page *page, const struct rue_variant_findings *variant);

/* The one configuration for several variants, and its regret on each. */
void rue_verdict_overall(struct rue_page *page, const struct rue_overall *overall);

/* Below a variant's table, a sentence each: repeats that failed, the bound on other configurations, the gain
 * over usual ones, and which models wait for data. There is a recommendation. */
void rue_verdict_evidence(struct rue_page *page, const struct rue_variant_findings *variant);

/* Likewise: disturbed trials and the like, what is not ranked, and, unless `brief`, why what ranks above the
 * recommended configuration or has more votes is not recommended, and other job lengths. (verdict_notes.c) */
void rue_verdict_notes(struct rue_page *page, const struct rue_variant_findings *variant, bool brief);

/* The answers beside the winner: how many configurations keep every model near its best, and which; which
 * models have a much better one of their own; what a model that was not measured may lose; what would need
 * less memory. (verdict_notes.c) */
void rue_verdict_answers(struct rue_page *page, const struct rue_variant_findings *variant);

/* What the preprocessed data bring, what they take on the disk, and when converting them pays off. */
void rue_verdict_comparison(struct rue_page *page, const struct rue_comparison *comparison);

/* At the end, a sentence each: changes of the machine, what regret is, and `bounds`, what was simulated.
 * (verdict_notes.c) */
void rue_verdict_background(struct rue_page *page, const struct rue_findings *findings, bool bounds);

/* That the run ended early. */
void rue_verdict_partial(struct rue_page *page, const struct rue_findings *findings);

#endif
