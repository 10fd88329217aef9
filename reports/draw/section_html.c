/* One HTML document: no other file, no network, and readable without scripts. The script sorts tables, says
 * which are wider than the window, and opens the section that a link leads to; the policy allows no other
 * one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "markup.h"
#include "page_texts.h"
#include "page_writers.h"

/* The hash of page.js, for the policy. */
#define SCRIPT_HASH "sha256-JEKHNRv0MBNKXbdeoiE4OvwTOqPfkbqrWApuqcjGHwg="

/* Rows have no end tags, which are optional, and no classes: a page has thousands of cells. */
static rue_status put_row(const struct rue_section *table, size_t row, FILE *stream, rue_error *error)
{
    fputs(table->rows[row].chosen ? "<tr class=\"c\">" : "<tr>", stream);
    for (size_t c = 0; c < table->column_count; c++) {
        if (!rue_column_is_shown(table, c)) continue;
        char *text = rue_value_text(&table->columns[c], &table->rows[row].values[c], true);
        if (!text) return rue_fail_memory(error, "a table", table->row_count);
        fputs("<td>", stream);
        rue_markup_put(stream, text);
        free(text);
    }
    fputc('\n', stream);
    return RUE_OK;
}

/* Classes n1, n2, ... align columns to the right. */
static rue_status put_table(const struct rue_section *table, FILE *stream, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t shown = 0;
    fputs("<div class=\"w\"><table class=\"", stream);
    for (size_t c = 0; c < table->column_count; c++) {
        if (!rue_column_is_shown(table, c)) continue;
        shown++;
        if (rue_column_is_right(&table->columns[c])) fprintf(stream, "n%zu ", shown);
    }
    fputs("\"><thead><tr>", stream);
    for (size_t c = 0; c < table->column_count; c++) {
        if (!rue_column_is_shown(table, c)) continue;
        fputs("<th scope=\"col\" data-s=\"\">", stream);
        rue_markup_put(stream, table->columns[c].header);
    }
    fputs("<tbody>\n", stream);
    for (size_t r = 0; status == RUE_OK && r < table->row_count; r++)
        status = put_row(table, r, stream, error);
    fputs("</table></div>\n", stream);
    return status;
}

static rue_status put_numbers(const struct rue_section *table, FILE *stream, rue_error *error)
{
    fprintf(stream, "<details><summary>The numbers (%zu rows)</summary>", table->row_count);
    rue_status status = put_table(table, stream, error);
    fputs("</details>\n", stream);
    return status;
}

static rue_status put_figure(const struct rue_section *table, const struct rue_chart *chart, FILE *stream,
                             rue_error *error)
{
    fputs("<figure id=\"", stream);
    rue_markup_put(stream, chart->name);
    fputs("\"><figcaption>", stream);
    rue_markup_put(stream, chart->title);
    if (chart->note) {
        fputs(" <span>", stream);
        rue_markup_put(stream, chart->note);
        fputs("</span>", stream);
    }
    fputs("</figcaption>\n", stream);
    return rue_chart_write(table, chart, stream, error);
}

/* The numbers are below the chart or, of several charts, below all of them. */
static rue_status put_charts(const struct rue_section *table, FILE *stream, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t drawn = 0;
    for (size_t i = 0; i < table->chart_count; i++) drawn += rue_chart_is_drawn(table, &table->charts[i]);
    for (size_t i = 0; status == RUE_OK && i < table->chart_count; i++) {
        if (!rue_chart_is_drawn(table, &table->charts[i])) continue;
        status = put_figure(table, &table->charts[i], stream, error);
        if (status == RUE_OK && drawn == 1) status = put_numbers(table, stream, error);
        fputs("</figure>\n", stream);
    }
    if (status != RUE_OK || drawn == 1) return status;
    return (drawn ? put_numbers : put_table)(table, stream, error);
}

static void put_figures(const struct rue_section *table, FILE *stream)
{
    fputs("<dl>", stream);
    for (size_t r = 0; r < table->row_count; r++) {
        const struct rue_value *values = table->rows[r].values;
        fputs("<div><dt>", stream);
        rue_markup_put(stream, values[1].text);
        fputs("<dd>", stream);
        rue_markup_put(stream, values[0].text);
        fputs("<dd class=\"d\">", stream);
        rue_markup_put(stream, values[2].text);
        fputs("</div>\n", stream);
    }
    fputs("</dl>\n", stream);
}

/* ---- texts ---- */

/* The number of the section that is the heading; that of no section: none. */
static size_t find_heading(const struct rue_page *page, const char *text)
{
    size_t i = 0;
    while (i < page->count && (page->sections[i].kind != RUE_SECTION_HEADING || !rue_page_is_shown(page, i) ||
                               strcmp(page->sections[i].text, text) != 0))
        i++;
    return i;
}

static void put_sentence(const struct rue_page *page, const struct rue_section *section, FILE *stream)
{
    static const char *const looks[RUE_LOOK_COUNT] = {"", " class=\"b\"", " class=\"d\"", ""};
    size_t to = section->link ? find_heading(page, section->link) : page->count;
    if (section->look != RUE_LOOK_CODE) fprintf(stream, "<p%s>", looks[section->look]);
    if (to < page->count) fprintf(stream, "<a href=\"#part-%zu\">", to);
    rue_markup_put(stream, section->text);
    fputs(to < page->count ? "</a>" : "", stream);
    fputs(section->look == RUE_LOOK_CODE ? "\n" : "</p>\n", stream);
}

