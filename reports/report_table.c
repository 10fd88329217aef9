/* The terminal's view of a study: the verdict, a table for each variant, and notes. */
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "loading_code.h"
#include "page_writers.h"
#include "program_name.h"
#include "rank_scaling.h"
#include "report.h"
#include "report_parts.h"
#include "shell_quote.h"
#include "verdict.h"

enum { NARROWEST = 40 };

static void put_maps(struct rue_page *page, const struct rue_findings *findings, size_t variant, bool brief)
{
    struct rue_chart_subject subject;
    rue_chart_subject_make(findings, variant, &subject);
    rue_page_gap(page);
    if (findings->variants[variant].selection->ranked_count) {
        rue_charts_map(page, &subject);
        if (!brief) rue_charts_knobs(page, &subject);
    }
    rue_page_gap(page);
}

static rue_status put_page(struct rue_page *page, const struct rue_findings *findings,
                           const struct rue_breakdown *breakdown, const struct rue_report_style *style,
                           rue_error *error)
{
    bool recommended = false, bounds = false, brief = style->brief;
    rue_status status = rue_parts_verdict(page, findings, brief, error);
    if (rue_findings_compares_ranks(findings)) return rue_rank_scaling_put(page, findings, false), status;
    for (size_t v = 0; v < findings->variant_count; v++) {
        rue_parts_ranking(page, findings, &findings->variants[v], brief);
        rue_parts_notes(page, findings, breakdown, &findings->variants[v], brief);
        rue_page_gap(page);
        if (style->maps) put_maps(page, findings, v, brief);
        recommended |= findings->variants[v].selection->recommended != RUE_NONE;
        bounds |= findings->variants[v].claim.confidence > 0;
    }
    if (status == RUE_OK && !brief) status = rue_parts_comparisons(page, findings, true, error);
    if (recommended) rue_verdict_background(page, findings, bounds);
    char word[RUE_SHELL_WORD_BYTES];
    rue_page_sentence(page, RUE_LOOK_DIM, 0);
    if (brief && recommended)
        rue_say(page, "More: %s show %s --details; all configurations: --json.", rue_program_name(),
                rue_shell_word(findings->folder, word));
    if (brief && recommended && rue_findings_runner_is_own(findings))
        rue_loading_code_put(page, findings, &findings->variants[0], RUE_LOOK_PLAIN, 2);
    return status;
}

/* Sorts the variants: a run and its store list them in different orders. */
static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    struct rue_findings sorted = *findings;
    struct rue_report_style wide = *style;
    struct rue_page page = {0};
    size_t bytes = (findings->variant_count + 1) * sizeof *sorted.variants;
    sorted.variants = malloc(bytes);
    if (!sorted.variants) return rue_fail_memory(error, "the table", bytes);
    for (size_t v = 0; v < findings->variant_count; v++) sorted.variants[v] = findings->variants[v];
    qsort(sorted.variants, findings->variant_count, sizeof *sorted.variants, rue_findings_compare);
    if (wide.columns > 0 && wide.columns < NARROWEST) wide.columns = NARROWEST;
    struct rue_breakdown *breakdown = NULL;
    rue_status status = rue_breakdown_open(&sorted, &breakdown, error);
    if (status == RUE_OK) status = put_page(&page, &sorted, breakdown, style, error);
    if (status == RUE_OK) status = rue_page_write(&page, &wide, stream, error);
    rue_page_close(&page);
    rue_breakdown_close(breakdown);
    free(sorted.variants);
    return status;
}

const struct rue_report rue_report_table = {.name = "table", .file = NULL, .render = render};
