#include <stdlib.h>

#include "commands.h"
#include "difference.h"
#include "json_document.h"
#include "output.h"
#include "page_writers.h"
#include "prose.h"
#include "record.h"
#include "study_options.h"
#include "terminal.h"

static const struct rue_option options_table[] = {
    {"html", RUE_OPTION_OUTPUT, "FILE", NULL, "write a page with a heat map of the changes",
     .set_by = RUE_SET_BY_FLAG},
    {RUE_STUDY_OPTION_JSON},
    {RUE_STUDY_OPTION_QUIET},
};

struct pair {
    struct rue_record records[2];
    struct rue_findings *findings[2];
    size_t count;
    struct rue_difference **differences; /* [count] by variant of the first study; NULL: only there */
};

/* ---- reading ---- */

static rue_status read_study(const char *path, struct rue_record *record, struct rue_findings **out,
                             rue_error *error)
{
    rue_status status = rue_record_read(path, record, error);
    if (status != RUE_OK) return status;
    status = rue_record_check(record, "compare", error);
    if (status == RUE_OK) status = rue_record_findings(record, &record->last->rules, out, error);
    if (status != RUE_OK) rue_record_close(record);
    return status;
}

static rue_status compare_variants(struct pair *pair, rue_error *error)
{
    const struct rue_findings *const findings[2] = {pair->findings[0], pair->findings[1]};
    size_t common = 0;
    rue_status status = RUE_OK;
    pair->count = findings[0]->variant_count;
    pair->differences = calloc(pair->count + 1, sizeof *pair->differences);
    if (!pair->differences) return rue_fail_memory(error, "a comparison of studies", pair->count);
    for (size_t v = 0; status == RUE_OK && v < pair->count; v++) {
        status = rue_difference_open(findings, v, &pair->differences[v], error);
        const struct rue_difference *difference = pair->differences[v];
        if (difference && difference->common_models && difference->common_configs) common++;
    }
    if (status != RUE_OK || common) return status;
    return rue_fail(error, RUE_INCONCLUSIVE,
                    "%s and %s have no cell in common: compare studies of the same data format, models and "
                    "configurations",
                    findings[0]->folder, findings[1]->folder);
}

/* ---- output ---- */

static void make_page(const struct pair *pair, bool charts, struct rue_page *page)
{
    const struct rue_findings *const findings[2] = {pair->findings[0], pair->findings[1]};
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "From %s to %s:", findings[0]->folder, findings[1]->folder);
    rue_page_gap(page);
    for (size_t v = 0; v < pair->count; v++) {
        if (!pair->differences[v]) continue;
        if (!rue_findings_is_only(findings[0], &findings[0]->variants[v])) {
            rue_page_heading(page, 1);
            rue_say_variant(page, findings[0], &findings[0]->variants[v]);
        }
        rue_difference_put(page, pair->differences[v], charts);
        rue_page_gap(page);
    }
    rue_difference_put_circumstances(page, findings);
}

static json_t *make_json(const struct pair *pair)
{
    const struct rue_findings *const findings[2] = {pair->findings[0], pair->findings[1]};
    json_t *list = json_array();
    for (size_t v = 0; v < pair->count; v++)
        if (pair->differences[v]) rue_json_push(&list, rue_difference_json(pair->differences[v]));
    return rue_json_make(
        "format:t first:t second:t threshold_ratio:r differences:o only_first:o only_second:o variants:o",
        "rue.diff/1", pair->records[0].folder, pair->records[1].folder, RUE_DIFFERENCE_THRESHOLD,
        rue_difference_circumstances_json(findings), rue_difference_unmatched_json(findings, 0),
        rue_difference_unmatched_json(findings, 1), list);
}

static rue_status render_html(const void *context, FILE *stream, rue_error *error)
{
    const struct pair *pair = context;
    struct rue_page page = {0};
    json_t *root = make_json(pair);
    char *data = rue_json_dump(root, JSON_COMPACT);
    json_decref(root);
    make_page(pair, true, &page);
    rue_status status =
        data ? rue_page_write_html(&page, "rue: what changed between two studies", data, stream, error)
             : rue_fail_memory(error, "a page", 0);
    rue_page_close(&page);
    free(data);
    return status;
}

static rue_status write_html(const struct pair *pair, const char *path, bool quiet, rue_error *error)
{
    rue_status status = rue_output_write_file("--html", path, RUE_PAGE_HTML_MARK, render_html, pair, error);
    if (status == RUE_OK && !quiet) rue_terminal_print(stderr, "written: %s", path);
    return status;
}

static rue_status show(const struct pair *pair, const struct rue_options *options, rue_error *error)
{
    struct rue_page page = {0};
    const char *html = rue_options_text(options, "html");
    rue_status status = html ? write_html(pair, html, rue_options_flag(options, "quiet"), error) : RUE_OK;
    if (status != RUE_OK) return status;
    if (rue_options_flag(options, "json")) return rue_json_write(make_json(pair), stdout, error);
    make_page(pair, false, &page);
    return rue_terminal_show(&page, RUE_TABLE_COLUMNS, error);
}

static rue_status run_diff(const struct rue_options *options, rue_error *error)
{
    struct pair pair = {0};
    size_t opened = 0;
    rue_status status = RUE_OK;
    for (; status == RUE_OK && opened < 2; opened += status == RUE_OK)
        status = read_study(rue_options_arguments(options)[opened], &pair.records[opened],
                            &pair.findings[opened], error);
    if (status == RUE_OK) status = compare_variants(&pair, error);
    if (status == RUE_OK) status = show(&pair, options, error);
    for (size_t v = 0; pair.differences && v < pair.count; v++) rue_difference_close(pair.differences[v]);
    free(pair.differences);
    for (size_t i = 0; i < opened; i++) {
        rue_findings_close(pair.findings[i]);
        rue_record_close(&pair.records[i]);
    }
    return status;
}

const struct rue_command rue_command_diff = {
    .name = "diff",
    .arguments = "STUDY STUDY",
    .summary = "Show what changed from one study to another.",
    .details =
        "  rue diff rue-out/monday rue-out/tuesday\n"
        "  rue diff rue-out/server-a rue-out/server-b --html changes.html\n\n"
        "Compares two days, machines or loaders: which times changed beyond noise, whether the\n"
        "recommendation changes, what the first one costs in the second study, and what else differs.\n"
        "Data match by mode, format and dtype, several also by chunks and path; models by name.\n"
        "Nothing is measured.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_diff,
};
