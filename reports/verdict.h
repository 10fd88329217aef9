/* What the findings mean, in sentences: each function adds to the sentence that was begun last on the page,
 * nothing where there is nothing to say. */
#ifndef RUE_VERDICT_H
#define RUE_VERDICT_H

#include "comparison.h"
#include "section.h"

/* The closing sentence: what to use, for what job, whose consumer, and what is gained over what people use
 * anyway; or why nothing can be recommended. */
void rue_verdict_use(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant);

/* Why no configuration is ranked, without a full stop. */
void rue_verdict_why_none(struct rue_page *page, const struct rue_variant_findings *variant);

/* The one configuration for several variants, and what it costs each of them. */
void rue_verdict_overall(struct rue_page *page, const struct rue_overall *overall);

/* Sentences of their own about a variant: what is to be known of its trials, why what ranks above the
 * recommended configuration or has more votes is not recommended, for which lengths of the job the answer is
 * another one (not where `brief`), and what is not ranked. (verdict_notes.c) */
void rue_verdict_notes(struct rue_page *page, const struct rue_variant_findings *variant, bool brief);

/* Why the configuration with the most votes is not the one recommended. (verdict_notes.c) */
void rue_verdict_votes(struct rue_page *page, const struct rue_variant_findings *variant);

/* The answers beside the winner: how many configurations keep every model near its best, and which; which
 * models have a much better one of their own; what a model that was not measured may lose; what would need
 * less memory. (verdict_notes.c) */
void rue_verdict_answers(struct rue_page *page, const struct rue_variant_findings *variant);

/* What the preprocessed data bring, what they take on the disk, and when converting them pays off. */
void rue_verdict_comparison(struct rue_page *page, const struct rue_comparison *comparison);

/* What to mind when the loader that was measured is not the one that will run. */
void rue_verdict_loader(struct rue_page *page, const struct rue_findings *findings);

/* That the run ended early. */
void rue_verdict_partial(struct rue_page *page, const struct rue_findings *findings);

#endif
