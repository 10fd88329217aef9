#include "text_table.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "utf8.h"

enum {
    INDENT = 2,
    GAP = 2,
    TIGHT_HEADER = 5,
    LINE_BYTES = RUE_TEXT_TABLE_COLUMNS * (RUE_TEXT_CELL_BYTES + 2 * GAP)
};

/* How the columns are set in a given width. */
struct layout {
    bool split;                        /* headers take two lines */
    bool tight;                        /* headers are shortened, and what may shrink does so twice as far */
    int dropped;                       /* columns whose `drop` is 1..dropped are not shown */
    int width[RUE_TEXT_TABLE_COLUMNS]; /* 0: not shown */
};

void rue_text_table_clear(struct rue_text_table *table, bool unicode)
{
    table->column_count = table->row_count = 0;
    table->unicode = unicode;
}

void rue_text_table_column(struct rue_text_table *table, struct rue_text_column column)
{
    assert(table->column_count < RUE_TEXT_TABLE_COLUMNS && column.drop <= RUE_TEXT_TABLE_DROPS);
    table->columns[table->column_count++] = column;
}

int rue_text_table_fitting(const struct rue_report_style *style, int beside, int width, int count)
{
    int room = (style->columns - INDENT - beside) / (GAP + width);
    if (style->columns <= 0 || room >= count) return count;
    return room > 1 ? room : 1;
}

bool rue_text_table_row(struct rue_text_table *table, bool chosen)
{
    if (table->row_count == RUE_TEXT_TABLE_ROWS) return false;
    memset(table->cells[table->row_count], 0, sizeof table->cells[0]);
    table->chosen[table->row_count++] = chosen;
    return true;
}

void rue_text_table_cell(struct rue_text_table *table, int column, const char *format, ...)
{
    assert(table->row_count > 0 && column < table->column_count);
    char text[RUE_TEXT_CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rue_utf8_clean(text, table->unicode, table->cells[table->row_count - 1][column], RUE_TEXT_CELL_BYTES);
}

/* Line 0 or 1 of a header: all of it stands on line 1 unless it is split at the first place that may break.
 */
static void header_line(const char *header, bool split, int line, char out[RUE_TEXT_CELL_BYTES])
{
    size_t at = strcspn(header, "_ ");
    bool breaks = split && header[at];
    size_t head = at + (header[at] == '_');
    if (line == 0)
        snprintf(out, RUE_TEXT_CELL_BYTES, "%.*s", breaks ? (int)head : 0, header);
    else
        snprintf(out, RUE_TEXT_CELL_BYTES, "%s", breaks ? header + at + 1 : header);
}

static int cells_width(const struct rue_text_table *table, int column)
{
    int widest = 1;
    for (int r = 0; r < table->row_count; r++) {
        int width = rue_utf8_width(table->cells[r][column]);
        if (width > widest) widest = width;
    }
    return widest;
}

static int natural_width(const struct rue_text_table *table, int column, bool split)
{
    int widest = cells_width(table, column);
    char text[RUE_TEXT_CELL_BYTES];
    for (int line = 0; line < 2; line++) {
        header_line(table->columns[column].header, split, line, text);
        int width = rue_utf8_width(text);
        if (width > widest) widest = width;
    }
    return widest;
}

/* The width below which the column is not made narrower. */
static int least_width(const struct rue_text_table *table, const struct layout *layout, int column)
{
    int shrink_to = table->columns[column].shrink_to;
    if (!layout->tight) return shrink_to ? shrink_to : INT_MAX;
    if (shrink_to) return (shrink_to + 1) / 2;
    int width = cells_width(table, column);
    return width > TIGHT_HEADER ? width : TIGHT_HEADER;
}

static int total_width(const struct layout *layout, int count)
{
    int total = INDENT - GAP;
    for (int c = 0; c < count; c++)
        if (layout->width[c]) total += layout->width[c] + GAP;
    return total;
}

/* Takes columns from the widest of those that may shrink until the table fits; false when it cannot. */
static bool shrink(const struct rue_text_table *table, int columns, struct layout *layout)
{
    for (;;) {
        if (total_width(layout, table->column_count) <= columns) return true;
        int widest = -1;
        for (int c = 0; c < table->column_count; c++) {
            bool may = layout->width[c] > least_width(table, layout, c);
            if (may && (widest < 0 || layout->width[c] > layout->width[widest])) widest = c;
        }
        if (widest < 0) return false;
        layout->width[widest]--;
    }
}

static bool try_layout(const struct rue_text_table *table, int columns, struct layout *layout)
{
    for (int c = 0; c < table->column_count; c++) {
        int drop = table->columns[c].drop;
        bool shown = drop == 0 || drop > layout->dropped;
        layout->width[c] = shown ? natural_width(table, c, layout->split) : 0;
    }
    return columns <= 0 || shrink(table, columns, layout);
}

/* In the order of trying. The last serves tables that have nothing to drop: the others would have taken the
 * one before. */
static const struct {
    int dropped;
    bool split;
} layouts[] = {{0, false}, {1, false}, {1, true},  {2, false}, {2, true},
               {3, false}, {3, true},  {4, false}, {4, true},  {0, true}};

static struct layout choose_layout(const struct rue_text_table *table, int columns)
{
    struct layout layout = {0};
    int last = 0;
    for (int c = 0; c < table->column_count; c++)
        if (table->columns[c].drop > last) last = table->columns[c].drop;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].dropped > last) continue;
        layout.dropped = layouts[i].dropped;
        layout.split = layouts[i].split;
        if (try_layout(table, columns, &layout)) return layout;
    }
    layout.dropped = last;
    layout.tight = true;
    try_layout(table, columns, &layout); /* print_line cuts what is still too long */
    return layout;
}

