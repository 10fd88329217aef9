/* Parts of sentences. */
#ifndef RUE_PROSE_H
#define RUE_PROSE_H

#include "findings.h"
#include "section.h"
#include "wrap.h"

#define RUE_PROSE_PERCENT "%.1f" RUE_NO_BREAK "%%"

/* Adds text that should stay on one line. */
void rue_say_unbroken(struct rue_page *page, const char *text);

/* "batch_size 128, num_workers 8", which breaks only after a comma. */
void rue_say_config(struct rue_page *page, const struct rue_config *config);

/* The recommended configuration, with each knob that was searched. */
void rue_say_recommended(struct rue_page *page, const struct rue_variant_findings *variant);

/* The variant's name among the findings. */
void rue_say_variant(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant);

/* " of rank 3 of 8", " on each of 2 GPUs", or nothing. */
void rue_say_ranks(struct rue_page *page, const struct rue_variant_findings *variant);

/* Adds " (95 % CI 1.4 to 2.7 %)" with the unit " %"; "never" for infinity. Nothing if `confidence` is 0. */
void rue_say_interval(struct rue_page *page, double confidence, double low, double high, const char *unit);

/* "within the first epoch of training", "after 6 epochs of training"; with `confidence` an interval. */
void rue_say_payback(struct rue_page *page, double epochs, double confidence, double low, double high);

/* Adds `before`, the reason and `after`. A long reason is shortened; nothing is added for "". */
void rue_say_reason(struct rue_page *page, const char *before, const char *reason, const char *after);

/* One decimal below 10, or always with `tenths`; "never" for infinity. Returns `out`. */
enum { RUE_FIGURE_BYTES = 32 };
const char *rue_prose_figure(double value, bool tenths, char out[RUE_FIGURE_BYTES]);

/* For people: "95 % CI 1.24 to 1.39", or "measured once" without an interval. Returns `out`. */
enum { RUE_GAIN_BYTES = 96 };
const char *rue_prose_gain_interval(const struct rue_speedup *gain, char out[RUE_GAIN_BYTES]);

/* "" if the speed-up is proven or has no interval, else "slower" or "not proven to be faster". */
const char *rue_prose_judge_gain(const struct rue_speedup *gain);

/* "" or "s". */
const char *rue_prose_plural(uint64_t count);

#endif
