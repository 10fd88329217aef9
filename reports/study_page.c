#include "study_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "page_writers.h"
#include "poster.h"
#include "prose.h"
#include "rank_scaling.h"
#include "report.h"
#include "report_parts.h"
#include "units.h"
#include "verdict.h"

/* ---- how it was found ---- */

static void put_fact(struct rue_page *page, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put_fact(struct rue_page *page, const char *name, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!text[0]) return;
    const struct rue_table_column row[] = {{NULL, "what", .text = name}, {NULL, "value", .text = text}};
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

static void put_provenance(struct rue_page *page, const struct rue_findings *findings,
                           const struct rue_breakdown *breakdown)
{
    const struct rue_run_findings *run = &findings->run;
    bool corrected = findings->changes.notice_count || rue_findings_corrects_contention(findings);
    const struct rue_machine_findings *machine = &findings->machine;
    char text[RUE_UNIT_TEXT_BYTES] = "", memory[RUE_UNIT_TEXT_BYTES] = "";
    rue_page_table(page);
    put_fact(page, "command", "%s",
             strstr(run->command_line, " --runner-fd") ? "made by a program that ran rue"
                                                       : run->command_line);
    put_fact(page, "started", "%s", run->started);
    if (run->duration_s > 0)
        put_fact(page, "took", "%s",
                 rue_format_duration((uint64_t)(run->duration_s * 1e9), text, sizeof text));
    if (breakdown->trial_count) put_fact(page, "trials", "%zu", breakdown->trial_count);
    if (run->reused_trials) put_fact(page, "of earlier runs", "%zu trials", run->reused_trials);
    put_fact(page, "strategy", "%s%s%s", run->strategy, run->strategy_why[0] ? ": " : "", run->strategy_why);
    if (breakdown->trial_count) put_fact(page, "seed", "%" PRIu64, run->seed);
    put_fact(page, "loader", "%s%s%s%s", findings->runner.measured_with, findings->runner.name[0] ? " (" : "",
             findings->runner.name, findings->runner.name[0] ? ")" : "");
    put_fact(page, "times of models", "%s", findings->runner.consumer);
    put_fact(page, "times of jobs", "%s",
             corrected ? "corrected for other programs and changes of speed; as measured in trials.csv"
                       : "as measured");
    put_fact(page, "CPU", "%s", machine->cpu);
    if (machine->usable_cpus) put_fact(page, "usable CPUs", "%d", machine->usable_cpus);
    if (machine->memory_bytes)
        put_fact(page, "memory", "%s", rue_format_bytes(machine->memory_bytes, memory, sizeof memory));
    put_fact(page, "kernel", "%s", machine->kernel);
    put_fact(page, "libraries", "%s", machine->libraries);
    put_fact(page, "rue", "%s", run->rue_version);
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        if (variant->job.deployment.ranks > 1 && rue_findings_compares_ranks(findings)) continue;
        if (variant->variant.path[0] && !variant->data.sample)
            put_fact(page, "data", "%s", variant->variant.path);
        put_fact(page, "digest", "%s", variant->data.digest);
    }
}

/* ---- the page ---- */

static const char notes_heading[] = "The answer in full, and its caveats";

/* A heading that names the variant, if there are several. */
static void put_topic(struct rue_page *page, const struct rue_chart_subject *subject, const char *topic)
{
    rue_page_heading(page, 1);
    rue_say(page, "%s%s%s", topic, subject->name[0] ? ": " : "", subject->name);
}

static void put_variant(struct rue_page *page, const struct rue_findings *findings, size_t v,
                        const struct rue_breakdown *breakdown)
{
    struct rue_chart_subject subject;
    rue_chart_subject_make(findings, v, &subject);
    put_topic(page, &subject, "Ranking");
    rue_parts_ranking(page, findings, subject.variant, false);
    rue_charts_answers(page, &subject);
    put_topic(page, &subject, "Other knobs");
    rue_charts_knobs(page, &subject);
    put_topic(page, &subject, "Where the time goes");
    rue_charts_breakdown(page, &subject, breakdown);
    put_topic(page, &subject, "Times of all configurations");
    rue_charts_times(page, &subject);
}

