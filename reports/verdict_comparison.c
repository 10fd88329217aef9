/* Whether preprocessed data are faster, and when converting them pays back. */
#include <math.h>

#include "prose.h"
#include "units.h"
#include "verdict.h"

static bool never_pays(const struct rue_comparison *comparison, size_t row)
{
    const struct rue_comparison_row *at = &comparison->rows[row];
    return isinf(rue_comparison_payback(comparison, &at->saving, at->speedup_ratio).epochs);
}

/* "never for 2 of 4 models: a, b" */
static void say_never(struct rue_page *page, const struct rue_comparison *comparison, size_t never)
{
    enum { NAMED_MODELS = 2 };
    size_t named = 0;
    rue_say(page, "never for %zu" RUE_NO_BREAK "of" RUE_NO_BREAK "%zu models: ", never,
            comparison->row_count);
    for (size_t i = 0; i < comparison->row_count; i++)
        if (never_pays(comparison, i) && named++ < NAMED_MODELS)
            rue_say(page, "%s%s", named > 1 ? ", " : "", comparison->rows[i].model);
    if (named > NAMED_MODELS) rue_say(page, " and %zu" RUE_NO_BREAK "more", named - NAMED_MODELS);
}

void rue_verdict_payback(struct rue_page *page, const struct rue_comparison *comparison, const char *lead)
{
    struct rue_payback all =
        rue_comparison_payback(comparison, &comparison->saving, comparison->mean_speedup_ratio);
    size_t never = 0, models = comparison->row_count;
    bool pays = all.epochs < 1e9;
    for (size_t i = 0; i < models; i++) never += never_pays(comparison, i);
    if (!pays && !never) return;
    rue_say(page, "%s%s", lead, never == models ? "never pays back" : "pays back ");
    if (never == models) return;
    if (pays) rue_say(page, "%s", models > 1 ? "on average " : "");
    if (pays) rue_say_payback(page, all.epochs, all.confidence, all.low, all.high);
    if (pays && never) rue_say(page, ", but ");
    if (never) say_never(page, comparison, never);
}

static void say_price(struct rue_page *page, const struct rue_comparison *comparison)
{
    const struct rue_variant_findings *raw = comparison->before, *preprocessed = comparison->after;
    char a[RUE_UNIT_TEXT_BYTES], b[RUE_UNIT_TEXT_BYTES];
    double images = (double)raw->data.images;
    double build_ns = preprocessed->data.build_s_per_image * images * (double)RUE_NS_PER_S;
    if (build_ns >= 1 && build_ns < 1e18) {
        rue_say(page, " Converting all %s images takes about ",
                rue_format_count(raw->data.images, a, sizeof a));
        rue_say_unbroken(page, rue_format_duration((uint64_t)build_ns, b, sizeof b));
        rue_verdict_payback(page, comparison, " and ");
        rue_say(page, ".");
    }
    if (raw->data.bytes && preprocessed->data.bytes && raw->data.images && preprocessed->data.images) {
        double bytes = (double)preprocessed->data.bytes / (double)preprocessed->data.images * images;
        rue_say(page, " Preprocessed data need ");
        rue_say_unbroken(page, rue_format_bytes((uint64_t)bytes, a, sizeof a));
        rue_say(page, " of storage, raw data ");
        rue_say_unbroken(page, rue_format_bytes(raw->data.bytes, b, sizeof b));
        rue_say(page, ".");
    }
}

void rue_verdict_comparison(struct rue_page *page, const struct rue_comparison *comparison)
{
    double min = INFINITY, max = 0;
    for (size_t i = 0; i < comparison->row_count; i++) {
        min = fmin(min, comparison->rows[i].speedup_ratio);
        max = fmax(max, comparison->rows[i].speedup_ratio);
    }
    char times[3][RUE_UNIT_TEXT_BYTES];
    rue_say(page, "Preprocessed data make the job %s times as fast",
            rue_format_times(comparison->mean_speedup_ratio, times[0], sizeof *times));
    if (comparison->row_count > 1)
        rue_say(page, " (geometric mean over %zu models; from %s to %s)", comparison->row_count,
                rue_format_times(min, times[1], sizeof *times),
                rue_format_times(max, times[2], sizeof *times));
    rue_say(page, ".");
    say_price(page, comparison);
}
