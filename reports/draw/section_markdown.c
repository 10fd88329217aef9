/* Markdown (GitHub's), to paste into an issue. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "page_writers.h"
#include "utf8.h"

enum { FOLDED_ROWS = 24 }; /* an issue has at most 65,536 characters */

/* Writes `text` so that it means itself. An underscore inside a word needs nothing. */
static rue_status put_text(FILE *stream, const char *text, rue_error *error)
{
    char *clean = rue_utf8_cleaned(text, true, false);
    if (!clean) return rue_fail_memory(error, "a report", strlen(text));
    for (const char *at = clean; *at; at++) {
        bool inside =
            *at == '_' && at > clean && isalnum((unsigned char)at[-1]) && isalnum((unsigned char)at[1]);
        if (strchr("\\`*_[]|~#", *at) && !inside) fputc('\\', stream);
        if (*at == '<' || *at == '&')
            fputs(*at == '<' ? "&lt;" : "&amp;", stream);
        else
            fputc(*at, stream);
    }
    free(clean);
    return RUE_OK;
}

/* An indented block, in which no character has a meaning. Lines in a row are one block. */
static rue_status put_code(const struct rue_section *section, FILE *stream, rue_error *error)
{
    char *clean = rue_utf8_cleaned(section->text, true, false);
    if (!clean) return rue_fail_memory(error, "a report", section->used);
    fprintf(stream, "    %s\n\n", clean);
    free(clean);
    return RUE_OK;
}

static rue_status put_sentence(const struct rue_section *section, FILE *stream, rue_error *error)
{
    bool bold = section->kind == RUE_SECTION_SENTENCE && section->look == RUE_LOOK_BOLD;
    if (section->look == RUE_LOOK_CODE) return put_code(section, stream, error);
    if (section->kind == RUE_SECTION_HEADING) fputs(section->indent == 1 ? "## " : "### ", stream);
    fputs(bold ? "**" : "", stream);
    rue_status status = put_text(stream, section->text, error);
    fputs(bold ? "**\n\n" : "\n\n", stream);
    return status;
}

/* Shows the first `most` rows. */
static rue_status put_table(const struct rue_section *table, size_t most, FILE *stream, rue_error *error)
{
    size_t rows = table->row_count < most ? table->row_count : most;
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < table->column_count; c++) {
        if (!rue_column_is_shown(table, c)) continue;
        fputs("| ", stream);
        status = put_text(stream, table->columns[c].header, error);
        fputc(' ', stream);
    }
    fputs("|\n", stream);
    for (size_t c = 0; c < table->column_count; c++)
        if (rue_column_is_shown(table, c))
            fputs(rue_column_is_right(&table->columns[c]) ? "|--:" : "|---", stream);
    fputs("|\n", stream);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; status == RUE_OK && c < table->column_count; c++) {
            const char *bold = table->rows[r].chosen ? "**" : "";
            if (!rue_column_is_shown(table, c)) continue;
            char *text = rue_value_text(&table->columns[c], &table->rows[r].values[c], true);
            if (!text) return rue_fail_memory(error, "a table", table->row_count);
            fprintf(stream, "| %s", text[0] ? bold : "");
            status = put_text(stream, text, error);
            fprintf(stream, "%s ", text[0] ? bold : "");
            free(text);
        }
        fputs("|\n", stream);
    }
    fputc('\n', stream);
    if (rows < table->row_count)
        fprintf(stream, "%zu more rows are in report.html.\n\n", table->row_count - rows);
    return status;
}

/* Tables of charts are folded. */
static rue_status put_charts(const struct rue_section *table, const char *plots, FILE *stream,
                             rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && plots && i < table->chart_count; i++) {
        if (!rue_chart_is_drawn(table, &table->charts[i])) continue;
        fputs("![", stream);
        status = put_text(stream, table->charts[i].title, error);
        fprintf(stream, "](%s/%s.svg)\n\n", plots, table->charts[i].name);
    }
    if (status != RUE_OK) return status;
    if (!table->chart_count) return put_table(table, SIZE_MAX, stream, error);
    fprintf(stream, "<details><summary>The numbers (%zu rows)</summary>\n\n", table->row_count);
    status = put_table(table, FOLDED_ROWS, stream, error);
    fputs("</details>\n\n", stream);
    return status;
}

rue_status rue_page_write_markdown(const struct rue_page *page, const char *plots, bool full, FILE *stream,
                                   rue_error *error)
{
    rue_status status = RUE_OK;
    if (page->failed) return rue_fail_memory(error, "a report", page->count * sizeof *page->sections);
    fputs(RUE_PAGE_MARKDOWN_MARK "\n", stream);
    for (size_t i = 0; status == RUE_OK && i < page->count; i++) {
        const struct rue_section *section = &page->sections[i];
        if (!rue_page_is_shown(page, i)) continue;
        if (section->kind == RUE_SECTION_HEADING && !full) break;
        status = section->kind == RUE_SECTION_TABLE ? put_charts(section, plots, stream, error)
                                                    : put_sentence(section, stream, error);
    }
    return status == RUE_OK ? rue_report_finish(stream, error) : status;
}
