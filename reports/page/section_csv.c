/* Tables in CSV (RFC 4180). */
#include <math.h>

#include "csv_field.h"
#include "section.h"

static void put_csv_header(const struct rue_section *table, FILE *stream)
{
    const char *comma = "";
    for (size_t c = 0; c < table->column_count; c++) {
        if (!table->columns[c].key) continue;
        fprintf(stream, "%s%s", comma, table->columns[c].key);
        comma = ",";
    }
    fputc('\n', stream);
}

static void put_csv_row(const struct rue_section *table, const struct rue_table_row *row, FILE *stream)
{
    const char *comma = "";
    for (size_t c = 0; c < table->column_count; c++) {
        const struct rue_table_column *column = &table->columns[c];
        const struct rue_value *value = &row->values[c];
        if (!column->key) continue;
        fputs(comma, stream);
        comma = ",";
        if (value->text)
            rue_csv_put_text(stream, value->text);
        else if (rue_column_is_number(column) && isfinite(value->number))
            fprintf(stream, column->unit == RUE_UNIT_COUNT ? "%.0f" : "%.9g", value->number);
    }
    fputc('\n', stream);
}

rue_status rue_page_write_csv(const struct rue_page *page, bool header, FILE *stream, rue_error *error)
{
    if (page->failed) return rue_fail_memory(error, "a table", page->count * sizeof *page->sections);
    for (size_t i = 0; i < page->count; i++) {
        const struct rue_section *table = &page->sections[i];
        if (table->kind != RUE_SECTION_TABLE) continue;
        if (header) put_csv_header(table, stream);
        for (size_t r = 0; r < table->row_count; r++) put_csv_row(table, &table->rows[r], stream);
    }
    return RUE_OK;
}
