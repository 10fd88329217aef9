/* Two variants, model by model. */
#include <math.h>

#include "comparison.h"
#include "prose.h"
#include "units.h"

/* Images that the times are for: a rank's share of an epoch, else the job; 0: neither length is known. */
static uint64_t timed_images(const struct rue_comparison *comparison)
{
    uint64_t job = comparison->before->job.images, data = comparison->before->data.images;
    uint64_t ranks = (uint64_t)rue_findings_ranks(comparison->before);
    return job && data ? (data + ranks - 1) / ranks : job;
}

static void put_heading(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison)
{
    const struct rue_variant_findings *sides[] = {comparison->before, comparison->after};
    char label[RUE_CONFIG_TEXT_BYTES], count[RUE_UNIT_TEXT_BYTES];
    uint64_t images = timed_images(comparison);
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    for (int i = 0; i < 2; i++) {
        rue_config_label(&sides[i]->matrix->configs[sides[i]->selection->recommended], label);
        rue_say(page, i ? " to " : "From ");
        rue_say_variant(page, findings, sides[i]);
        rue_say(page, " (%s)", label);
    }
    rue_say(page, ", each with its own best configuration: time of ");
    if (images)
        rue_say(page, "%s image%s", rue_format_count(images, count, sizeof count), rue_prose_plural(images));
    else
        rue_say(page, "the job");
}

/* "2.1 epochs (1.9 to 2.6)" */
static void put_payback(struct rue_page *page, const struct rue_payback *payback)
{
    char epochs[RUE_FIGURE_BYTES], low[RUE_FIGURE_BYTES], high[RUE_FIGURE_BYTES], limits[96] = "";
    rue_prose_figure(payback->low, false, low);
    rue_prose_figure(payback->high, false, high);
    if (payback->confidence > 0) snprintf(limits, sizeof limits, " (%s to %s)", low, high);
    if (isfinite(payback->epochs))
        rue_put_words(page, "%s epochs%s", rue_prose_figure(payback->epochs, false, epochs), limits);
    else
        rue_put_text(page, isinf(payback->epochs) ? "never" : "-");
    rue_put_number(page, payback->epochs);
    rue_put_number(page, payback->confidence > 0 ? payback->confidence : NAN);
    rue_put_number(page, payback->confidence > 0 ? payback->low : NAN);
    rue_put_number(page, payback->confidence > 0 ? payback->high : NAN);
}

static void put_table(struct rue_page *page, const struct rue_comparison *comparison)
{
    static const struct rue_table_column columns[] = {
        {.header = "model", .key = "model", .shrink_to = 16},
        {.header = "before", .key = "before_ns", .unit = RUE_UNIT_DURATION, .drop = 1},
        {.header = "after", .key = "after_ns", .unit = RUE_UNIT_DURATION, .drop = 2},
        {.header = "speed-up", .key = "speedup_ratio", .unit = RUE_UNIT_TIMES},
        {.header = "pays back after"},
        {.key = "break_even_epochs", .unit = RUE_UNIT_NUMBER},
        {.key = "confidence", .unit = RUE_UNIT_NUMBER},
        {.key = "low_epochs", .unit = RUE_UNIT_NUMBER},
        {.key = "high_epochs", .unit = RUE_UNIT_NUMBER}};
    const struct rue_variant_findings *before = comparison->before, *after = comparison->after;
    double images = (double)timed_images(comparison);
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct rue_comparison_row *row = &comparison->rows[i];
        struct rue_payback payback = rue_comparison_payback(comparison, &row->saving, row->speedup_ratio);
        rue_page_row(page, false);
        rue_put_text(page, row->model);
        rue_put_number(page,
                       images > 0 ? row->before_ns / (double)before->job.images * images : row->before_ns);
        rue_put_number(page, images > 0 ? row->after_ns / (double)after->job.images * images : row->after_ns);
        rue_put_number(page, row->speedup_ratio);
        put_payback(page, &payback);
    }
}

void rue_comparison_put(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison)
{
    put_heading(page, findings, comparison);
    rue_page_gap(page);
    put_table(page, comparison);
}
