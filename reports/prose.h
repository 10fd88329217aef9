/* What sentences on a page are made of. */
#ifndef RUE_PROSE_H
#define RUE_PROSE_H

#include "findings.h"
#include "section.h"
#include "wrap.h"

#define RUE_PROSE_PERCENT "%.1f" RUE_NO_BREAK "%%" /* of a number of percents */

/* A figure and its unit, or a path, which stays on one line where it can. */
void rue_say_unbroken(struct rue_page *page, const char *text);

/* "batch_size 128, num_workers 8" that breaks only behind a comma. */
void rue_say_config(struct rue_page *page, const struct rue_config *config);

/* What people call the variant, and what tells it from the others of the findings. */
void rue_say_variant(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant);

/* " (95 % CI 1.4 to 2.7 %)" with the unit " %"; an infinite end is "never". Nothing where `confidence` is 0.
 */
void rue_say_interval(struct rue_page *page, double confidence, double low, double high, const char *unit);

/* When something pays: "within the first epoch", or "after 6 epochs", rounded up as it pays at their ends;
 * where `confidence` is not 0 "after 5.3 epochs (95 % CI 2.6 to 7.9)". */
void rue_say_payback(struct rue_page *page, double epochs, double confidence, double low, double high);

/* ": out of memory", shortened where it is long; nothing where there is no reason. */
void rue_say_reason(struct rue_page *page, const char *before, const char *reason, const char *after);

/* Percents, to a tenth, of a ratio that something is at most: rounded up, as more is not known, and a tenth
 * at least. */
double rue_prose_bound_percent(double ratio);

/* One digit behind the point below 10, and above with `tenths`; "never" for infinity. Returns `out`. */
enum { RUE_FIGURE_BYTES = 32 };
const char *rue_prose_figure(double value, bool tenths, char out[RUE_FIGURE_BYTES]);

/* "" or "s". */
const char *rue_prose_plural(uint64_t count);

#endif
