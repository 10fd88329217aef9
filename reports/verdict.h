/* What the findings mean, in sentences. They hold RUE_NO_BREAK where no line should break, and are fit for a
 * terminal (ASCII alone without `unicode`). Long ones are cut at `bytes`. "" where there is nothing to say.
 */
#ifndef RUE_VERDICT_H
#define RUE_VERDICT_H

#include "comparison.h"

enum { RUE_VERDICT_BYTES = 4096 };

/* The closing sentence: what to use, for what job, whose consumer; or why nothing can be recommended.
 * RUE_MEMORY. */
rue_status rue_verdict_use(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                           bool unicode, char *out, size_t bytes, rue_error *error) RUE_MUST_CHECK;

/* The one configuration for several variants, and what it costs each of them. */
void rue_verdict_overall(const struct rue_overall *overall, bool unicode, char *out, size_t bytes);

/* Where recorded times were replayed: what the strategy spent of them, and what they say of its answer. */
void rue_verdict_replayed(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* That images were replaced as they could not be decoded. */
void rue_verdict_replaced(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* That trials were disturbed. */
void rue_verdict_disturbed(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* That trials were not warm, or cold, as they claim. */
void rue_verdict_cache(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* That sleeping models woke so late that it matters, or "". */
void rue_verdict_late(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* For which lengths of the job the answer is another one. */
void rue_verdict_lengths(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* Why configurations rank above the one that is recommended. */
void rue_verdict_above(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* Why the configuration with the most votes is not the one recommended. */
void rue_verdict_votes(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes);

/* Which configurations are not ranked, and why. */
void rue_verdict_unranked(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes);

/* What the preprocessed data bring, what they take on the disk, and when converting them pays off. */
void rue_verdict_comparison(const struct rue_comparison *comparison, char *out, size_t bytes);

/* What to mind when the loader that was measured is not the one that will run. */
void rue_verdict_loader(const struct rue_findings *findings, char *out, size_t bytes);

/* That the run ended early. */
void rue_verdict_partial(const struct rue_findings *findings, bool unicode, char *out, size_t bytes);

#endif