static rue_status put_notes(struct rue_page *page, const struct rue_findings *findings,
                            const struct rue_breakdown *breakdown, rue_error *error)
{
    bool bounds = false;
    rue_page_heading(page, 1);
    rue_say(page, "%s", notes_heading);
    rue_status status = rue_parts_verdict(page, findings, false, error);
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        rue_page_sentence(page, RUE_LOOK_BOLD, 0);
        if (findings->variant_count > 1) rue_say_variant(page, findings, variant);
        rue_parts_notes(page, findings, breakdown, variant, false);
        bounds |= variant->claim.confidence > 0;
    }
    rue_verdict_background(page, findings, bounds);
    return status;
}

static rue_status put_comparisons(struct rue_page *page, const struct rue_findings *findings,
                                  rue_error *error)
{
    struct rue_comparison_walk walk = {0};
    rue_page_heading(page, 1);
    rue_say(page, "Raw against preprocessed data");
    rue_status status = rue_parts_comparisons(page, findings, true, error);
    for (struct rue_comparison *comparison = NULL; status == RUE_OK; rue_comparison_close(comparison)) {
        status = rue_comparison_next(findings, &walk, &comparison, error);
        if (status != RUE_OK || !comparison) return status;
        rue_charts_payback(page, findings, comparison);
    }
    return status;
}

static rue_status put_study(struct rue_page *page, const struct rue_findings *findings,
                            const struct rue_breakdown *breakdown, const struct rue_compared *compared,
                            rue_error *error)
{
    size_t subject = rue_poster_subject(findings, compared);
    page->folds = true;
    rue_status status = rue_poster_put(page, findings, breakdown, compared, notes_heading, error);
    if (compared) {
        rue_page_heading(page, 1);
        rue_say(page, "Variants, model by model");
        rue_compared_put_details(page, compared, false);
    }
    if (status == RUE_OK) status = put_notes(page, findings, breakdown, error);
    for (size_t v = 0; v < findings->variant_count; v++) {
        if (v != subject) rue_poster_put_other(page, findings, breakdown, v, notes_heading);
        put_variant(page, findings, v, breakdown);
    }
    return status;
}

static rue_status put_page(struct rue_page *page, const struct rue_findings *findings,
                           const struct rue_breakdown *breakdown, rue_error *error)
{
    struct rue_compared *compared = NULL;
    rue_status status = RUE_OK;
    if (rue_findings_compares_ranks(findings)) {
        status = rue_parts_verdict(page, findings, false, error);
        rue_rank_scaling_put(page, findings, true);
    } else if (findings->variant_count) {
        if (rue_compared_is(findings)) status = rue_compared_open(findings, &compared, error);
        if (status == RUE_OK) status = put_study(page, findings, breakdown, compared, error);
        rue_compared_close(compared);
    }
    if (status == RUE_OK) status = put_comparisons(page, findings, error);
    rue_page_heading(page, 1);
    rue_say(page, "How it was measured, and all trials");
    put_provenance(page, findings, breakdown);
    rue_charts_timeline(page, findings, breakdown);
    return status;
}

rue_status rue_study_page_make(const struct rue_findings *findings, struct rue_page *page, rue_error *error)
{
    struct rue_breakdown *breakdown;
    rue_status status = rue_breakdown_open(findings, &breakdown, error);
    if (status != RUE_OK) return status;
    status = put_page(page, findings, breakdown, error);
    rue_breakdown_close(breakdown);
    return status;
}

rue_status rue_study_page_write(const struct rue_page *page, const struct rue_findings *findings,
                                FILE *stream, rue_error *error)
{
    char title[300], *data = NULL;
    snprintf(title, sizeof title, "%s: data loader study by rue",
             findings->study[0] ? findings->study : "unnamed");
    rue_status status = rue_report_json_text(findings, &data, error);
    if (status == RUE_OK) status = rue_page_write_html(page, title, data, stream, error);
    free(data);
    return status;
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    (void)style;
    rue_status status = rue_study_page_make(findings, &page, error);
    if (status == RUE_OK) status = rue_study_page_write(&page, findings, stream, error);
    rue_page_close(&page);
    return status;
}

const struct rue_report rue_report_html = {
    .name = "html", .file = "report.html", .mark = RUE_PAGE_HTML_MARK, .render = render};
