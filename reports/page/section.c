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
        for (size_t c = 0; c < section->column_count; c++) free((char *)section->rows[r].values[c].text);
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
        assert(page->failed || section->filled == section->column_count);
        close_rows(section);
        for (size_t c = 0; c < section->column_count; c++) free((char *)section->columns[c].header);
        for (size_t c = 0; c < section->chart_count; c++) close_chart(&section->charts[c]);
        free(section->columns);
        free(section->rows);
        free(section->text);
        free((char *)section->link);
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

void rue_page_table(struct rue_page *page)
{
    struct rue_section *table = add_section(page, RUE_SECTION_TABLE);
    if (!table) return;
    table->columns = calloc(RUE_TABLE_COLUMNS_MAX, sizeof *table->columns);
    page->failed = !table->columns;
}

/* NULL stays NULL. */
static const char *copy_text(struct rue_page *page, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) page->failed = true;
    return copy;
}

void rue_page_link(struct rue_page *page, const char *heading)
{
    struct rue_section *section = last_section(page);
    if (!section) return;
    assert(section->kind == RUE_SECTION_SENTENCE && !section->link);
    section->link = copy_text(page, heading);
}

void rue_page_figures(struct rue_page *page)
{
    rue_page_table(page);
    struct rue_section *table = last_section(page);
    if (table) table->figures = true;
}

void rue_page_clear_rows(struct rue_page *page)
{
    struct rue_section *table = last_section(page);
    if (table) close_rows(table);
}

void rue_page_row(struct rue_page *page, bool chosen, const struct rue_table_column *columns, size_t count)
{
    struct rue_section *table = last_section(page);
    if (!table) return;
    assert(table->kind == RUE_SECTION_TABLE && table->filled == table->column_count);
    table->settled = table->column_count > 0;
    size_t most = table->settled ? table->column_count : RUE_TABLE_COLUMNS_MAX;
    struct rue_value *values = calloc(most, sizeof *values);
    if (!values || rue_array_grow(&table->rows, &table->row_capacity, table->row_count + 1,
                                  sizeof *table->rows, "a table", NULL) != RUE_OK) {
        page->failed = true;
        free(values);
        return;
    }
    table->rows[table->row_count++] = (struct rue_table_row){.chosen = chosen, .values = values};
    table->filled = 0;
    rue_page_put(page, columns, count);
}

/* The first row says which columns there are. */
static void add_column(struct rue_page *page, struct rue_section *table,
                       const struct rue_table_column *column)
{
    assert(table->column_count < RUE_TABLE_COLUMNS_MAX && column->drop <= RUE_DROPS);
    struct rue_table_column *own = &table->columns[table->column_count++];
    *own = *column;
    own->header = copy_text(page, column->header);
    own->text = NULL;
    own->config = NULL;
}

/* Whether a row has its value for column `own` in place. */
static inline bool fits_column(const struct rue_table_column *own, const struct rue_table_column *column)
{
    bool number = rue_column_is_number(own), same_key = !own->key == !column->key;
    return same_key && (!own->key || strcmp(own->key, column->key) == 0) && own->unit == column->unit &&
           (number ? !column->text && !column->config : column->number == 0);
}

static void put_value(struct rue_page *page, struct rue_section *table, const struct rue_table_column *column)
{
    if (!table->settled) add_column(page, table, column);
    assert(table->filled < table->column_count);
    assert(fits_column(&table->columns[table->filled], column));
    table->rows[table->row_count - 1].values[table->filled++] =
        (struct rue_value){copy_text(page, column->text), column->config, column->number, column->mark};
}

void rue_page_put(struct rue_page *page, const struct rue_table_column *columns, size_t count)
{
    struct rue_section *table = last_section(page);
    for (size_t i = 0; table && i < count; i++)
        if (!columns[i].absent) put_value(page, table, &columns[i]);
}

void rue_page_mark(struct rue_page *page, enum rue_row_mark mark)
{
    struct rue_section *table = last_section(page);
    if (table) table->rows[table->row_count - 1].mark = mark;
}

const struct rue_table_column *rue_column_find(const struct rue_section *table, const char *key)
{
    for (size_t c = 0; key && c < table->column_count; c++)
        if (table->columns[c].key && strcmp(table->columns[c].key, key) == 0) return &table->columns[c];
    assert(!key);
    return NULL;
}

void rue_page_chart(struct rue_page *page, const struct rue_chart *chart)
{
    struct rue_section *table = last_section(page);
    if (!table || !table->row_count) return;
    assert(table->kind == RUE_SECTION_TABLE && table->chart_count < RUE_CHARTS_MAX);
    const char *const keys[] = {chart->x,    chart->y,      chart->value, chart->last,   chart->low,
                                chart->high, chart->series, chart->panel, chart->caption};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) rue_column_find(table, keys[i]);
    struct rue_chart *copy = &table->charts[table->chart_count++];
    *copy = *chart;
    copy->name = copy_text(page, chart->name);
    copy->title = copy_text(page, chart->title);
    copy->note = copy_text(page, chart->note);
    copy->x_title = copy_text(page, chart->x_title);
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
    for (size_t i = page->failed ? 0 : page->count; i-- > 0;)
        if (page->sections[i].kind == RUE_SECTION_TABLE) return &page->sections[i];
    return NULL;
}

rue_status rue_report_finish(FILE *stream, rue_error *error)
{
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream)) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write the report: %s",
                    errno ? strerror(errno) : "an earlier write failed");
}