static void put_contents(const struct rue_page *page, FILE *stream)
{
    fputs("<nav aria-label=\"Contents\">", stream);
    for (size_t i = 0; i < page->count; i++) {
        const struct rue_section *section = &page->sections[i];
        if (section->kind != RUE_SECTION_HEADING || section->indent > 1 || !rue_page_is_shown(page, i))
            continue;
        fprintf(stream, "<a href=\"#part-%zu\">", i);
        rue_markup_put(stream, section->text);
        fputs("</a> ", stream);
    }
    fputs("</nav>\n", stream);
}

/* ---- the page ---- */

struct layout {
    const struct rue_page *page;
    FILE *stream;
    bool texts;  /* an element of texts is open */
    bool code;   /* an element of lines to copy is open in it */
    bool tabled; /* it has a table */
    bool headed; /* the poster has ended */
};

static void set_texts(struct layout *layout, bool texts, bool code)
{
    if (layout->code && !code) fputs("</code></pre>\n", layout->stream);
    if (texts != layout->texts) fputs(texts ? "<div class=\"t\">" : "</div>\n", layout->stream);
    if (code && !layout->code) fputs("<pre><code>", layout->stream);
    layout->tabled &= texts;
    layout->texts = texts;
    layout->code = code;
}

static void put_heading(struct layout *layout, size_t number)
{
    const struct rue_section *section = &layout->page->sections[number];
    bool folds = layout->page->folds;
    set_texts(layout, false, false);
    if (section->indent > 1) {
        fprintf(layout->stream, "<h3 id=\"part-%zu\">", number);
        rue_markup_put(layout->stream, section->text);
        fputs("</h3>\n", layout->stream);
        return;
    }
    fputs(layout->headed && folds ? "</div></details>\n" : "</div>\n", layout->stream);
    fputs(folds ? "<details class=\"s\"><summary><h2>" : "<h2>", layout->stream);
    rue_markup_put(layout->stream, section->text);
    fprintf(layout->stream, "</h2>%s\n<div class=\"g\" id=\"part-%zu\">\n", folds ? "</summary>" : "",
            number);
    layout->headed = true;
}

/* The answer has a row of the poster. Texts, figures and tables that follow each other share a column, until
 * a gap after a table; charts have a place each. */
static rue_status put_section(struct layout *layout, size_t number, rue_error *error)
{
    const struct rue_section *section = &layout->page->sections[number];
    bool sentence = section->kind == RUE_SECTION_SENTENCE,
         answer = layout->page->folds && !layout->headed && section->look == RUE_LOOK_BOLD;
    if (section->kind == RUE_SECTION_GAP && layout->tabled) set_texts(layout, false, false);
    if (!rue_page_is_shown(layout->page, number)) return RUE_OK;
    if (section->kind == RUE_SECTION_HEADING) return put_heading(layout, number), RUE_OK;
    set_texts(layout, !section->chart_count && !answer, sentence && section->look == RUE_LOOK_CODE);
    if (section->figures) return put_figures(section, layout->stream), RUE_OK;
    if (sentence) return put_sentence(layout->page, section, layout->stream), RUE_OK;
    layout->tabled = layout->texts;
    return put_charts(section, layout->stream, error);
}

static void put_head(const char *title, FILE *stream)
{
    fputs(RUE_PAGE_HTML_MARK
          "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"generator\" content=\"rue " RUE_VERSION "\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; "
          "script-src '" SCRIPT_HASH "'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          stream);
    rue_markup_put(stream, title);
    fprintf(stream,
            "</title>\n<style>%s%s</style>\n</head>\n<body>\n<svg class=\"c q\" "
            "aria-hidden=\"true\">",
            rue_chart_css, rue_page_css);
    rue_chart_write_definitions(stream);
    fputs("</svg>\n<main>\n<h1>", stream);
    rue_markup_put(stream, title);
    fputs("</h1>\n", stream);
}

/* A script element ends at "</script", wherever it stands. */
static void put_data(const char *data, FILE *stream)
{
    fputs("<script type=\"application/json\" id=\"data\">", stream);
    for (const char *at = data; *at; at++) {
        if (*at == '<')
            fputs("\\u003c", stream);
        else
            fputc(*at, stream);
    }
    fputs("</script>\n", stream);
}

rue_status rue_page_write_html(const struct rue_page *page, const char *title, const char *data, FILE *stream,
                               rue_error *error)
{
    rue_status status = RUE_OK;
    struct layout layout = {.page = page, .stream = stream};
    if (page->failed) return rue_fail_memory(error, "a report", page->count * sizeof *page->sections);
    put_head(title, stream);
    if (!page->folds) put_contents(page, stream);
    fputs(page->folds ? "<div class=\"g poster\">\n" : "<div class=\"g\">\n", stream);
    for (size_t i = 0; status == RUE_OK && i < page->count; i++) status = put_section(&layout, i, error);
    if (status != RUE_OK) return status;
    set_texts(&layout, false, false);
    fputs(layout.headed && page->folds ? "</div></details>\n</main>\n" : "</div>\n</main>\n", stream);
    if (data) put_data(data, stream);
    fprintf(stream, "<script>%s</script>\n</body>\n</html>\n", rue_page_js);
    return rue_report_finish(stream, error);
}
