/* Sentences as they are put together: a text that grows until its memory is full. It holds RUE_NO_BREAK
 * where no line should break, and is fit for a terminal (ASCII alone without `unicode`). */
#ifndef RUE_PROSE_H
#define RUE_PROSE_H

#include "findings.h"
#include "wrap.h"

#define RUE_PROSE_PERCENT "%.1f" RUE_NO_BREAK "%%" /* of a number of percents */

enum { RUE_PROSE_NAME_BYTES = 192 };

struct rue_prose {
    char *out;
    size_t bytes, used;
};

/* An empty text in `out` [bytes]. */
struct rue_prose rue_prose_start(char *out, size_t bytes);

void rue_prose_say(struct rue_prose *prose, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A figure and its unit, which stay on one line. */
void rue_prose_say_unbroken(struct rue_prose *prose, const char *text);

/* "batch_size 128, num_workers 8" that breaks only behind a comma. */
void rue_prose_say_config(struct rue_prose *prose, const struct rue_config *config);

/* What people call the variant, and what tells it from the others of the findings. */
void rue_prose_say_variant(struct rue_prose *prose, const struct rue_findings *findings,
                           const struct rue_variant_findings *variant, bool unicode);

/* The name of a model of the variant. */
void rue_prose_say_model(struct rue_prose *prose, const struct rue_variant_findings *variant, size_t model,
                         bool unicode);

/* An end of an interval: "1.4", or "< 0.1" where a tenth would be nothing. Blanks do not break. */
enum { RUE_PROSE_END_BYTES = 32 };
const char *rue_prose_end(double value, char out[RUE_PROSE_END_BYTES]);

/* Percents, to a tenth, of a ratio that something is at most: rounded up, as more is not known, and a tenth
 * at least. */
double rue_prose_bound_percent(double ratio);

/* When something pays: "within the first job", or "after 6 jobs", rounded up as it pays at their ends; "after
 * 5.3 jobs" where `exact`, beside an interval. */
void rue_prose_say_payback(struct rue_prose *prose, double times, bool exact, const char *what);

/* " (95 % CI 2.6 to 3.9)", or, where `high` is infinite, that it may never pay. */
void rue_prose_say_payback_interval(struct rue_prose *prose, double confidence, double low, double high);

/* "" or "s". */
const char *rue_prose_plural(uint64_t count);

#endif
