/* One HTML document: no other file, no network, and readable without scripts. The script only sorts tables;
 * the policy allows no other one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "markup.h"
#include "page_texts.h"
#include "page_writers.h"

/* The hash of page.js, for the policy. */
#define SCRIPT_HASH "sha256-IGdUAJeKdfoUV3UWG00NzVjxBQTt2r/ZlEbF/d2wTXY="

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

static rue_status put_charts(const struct rue_section *table, FILE *stream, rue_error *error)
{
    size_t drawn = 0;
    for (size_t i = 0; i < table->chart_count; i++) {
        const struct rue_chart *chart = &table->charts[i];
        if (!rue_chart_is_drawn(table, chart)) continue;
        drawn++;
        fprintf(stream, "<figure%s id=\"", chart->panel ? "" : " class=\"o\"");
        rue_markup_put(stream, chart->name);
        fputs("\"><figcaption>", stream);
        rue_markup_put(stream, chart->title);
        if (chart->note) {
            fputs(" <span>", stream);
            rue_markup_put(stream, chart->note);
            fputs("</span>", stream);
        }
        fputs("</figcaption><div class=\"p\">\n", stream);
        rue_status status = rue_chart_write(table, chart, stream, error);
        if (status != RUE_OK) return status;
        fputs("</div></figure>\n", stream);
    }
    if (!drawn) return put_table(table, stream, error);
    fprintf(stream, "<details><summary>The numbers (%zu rows)</summary>", table->row_count);
    rue_status status = put_table(table, stream, error);
    fputs("</details>\n", stream);
    return status;
}

static void put_text(const struct rue_section *section, size_t number, FILE *stream)
{
    static const char *const looks[RUE_LOOK_COUNT] = {"", " class=\"b\"", " class=\"d\""};
    bool heading = section->kind == RUE_SECTION_HEADING;
    int level = section->indent + 1;
    if (heading)
        fprintf(stream, "<h%d id=\"part-%zu\">", level, number);
    else
        fprintf(stream, "<p%s>", looks[section->look]);
    rue_markup_put(stream, section->text);
    if (heading)
        fprintf(stream, "</h%d>\n", level);
    else
        fputs("</p>\n", stream);
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
    if (page->failed) return rue_fail_memory(error, "a report", page->count * sizeof *page->sections);
    put_head(title, stream);
    put_contents(page, stream);
    for (size_t i = 0; status == RUE_OK && i < page->count; i++) {
        const struct rue_section *section = &page->sections[i];
        if (!rue_page_is_shown(page, i)) continue;
        if (section->kind == RUE_SECTION_TABLE)
            status = put_charts(section, stream, error);
        else
            put_text(section, i, stream);
    }
    if (status != RUE_OK) return status;
    fputs("</main>\n", stream);
    if (data) put_data(data, stream);
    fprintf(stream, "<script>%s</script>\n</body>\n</html>\n", rue_page_js);
    return rue_report_finish(stream, error);
}
