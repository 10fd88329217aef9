/* Sentences, and tables of aligned columns, that fit a width. Columns without any value are omitted. A table
 * that is too wide is narrowed in this order: columns shrink to `shrink_to`; columns of `drop` 1 are omitted;
 * headers get two lines; columns of `drop` 2, 3, ... are omitted; headers are shortened, and columns shrink
 * to half of `shrink_to`. A table with a heat map is shown as the map. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page_writers.h"
#include "section_heat.h"
#include "units.h"
#include "utf8.h"
#include "wrap.h"

enum { INDENT = 2, GAP = 2, TIGHT_HEADER = 5, HEADER_BYTES = 256, SHOWN_BYTES = 4096 };

static const char *const colors[RUE_LOOK_COUNT] = {"", "\033[1m", "\033[2m", ""};

/* ---- tables ---- */

struct grid {
    const struct rue_section *table;
    const struct rue_report_style *style;
    char **cells;                          /* [rows][columns]; owned */
    int cell_width[RUE_TABLE_COLUMNS_MAX]; /* 0: no cell has a value */
    int width[RUE_TABLE_COLUMNS_MAX];      /* shown width; 0: hidden */
    bool split;                            /* headers take two lines */
    size_t from, end;                      /* folding columns from <= c < end are shown */
    bool tight;                            /* headers are shortened, and columns may shrink to half */
};

static rue_status make_cells(struct grid *grid, rue_error *error)
{
    const struct rue_section *table = grid->table;
    size_t count = table->row_count * table->column_count;
    grid->cells = calloc(count + 1, sizeof *grid->cells);
    for (size_t i = 0; grid->cells && i < count; i++) {
        size_t c = i % table->column_count;
        char *text = rue_value_text(&table->columns[c], &table->rows[i / table->column_count].values[c],
                                    grid->style->unicode);
        grid->cells[i] = text;
        if (!text) return rue_fail_memory(error, "a table", count);
        int width = strcmp(text, RUE_VALUE_NONE) == 0 ? 0 : rue_utf8_width(text);
        if (width > grid->cell_width[c]) grid->cell_width[c] = width;
    }
    return grid->cells ? RUE_OK : rue_fail_memory(error, "a table", count);
}

/* Line 0 or 1 of a header: the whole header on line 1, or split at its first break. */
static void header_line(const struct grid *grid, size_t column, int line, char out[HEADER_BYTES])
{
    char header[HEADER_BYTES];
    rue_utf8_clean(grid->table->columns[column].header, grid->style->unicode, header, sizeof header);
    size_t at = strcspn(header, "_ ");
    bool breaks = grid->split && header[at];
    size_t first_bytes = at + (header[at] == '_');
    if (line == 0)
        snprintf(out, HEADER_BYTES, "%.*s", breaks ? (int)first_bytes : 0, header);
    else
        snprintf(out, HEADER_BYTES, "%s", breaks ? header + at + 1 : header);
}

static int natural_width(const struct grid *grid, size_t column)
{
    int widest = grid->cell_width[column];
    char text[HEADER_BYTES];
    for (int line = 0; line < 2; line++) {
        header_line(grid, column, line, text);
        int width = rue_utf8_width(text);
        if (width > widest) widest = width;
    }
    return widest;
}

static int least_width(const struct grid *grid, size_t column)
{
    int shrink_to = grid->table->columns[column].shrink_to, width = grid->cell_width[column];
    if (!grid->tight) return shrink_to ? shrink_to : INT_MAX;
    if (shrink_to) return (shrink_to + 1) / 2;
    return width > TIGHT_HEADER ? width : TIGHT_HEADER;
}

static int total_width(const struct grid *grid)
{
    int total = INDENT - GAP;
    for (size_t c = 0; c < grid->table->column_count; c++)
        if (grid->width[c]) total += grid->width[c] + GAP;
    return total;
}

/* Shrinks the widest column step by step until the table fits. False: it cannot fit. */
static bool shrink_columns(struct grid *grid)
{
    for (;;) {
        if (grid->style->columns <= 0 || total_width(grid) <= grid->style->columns) return true;
        size_t widest = RUE_TABLE_COLUMNS_MAX;
        for (size_t c = 0; c < grid->table->column_count; c++) {
            bool wide = grid->width[c] > least_width(grid, c);
            if (wide && (widest == RUE_TABLE_COLUMNS_MAX || grid->width[c] > grid->width[widest])) widest = c;
        }
        if (widest == RUE_TABLE_COLUMNS_MAX) return false;
        grid->width[widest]--;
    }
}

static bool try_layout(struct grid *grid, int dropped, bool split, bool tight)
{
    grid->split = split;
    grid->tight = tight;
    for (size_t c = 0; c < grid->table->column_count; c++) {
        const struct rue_table_column *column = &grid->table->columns[c];
        bool shown = column->header && grid->cell_width[c] && (column->drop == 0 || column->drop > dropped) &&
                     (!column->folds || (c >= grid->from && c < grid->end));
        grid->width[c] = shown ? natural_width(grid, c) : 0;
    }
    return shrink_columns(grid);
}

static int last_drop(const struct grid *grid)
{
    int last = 0;
    for (size_t c = 0; c < grid->table->column_count; c++)
        if (grid->table->columns[c].drop > last) last = grid->table->columns[c].drop;
    return last;
}

/* Chooses as many folding columns as fit beside those that are never omitted, at least one. */
static void choose_folded(struct grid *grid)
{
    for (grid->end = grid->table->column_count; grid->end > grid->from + 1; grid->end--)
        if (try_layout(grid, last_drop(grid), true, false)) return;
}

