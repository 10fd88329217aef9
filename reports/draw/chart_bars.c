/* Horizontal bars of parts, one below the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart_drawing.h"
#include "utf8.h"

enum {
    WIDTH = 380,
    WIDTH_MOST = 480,
    BARS_LEAST = 200,
    LEFT = 74,
    RIGHT = 96,
    NAME_MOST = 24,
    TOP = 22,
    BOTTOM = 38,
    BAR = 13,
    LINE = 17
};

/* Space for the texts beside the bars, at least `least`. */
static int find_space(const struct rue_drawing *drawing, const struct rue_table_column *column, int least)
{
    int widest = 0;
    for (size_t r = 0; r < drawing->table->row_count && column; r++) {
        char *text = rue_drawing_value(drawing, r, column);
        int width = text ? rue_utf8_width(text) : 0;
        if (width > widest) widest = width;
        free(text);
    }
    if (widest > NAME_MOST) widest = NAME_MOST;
    return widest * 8 + 10 > least ? widest * 8 + 10 : least;
}

/* Wider than usual if the texts beside the bars are long. */
static int find_width(const struct rue_drawing *drawing)
{
    int width = find_space(drawing, drawing->columns.x, LEFT) + BARS_LEAST +
                find_space(drawing, drawing->columns.caption, RIGHT);
    return width < WIDTH ? WIDTH : width < WIDTH_MOST ? width : WIDTH_MOST;
}

/* Whether a line with the name of its series is above the bar: it is the first one of its series. */
static bool begins_series(const struct rue_drawing *drawing, size_t row)
{
    if (!drawing->columns.series) return false;
    for (size_t r = row; r-- > 0;)
        if (drawing->panels.of_row[r] == drawing->panels.of_row[row])
            return drawing->series.of_row[r] != drawing->series.of_row[row];
    return true;
}

static size_t count_lines(const struct rue_drawing *drawing, size_t panel)
{
    size_t count = 0;
    for (size_t r = 0; r < drawing->table->row_count; r++)
        if (drawing->panels.of_row[r] == panel) count += 1U + begins_series(drawing, r);
    return count;
}

static double bar_total(const struct rue_drawing *drawing, size_t row)
{
    double total = 0;
    for (size_t p = 0; p < rue_drawing_parts(drawing); p++) {
        double part = rue_drawing_number(drawing, row, drawing->columns.value + p);
        if (part > 0) total += part;
    }
    return total;
}

static void draw_bar(struct rue_drawing *drawing, const struct rue_axis *axis, size_t row, double y,
                     int width)
{
    const struct rue_section *table = drawing->table;
    char *name = rue_drawing_value(drawing, row, drawing->columns.x);
    double before = 0;
    rue_drawing_put_text(drawing, rue_axis_px(axis, 0) - 5, y + BAR - 2,
                         table->rows[row].chosen ? "e t" : "e", NAME_MOST, name ? name : "");
    for (size_t p = 0; p < rue_drawing_parts(drawing); p++) {
        const struct rue_table_column *column = drawing->columns.value + p;
        double part = rue_drawing_number(drawing, row, column);
        if (!(part > 0)) continue;
        double from = rue_axis_px(axis, before), to = rue_axis_px(axis, before + part);
        char *text = rue_drawing_value(drawing, row, column);
        fprintf(drawing->stream, "<rect class=\"f%zu\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\">",
                p % RUE_COLORS, from, y, fmax(to - from, 0.3), BAR);
        rue_drawing_put_title(drawing, "%s, %s: %s", name ? name : "", column->header, text ? text : "");
        fputs("</rect>", drawing->stream);
        free(text);
        before += part;
    }
    rue_drawing_put_text(drawing, rue_axis_px(axis, before) + 4, y + BAR - 2, "h",
                         (int)(width - rue_axis_px(axis, before)) / 6,
                         rue_drawing_text(drawing, row, drawing->columns.caption));
    free(name);
}

static void draw(struct rue_drawing *drawing, size_t panel, int width, int height)
{
    const struct rue_chart *chart = drawing->chart;
    struct rue_axis axis = {.unit = drawing->columns.value->unit, .from_zero = true};
    char text[RUE_AXIS_TEXT_BYTES], title[128];
    double y = TOP;
    for (size_t r = 0; r < drawing->table->row_count; r++)
        if (drawing->panels.of_row[r] == panel) rue_axis_include(&axis, bar_total(drawing, r));
    if (!axis.known) return;
    const int right = width - find_space(drawing, drawing->columns.caption, RIGHT);
    rue_axis_place(&axis, find_space(drawing, drawing->columns.x, LEFT), right);
    fputs("<path class=\"g\" d=\"", drawing->stream);
    for (size_t i = 0; i < axis.tick_count; i++)
        fprintf(drawing->stream, "M%.0f,%dV%d", rue_axis_px(&axis, axis.ticks[i]), TOP - 3, height - BOTTOM);
    fputs("\"/>", drawing->stream);
    for (size_t i = 0; i < axis.tick_count; i++)
        rue_drawing_put_text(drawing, rue_axis_px(&axis, axis.ticks[i]), height - BOTTOM + 13, "m", 9,
                             rue_axis_tick_text(&axis, axis.ticks[i], text));
    snprintf(title, sizeof title, "%s%s%s%s", chart->x_title ? chart->x_title : "time",
             axis.suffix[0] ? " (" : "", axis.suffix, axis.suffix[0] ? ")" : "");
    rue_drawing_put_text(drawing, (axis.from + axis.to) / 2, height - 7, "m", 40, title);
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        if (drawing->panels.of_row[r] != panel) continue;
        if (begins_series(drawing, r)) {
            rue_drawing_put_text(drawing, 4, y + BAR - 2, "t h", width / 8,
                                 rue_drawing_text(drawing, r, drawing->columns.series));
            y += LINE;
        }
        draw_bar(drawing, &axis, r, y, width);
        y += LINE;
    }
}

static void measure(const struct rue_drawing *drawing, size_t panel, int *width, int *height)
{
    *width = find_width(drawing);
    *height = TOP + BOTTOM + LINE * (int)count_lines(drawing, panel);
}

static void draw_swatch(struct rue_drawing *drawing, size_t entry, double x, double y)
{
    fprintf(drawing->stream, "<rect class=\"f%zu\" x=\"%.0f\" y=\"%.0f\" width=\"16\" height=\"10\"/>",
            entry % RUE_COLORS, x, y - 5);
}

const struct rue_chart_drawer rue_chart_bars = {measure, draw, draw_swatch};
