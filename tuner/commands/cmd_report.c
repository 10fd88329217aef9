#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "chart.h"
#include "commands.h"
#include "folder_lock.h"
#include "output.h"
#include "page_writers.h"
#include "record.h"
#include "study_options.h"
#include "study_page.h"
#include "terminal.h"

#define PLOTS "plots"

static const struct rue_option options_table[] = {
    {"out", RUE_OPTION_OUTPUT, "DIR", NULL, "folder for the report [the study's folder]",
     .set_by = RUE_SET_BY_USER},
    {"full", RUE_OPTION_FLAG, NULL, NULL, "write all of the page into report.md, not only its first screen"},
    {RUE_STUDY_OPTION_QUIET},
};

/* A page with what its writers need. */
struct book {
    const struct rue_page *page;
    const struct rue_findings *findings;
    bool full; /* of the Markdown */
};

static rue_status write_html(const void *context, FILE *stream, rue_error *error)
{
    const struct book *book = context;
    return rue_study_page_write(book->page, book->findings, stream, error);
}

static rue_status write_markdown(const void *context, FILE *stream, rue_error *error)
{
    const struct book *book = context;
    return rue_page_write_markdown(book->page, PLOTS, book->full, stream, error);
}

/* ---- plots ---- */

struct plot {
    const struct rue_section *table;
    const struct rue_chart *chart;
};

static rue_status write_svg(const void *context, FILE *stream, rue_error *error)
{
    const struct plot *plot = context;
    return rue_chart_write_file(plot->table, plot->chart, stream, error);
}

/* Conversions that run at the same time. */
enum { CONVERSIONS = 4 };
struct conversions {
    pid_t children[CONVERSIONS]; /* 0: none */
    bool failed;                 /* rsvg-convert is missing or failed; nothing more is converted */
};

static void end_conversion(struct conversions *conversions, size_t slot)
{
    int ended;
    pid_t child = conversions->children[slot], gone = 0;
    conversions->children[slot] = 0;
    if (!child) return;
    while ((gone = waitpid(child, &ended, 0)) < 0 && errno == EINTR) continue;
    conversions->failed |= gone != child || !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
}

/* Converts a plot to PNG beside it. */
static void begin_conversion(struct conversions *conversions, size_t slot, const char *folder,
                             const char *name)
{
    char svg[PATH_MAX + 128], png[PATH_MAX + 128];
    snprintf(svg, sizeof svg, "%s/%s.svg", folder, name);
    snprintf(png, sizeof png, "%s/%s.png", folder, name);
    const char *const words[] = {"rsvg-convert", "--zoom=2", "-o", png, "--", svg, NULL};
    end_conversion(conversions, slot);
    if (conversions->failed) return;
    conversions->failed =
        posix_spawnp(&conversions->children[slot], words[0], NULL, NULL, (char *const *)words, environ) != 0;
    if (conversions->failed) conversions->children[slot] = 0;
}

static rue_status write_plots(const struct rue_page *page, const char *plots, size_t *count, bool *png,
                              rue_error *error)
{
    struct conversions conversions = {0};
    rue_status status = RUE_OK;
    for (size_t i = 0; i < page->count; i++)
        for (size_t c = 0; status == RUE_OK && c < page->sections[i].chart_count; c++) {
            const struct plot plot = {&page->sections[i], &page->sections[i].charts[c]};
            char name[160];
            if (!rue_page_is_shown(page, i) || !rue_chart_is_drawn(plot.table, plot.chart)) continue;
            snprintf(name, sizeof name, "%s.svg", plot.chart->name);
            const struct rue_output output = {.folder = plots, .name = name, .mark = RUE_CHART_FILE_MARK};
            status = rue_output_write(&output, write_svg, &plot, error);
            if (status != RUE_OK) break;
            begin_conversion(&conversions, *count % CONVERSIONS, plots, plot.chart->name);
            ++*count;
        }
    for (size_t slot = 0; slot < CONVERSIONS; slot++) end_conversion(&conversions, slot);
    *png = !conversions.failed;
    return status;
}

/* ---- the report ---- */

static rue_status write_files(const struct book *book, const char *folder, bool quiet, rue_error *error)
{
    const struct rue_output html = rue_report_output(&rue_report_html, folder),
                            markdown = {
                                .folder = folder, .name = "report.md", .mark = RUE_PAGE_MARKDOWN_MARK};
    char plots[PATH_MAX];
    size_t plot_count = 0;
    bool png = false;
    if (snprintf(plots, sizeof plots, "%s/" PLOTS, folder) >= (int)sizeof plots - 128)
        return rue_fail(error, RUE_STORE, "%s: the path is too long: choose another folder with --out",
                        folder);
    rue_status status = rue_folder_make(plots, "--out", error);
    if (status == RUE_OK) status = rue_output_write(&html, write_html, book, error);
    if (status == RUE_OK) status = rue_output_write(&markdown, write_markdown, book, error);
    if (status == RUE_OK) status = write_plots(book->page, plots, &plot_count, &png, error);
    if (status == RUE_OK && !quiet)
        rue_terminal_print(stderr, "written: %s/%s, %s, %zu plots in " PLOTS "/ (SVG%s)", folder, html.name,
                           markdown.name, plot_count, png ? " and PNG" : "; for PNG install rsvg-convert");
    return status;
}

static rue_status report(struct rue_record *record, const struct rue_options *options, rue_error *error)
{
    struct rue_findings *findings;
    struct rue_page page = {0};
    rue_status status = rue_record_findings(record, &record->last->rules, &findings, error);
    if (status != RUE_OK) return status;
    const char *folder = rue_options_text(options, "out");
    const struct book book = {&page, findings, rue_options_flag(options, "full")};
    status = rue_study_page_make(findings, &page, error);
    if (status == RUE_OK) status = rue_record_check_list(record, error);
    if (status == RUE_OK)
        status =
            write_files(&book, folder ? folder : findings->folder, rue_options_flag(options, "quiet"), error);
    rue_page_close(&page);
    rue_findings_close(findings);
    return status;
}

static rue_status run_report(const struct rue_options *options, rue_error *error)
{
    struct rue_record record;
    rue_status status = rue_record_read_last(rue_options_arguments(options)[0], &record, error);
    if (status != RUE_OK) return status;
    status = rue_record_check(&record, "report", error);
    if (status == RUE_OK) status = report(&record, options, error);
    rue_record_close(&record);
    return status;
}

const struct rue_command rue_command_report = {
    .name = "report",
    .arguments = "STUDY",
    .summary = "Write a page with plots of a study: HTML, Markdown, SVG.",
    .details =
        "  rue report rue-out/photos\n"
        "  rue report rue-out/photos --out /tmp/report\n\n"
        "Writes report.html, one file that needs no network, report.md, which is its first screen to\n"
        "paste into an issue, and plots/*.svg. STUDY is the folder of a study or its study.db. It also\n"
        "works during a run.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_report,
};