/* The last layout cuts texts that are too long. */
static void choose_layout(struct grid *grid)
{
    int last = last_drop(grid);
    if (try_layout(grid, 0, false, false)) return;
    for (int dropped = last ? 1 : 0; dropped <= last; dropped++)
        if (try_layout(grid, dropped, false, false) || try_layout(grid, dropped, true, false)) return;
    try_layout(grid, last, true, true);
}

static void print_line(const struct grid *grid, const char *margin, const char *color,
                       const char *const *cells, FILE *stream)
{
    const struct rue_report_style *style = grid->style;
    int printed = rue_utf8_width(margin), padding = INDENT - printed;
    bool colored = style->color && color[0];
    fprintf(stream, "%s%s", colored ? color : "", margin);
    for (size_t c = 0; c < grid->table->column_count; c++) {
        const struct rue_table_column *column = &grid->table->columns[c];
        bool right = rue_column_is_right(column);
        int width = grid->width[c], available = style->columns - printed - padding;
        if (width == 0) continue;
        if (style->columns > 0 && available < width) width = available > 0 ? available : 0;
        char shown[SHOWN_BYTES];
        const char *cell = cells[c];
        if (rue_utf8_width(cell) > width) {
            rue_utf8_shorten(cell, width, style->unicode, shown, sizeof shown);
            cell = shown;
        }
        int cell_width = rue_utf8_width(cell), indent = padding + (right ? width - cell_width : 0);
        if (cell_width) {
            fprintf(stream, "%*s%s", indent, "", cell);
            printed += indent + cell_width;
            padding = GAP + (right ? 0 : width - cell_width);
        } else {
            padding += width + GAP;
        }
    }
    fprintf(stream, "%s\n", colored ? "\033[0m" : "");
}

static void print_headers(const struct grid *grid, FILE *stream)
{
    for (int line = 0; line < 2; line++) {
        char texts[RUE_TABLE_COLUMNS_MAX][HEADER_BYTES];
        const char *cells[RUE_TABLE_COLUMNS_MAX];
        bool empty = true;
        for (size_t c = 0; c < grid->table->column_count; c++) {
            cells[c] = "";
            if (!grid->width[c]) continue;
            header_line(grid, c, line, texts[c]);
            cells[c] = texts[c];
            empty &= !texts[c][0];
        }
        if (!empty) print_line(grid, "", colors[RUE_LOOK_DIM], cells, stream);
    }
}

static rue_status write_table(const struct rue_section *table, const struct rue_report_style *style,
                              FILE *stream, rue_error *error)
{
    struct grid grid = {.table = table, .style = style};
    const char *arrow = style->unicode ? "→" : ">";
    rue_status status = make_cells(&grid, error);
    while (grid.from < table->column_count && !table->columns[grid.from].folds) grid.from++;
    for (bool unfinished = status == RUE_OK; unfinished; grid.from = grid.end) {
        if (grid.end) fputc('\n', stream);
        choose_folded(&grid);
        unfinished = grid.end < table->column_count;
        choose_layout(&grid);
        print_headers(&grid, stream);
        for (size_t r = 0; r < table->row_count; r++)
            print_line(&grid, table->rows[r].chosen ? arrow : "",
                       colors[table->rows[r].chosen ? RUE_LOOK_BOLD : RUE_LOOK_PLAIN],
                       (const char *const *)&grid.cells[r * table->column_count], stream);
    }
    for (size_t i = 0; grid.cells && i < table->row_count * table->column_count; i++) free(grid.cells[i]);
    free(grid.cells);
    return status;
}

/* ---- sentences ---- */

static rue_status write_sentence(const struct rue_section *sentence, const struct rue_report_style *style,
                                 FILE *stream, rue_error *error)
{
    char *clean = rue_utf8_cleaned(sentence->text, style->unicode, true);
    if (!clean) return rue_fail_memory(error, "a sentence", sentence->used);
    bool colored = style->color && sentence->look != RUE_LOOK_PLAIN;
    fputs(colored ? colors[sentence->look] : "", stream);
    rue_wrap(stream, clean, style->columns, sentence->kind == RUE_SECTION_HEADING ? 0 : sentence->indent);
    fputs(colored ? "\033[0m\n" : "\n", stream);
    free(clean);
    return RUE_OK;
}

static bool is_heat_map(const struct rue_section *section)
{
    return section->kind == RUE_SECTION_TABLE && section->chart_count &&
           section->charts[0].kind == RUE_CHART_HEAT;
}

static rue_status write_section(const struct rue_section *section, const struct rue_report_style *style,
                                FILE *stream, rue_error *error)
{
    bool shown;
    if (is_heat_map(section)) return rue_heat_write(section, style, stream, &shown, error);
    return (section->kind == RUE_SECTION_TABLE ? write_table : write_sentence)(section, style, stream, error);
}

rue_status rue_page_write(const struct rue_page *page, const struct rue_report_style *style, FILE *stream,
                          rue_error *error)
{
    bool begun = false, gap = false;
    if (page->failed) return rue_fail_memory(error, "a report", page->count * sizeof *page->sections);
    for (size_t i = 0; i < page->count; i++) {
        const struct rue_section *section = &page->sections[i];
        bool shown = rue_page_is_shown(page, i);
        rue_status status = RUE_OK;
        gap |= section->kind == RUE_SECTION_GAP;
        if (shown && is_heat_map(section)) status = rue_heat_write(section, style, NULL, &shown, error);
        if (status != RUE_OK) return status;
        if (!shown) continue;
        if (gap && begun) fputc('\n', stream);
        begun = true;
        gap = false;
        status = write_section(section, style, stream, error);
        if (status != RUE_OK) return status;
    }
    return rue_report_finish(stream, error);
}
