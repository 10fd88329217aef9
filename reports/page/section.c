#include "section.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

static void close_rows(struct rue_section *section)
{
    for (size_t r = 0; r < section->row_count; r++) {
        for (size_t c = 0; c < section->column_count; c++) free(section->rows[r].values[c].text);
        free(section->rows[r].values);
    }
    section->row_count = 0;
}

static void close_chart(struct rue_chart *chart)
{
    free((char *)chart->name);
    free((char *)chart->title);
    free((char *)chart->note);
    free((char *)chart->x_title);
}

void rue_page_close(struct rue_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        struct rue_section *section = &page->sections[i];
        close_rows(section);
        for (size_t c = 0; c < section->column_count; c++) free((char *)section->columns[c].header);
        for (size_t c = 0; c < section->chart_count; c++) close_chart(&section->charts[c]);
        free(section->columns);
        free(section->rows);
        free(section->text);
    }
    free(page->sections);
    *page = (struct rue_page){0};
}

static struct rue_section *last_section(const struct rue_page *page)
{
    return page->failed || !page->count ? NULL : &page->sections[page->count - 1];
}

static struct rue_section *add_section(struct rue_page *page, int kind)
{
    if (page->failed || rue_array_grow(&page->sections, &page->capacity, page->count + 1,
                                       sizeof *page->sections, "a report", NULL) != RUE_OK) {
        page->failed = true;
        return NULL;
    }
    page->sections[page->count++] = (struct rue_section){.kind = kind};
    return last_section(page);
}

void rue_page_gap(struct rue_page *page)
{
    add_section(page, RUE_SECTION_GAP);
}

static void begin_text(struct rue_page *page, int kind, enum rue_look look, int indent)
{
    struct rue_section *section = add_section(page, kind);
    if (!section) return;
    section->look = look;
    section->indent = indent;
    rue_say(page, "%s", "");
}

void rue_page_sentence(struct rue_page *page, enum rue_look look, int indent)
{
    begin_text(page, RUE_SECTION_SENTENCE, look, indent);
}

void rue_page_heading(struct rue_page *page, int level)
{
    begin_text(page, RUE_SECTION_HEADING, RUE_LOOK_BOLD, level);
}

void rue_say(struct rue_page *page, const char *format, ...)
{
    struct rue_section *section = last_section(page);
    char *more = NULL;
    va_list arguments;
    if (!section) return;
    assert(section->kind == RUE_SECTION_SENTENCE || section->kind == RUE_SECTION_HEADING);
    va_start(arguments, format);
    int length = vasprintf(&more, format, arguments);
    va_end(arguments);
    if (length < 0 || rue_array_grow(&section->text, &section->capacity, section->used + (size_t)length + 1,
                                     1, "a sentence", NULL) != RUE_OK) {
        page->failed = true;
    } else {
        memcpy(section->text + section->used, more, (size_t)length + 1);
        section->used += (size_t)length;
    }
    if (length >= 0) free(more);
}

void rue_page_column(struct rue_page *page, struct rue_table_column column)
{
    struct rue_section *table = last_section(page);
    char *header = column.header ? strdup(column.header) : NULL;
    if (!table || (column.header && !header) ||
        rue_array_grow(&table->columns, &table->column_capacity, table->column_count + 1,
                       sizeof *table->columns, "a table", NULL) != RUE_OK) {
        page->failed = true;
        free(header);
        return;
    }
    assert(!table->row_count && table->column_count < RUE_TABLE_COLUMNS_MAX && column.drop <= RUE_DROPS);
    column.header = header;
    table->columns[table->column_count++] = column;
}

void rue_page_table(struct rue_page *page, const struct rue_table_column *columns, size_t count)
{
    add_section(page, RUE_SECTION_TABLE);
    for (size_t c = 0; c < count; c++) rue_page_column(page, columns[c]);
}

/* NULL stays NULL. */
static const char *copy_text(struct rue_page *page, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) page->failed = true;
    return copy;
}

void rue_page_chart(struct rue_page *page, const struct rue_chart *chart)
{
    struct rue_section *table = last_section(page);
    if (!table) return;
    assert(table->kind == RUE_SECTION_TABLE && table->chart_count < RUE_CHARTS_MAX);
    struct rue_chart *copy = &table->charts[table->chart_count++];
    *copy = *chart;
    copy->name = copy_text(page, chart->name);
    copy->title = copy_text(page, chart->title);
    copy->note = copy_text(page, chart->note);
    copy->x_title = copy_text(page, chart->x_title);
}

void rue_page_row(struct rue_page *page, bool chosen)
{
    struct rue_section *table = last_section(page);
    if (!table) return;
    struct rue_value *values = calloc(table->column_count + 1, sizeof *values);
    if (!values || rue_array_grow(&table->rows, &table->row_capacity, table->row_count + 1,
                                  sizeof *table->rows, "a table", NULL) != RUE_OK) {
        page->failed = true;
        free(values);
        return;
    }
    table->rows[table->row_count++] = (struct rue_table_row){chosen, values};
    table->filled = 0;
}

void rue_page_clear_rows(struct rue_page *page)
{
    struct rue_section *table = last_section(page);
    if (table) close_rows(table);
}

static void add_value(struct rue_page *page, struct rue_value value)
{
    struct rue_section *table = last_section(page);
    if (!table) {
        free(value.text);
        return;
    }
    assert(table->row_count && table->filled < table->column_count);
    table->rows[table->row_count - 1].values[table->filled++] = value;
}

void rue_put_number(struct rue_page *page, double number)
{
    rue_put_marked(page, 0, number);
}

void rue_put_marked(struct rue_page *page, char mark, double number)
{
    add_value(page, (struct rue_value){.is_number = true, .number = number, .mark = mark});
}

void rue_put_config(struct rue_page *page, const struct rue_config *config)
{
    add_value(page, (struct rue_value){.config = config});
}

void rue_put_text(struct rue_page *page, const char *text)
{
    rue_put_words(page, "%s", text);
}

void rue_put_words(struct rue_page *page, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL, page->failed = true;
    va_end(arguments);
    add_value(page, (struct rue_value){.text = text});
}

bool rue_page_is_shown(const struct rue_page *page, size_t i)
{
    const struct rue_section *section = &page->sections[i];
    if (section->kind == RUE_SECTION_TABLE) return section->row_count > 0;
    if (section->kind != RUE_SECTION_HEADING) return section->kind == RUE_SECTION_SENTENCE && section->used;
    for (size_t j = i + 1; j < page->count; j++) {
        const struct rue_section *next = &page->sections[j];
        if (next->kind == RUE_SECTION_HEADING && next->indent <= section->indent) return false;
        if (next->kind != RUE_SECTION_HEADING && rue_page_is_shown(page, j)) return true;
    }
    return false;
}

const struct rue_section *rue_page_last_table(const struct rue_page *page)
{
    const struct rue_section *last = last_section(page);
    return last && last->kind == RUE_SECTION_TABLE ? last : NULL;
}

rue_status rue_report_finish(FILE *stream, rue_error *error)
{
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream)) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write the report: %s",
                    errno ? strerror(errno) : "an earlier write failed");
}