static void append(char *line, const char *text, int spaces)
{
    size_t used = strlen(line);
    snprintf(line + used, LINE_BYTES - used, "%*s%s", spaces, "", text);
}

/* One line of cells: what stands in its margin, and the colour where the style has any. */
struct line {
    const char *margin, *color;
    char cells[RUE_TEXT_TABLE_COLUMNS][RUE_TEXT_CELL_BYTES];
};

static void print_line(const struct rue_text_table *table, const struct layout *layout,
                       const struct rue_report_style *style, const struct line *line, FILE *stream)
{
    char text[LINE_BYTES] = "", cut[LINE_BYTES];
    append(text, line->margin, 0);
    int owed = INDENT - rue_utf8_width(line->margin);
    for (int c = 0; c < table->column_count; c++) {
        if (layout->width[c] == 0) continue;
        char cell[RUE_TEXT_CELL_BYTES + 4];
        rue_utf8_shorten(line->cells[c], layout->width[c], table->unicode, cell, sizeof cell);
        int pad = layout->width[c] - rue_utf8_width(cell);
        append(text, cell, owed + (table->columns[c].right ? pad : 0));
        owed = GAP + (table->columns[c].right ? 0 : pad);
    }
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') text[--length] = 0;
    if (style->columns > 0) rue_utf8_shorten(text, style->columns, table->unicode, cut, sizeof cut);
    bool color = style->color && line->color[0];
    fprintf(stream, "%s%s%s\n", color ? line->color : "", style->columns > 0 ? cut : text,
            color ? "\033[0m" : "");
}

void rue_text_table_print(const struct rue_text_table *table, const struct rue_report_style *style,
                          FILE *stream)
{
    struct layout layout = choose_layout(table, style->columns);
    for (int i = 0; i < 2; i++) {
        struct line line = {.margin = "", .color = "\033[2m"};
        bool empty = true;
        for (int c = 0; c < table->column_count; c++) {
            header_line(table->columns[c].header, layout.split, i, line.cells[c]);
            empty &= !line.cells[c][0] || !layout.width[c];
        }
        if (!empty) print_line(table, &layout, style, &line, stream);
    }
    const char *arrow = table->unicode ? "→" : ">";
    for (int r = 0; r < table->row_count; r++) {
        bool chosen = table->chosen[r];
        struct line line = {.margin = chosen ? arrow : "", .color = chosen ? "\033[1m" : ""};
        memcpy(line.cells, table->cells[r], sizeof line.cells);
        print_line(table, &layout, style, &line, stream);
    }
}
