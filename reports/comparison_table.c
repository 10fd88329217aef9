#include "comparison_table.h"

#include <math.h>

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
static void describe_payback(const struct rue_payback *payback, char *out, size_t bytes)
{
    char epochs[RUE_FIGURE_BYTES], low[RUE_FIGURE_BYTES], high[RUE_FIGURE_BYTES], limits[96] = "";
    rue_prose_figure(payback->low, false, low);
    rue_prose_figure(payback->high, false, high);
    if (payback->confidence > 0) snprintf(limits, sizeof limits, " (%s to %s)", low, high);
    if (isfinite(payback->epochs))
        snprintf(out, bytes, "%s epochs%s", rue_prose_figure(payback->epochs, false, epochs), limits);
    else
        snprintf(out, bytes, "%s", isinf(payback->epochs) ? "never" : "-");
}

/* From the job of a side to the images that the table is for. */
static double scale_time(const struct rue_comparison *comparison, const struct rue_variant_findings *side,
                         double ns)
{
    double images = (double)timed_images(comparison);
    return images > 0 ? ns / (double)side->job.images * images : ns;
}

static void put_model(struct rue_page *page, const struct rue_comparison *comparison,
                      const struct rue_comparison_row *own)
{
    struct rue_payback payback = rue_comparison_payback(comparison, &own->saving, own->speedup_ratio);
    bool known = payback.confidence > 0;
    char words[160];
    describe_payback(&payback, words, sizeof words);
    const struct rue_table_column row[] = {
        {"model", "model", .text = own->model, .shrink_to = 16},
        {"before_ns", "before", RUE_UNIT_DURATION,
         .number = scale_time(comparison, comparison->before, own->before_ns), .drop = 1},
        {"after_ns", "after", RUE_UNIT_DURATION,
         .number = scale_time(comparison, comparison->after, own->after_ns), .drop = 2},
        {"speedup_ratio", "speed-up", RUE_UNIT_TIMES, .number = own->speedup_ratio},
        {NULL, "pays back after", .text = words},
        {"break_even_epochs", NULL, RUE_UNIT_NUMBER, .number = payback.epochs},
        {"confidence", NULL, RUE_UNIT_NUMBER, .number = known ? payback.confidence : NAN},
        {"low_epochs", NULL, RUE_UNIT_NUMBER, .number = known ? payback.low : NAN},
        {"high_epochs", NULL, RUE_UNIT_NUMBER, .number = known ? payback.high : NAN},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

void rue_comparison_put(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison)
{
    put_heading(page, findings, comparison);
    rue_page_gap(page);
    rue_page_table(page);
    for (size_t i = 0; i < comparison->row_count; i++) put_model(page, comparison, &comparison->rows[i]);
}
