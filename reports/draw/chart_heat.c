#include "chart_heat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { CELL_WIDTH = 46, CELL_HEIGHT = 25, LEFT = 56, RIGHT = 8, TOP = 22, BOTTOM = 42 };

static struct rue_heat_color mix(const struct rue_heat_color *colors, size_t count, double share)
{
    double at = fmin(fmax(share, 0), 1) * (double)(count - 1);
    size_t i = at >= (double)(count - 1) ? count - 2 : (size_t)at;
    double f = at - (double)i;
    return (struct rue_heat_color){colors[i].r + f * (colors[i + 1].r - colors[i].r),
                                   colors[i].g + f * (colors[i + 1].g - colors[i].g),
                                   colors[i].b + f * (colors[i + 1].b - colors[i].b)};
}

bool rue_heat_diverges(const struct rue_drawing *drawing)
{
    return drawing->chart->is_change || drawing->common.low < 0;
}

double rue_heat_share(const struct rue_drawing *drawing, double value)
{
    const double detail = 0.03, high = 3; /* the same in all charts, so that they can be compared */
    double share = fmin(log1p(fabs(value) / detail) / log1p(high / detail), 1);
    return rue_heat_diverges(drawing) ? 0.5 + (value < 0 ? -share : share) / 2 : share;
}

/* Lightness rises steadily, so both scales are readable in grey. */
struct rue_heat_color rue_heat_color(const struct rue_drawing *drawing, double value)
{
    static const struct rue_heat_color rising[] = {{13, 43, 94},    {47, 78, 122},   {91, 113, 137},
                                                   {137, 150, 138}, {190, 190, 120}, {253, 231, 120}};
    static const struct rue_heat_color diverging[] = {
        {5, 80, 160}, {120, 175, 220}, {245, 245, 245}, {235, 165, 90}, {170, 75, 0}};
    double share = rue_heat_share(drawing, value);
    return rue_heat_diverges(drawing) ? mix(diverging, 5, share) : mix(rising, 6, share);
}

bool rue_heat_is_dark(struct rue_heat_color color)
{
    return 0.299 * color.r + 0.587 * color.g + 0.114 * color.b < 128;
}

void rue_heat_text(const struct rue_drawing *drawing, double value, char out[RUE_AXIS_TEXT_BYTES])
{
    double number = drawing->columns.value->unit == RUE_UNIT_PERCENT ? 100 * value : value;
    if (fabs(number) < 0.05) number = 0;
    const char *sign = rue_heat_diverges(drawing) && number > 0 ? "+" : "";
    if (fabs(number) >= 9999.5)
        snprintf(out, RUE_AXIS_TEXT_BYTES, "%.0e", number);
    else
        snprintf(out, RUE_AXIS_TEXT_BYTES, "%s%.*f", sign, fabs(number) >= 99.95 ? 0 : 1, number);
}

static void put_cell_title(struct rue_drawing *drawing, size_t row)
{
    const char *caption = rue_drawing_text(drawing, row, drawing->columns.caption);
    const struct rue_table_column *const columns[] = {drawing->columns.x, drawing->columns.y,
                                                      drawing->columns.value};
    char *texts[3];
    for (int i = 0; i < 3; i++) texts[i] = rue_drawing_value(drawing, row, columns[i]);
    rue_drawing_put_title(drawing, "%s %s, %s %s: %s%s%s", drawing->columns.x->header,
                          texts[0] ? texts[0] : "", drawing->columns.y->header, texts[1] ? texts[1] : "",
                          texts[2] ? texts[2] : "", caption[0] ? ", " : "", caption);
    for (int i = 0; i < 3; i++) free(texts[i]);
}

/* Halfway to white. */
static struct rue_heat_color make_pale(struct rue_heat_color color)
{
    return (struct rue_heat_color){(color.r + 255) / 2, (color.g + 255) / 2, (color.b + 255) / 2};
}

static void draw_cell(struct rue_drawing *drawing, size_t row, double x, double y)
{
    double value = rue_drawing_number(drawing, row, drawing->columns.value);
    enum rue_row_mark mark = drawing->table->rows[row].mark;
    bool known = isfinite(value), pale = mark == RUE_ROW_PREDICTED || mark == RUE_ROW_UNCHANGED;
    struct rue_heat_color color =
        known ? rue_heat_color(drawing, value) : (struct rue_heat_color){234, 238, 242};
    if (pale) color = make_pale(color);
    fprintf(drawing->stream,
            "<g><rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"#%02x%02x%02x\"/>", x, y,
            CELL_WIDTH - 1, CELL_HEIGHT - 1, (int)color.r, (int)color.g, (int)color.b);
    if (pale)
        fprintf(drawing->stream, "<circle class=\"%c\" cx=\"%.0f\" cy=\"%.0f\" r=\"1.6\"/>",
                rue_heat_is_dark(color) ? 'i' : 'k', x + CELL_WIDTH - 6, y + 5);
    if (mark == RUE_ROW_FAILED)
        fprintf(drawing->stream, "<path class=\"x\" d=\"M%.0f,%.0fl%d,%dm0,-%dl-%d,%d\"/>", x + 6, y + 4,
                CELL_WIDTH - 13, CELL_HEIGHT - 9, CELL_HEIGHT - 9, CELL_WIDTH - 13, CELL_HEIGHT - 9);
    if (known) {
        char text[RUE_AXIS_TEXT_BYTES];
        rue_heat_text(drawing, value, text);
        rue_drawing_put_text(drawing, x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4,
                             rue_heat_is_dark(color) ? "m i" : "m k", 7, text);
    }
    put_cell_title(drawing, row);
    fputs("</g>", drawing->stream);
}

/* Above all cells, so that no neighbour hides it. */
static void draw_ring(struct rue_drawing *drawing, double x, double y)
{
    for (int i = 0; i < 2; i++)
        fprintf(drawing->stream,
                "<rect class=\"%c\" x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"3\"/>",
                i ? 'r' : 'w', x, y, CELL_WIDTH - 1, CELL_HEIGHT - 1);
}

static void draw_labels(struct rue_drawing *drawing, const struct rue_places *xs, const struct rue_places *ys,
                        int height)
{
    const char *x_title = xs->column->header, *y_title = ys->column->header;
    int middle = LEFT + (int)xs->count * CELL_WIDTH / 2;
    for (size_t i = 0; i < xs->count; i++)
        rue_drawing_put_place(drawing, xs, i, LEFT + (double)i * CELL_WIDTH + CELL_WIDTH / 2,
                              height - BOTTOM + 15, "m");
    for (size_t i = 0; i < ys->count; i++)
        rue_drawing_put_place(drawing, ys, i, LEFT - 6,
                              height - BOTTOM - (double)(i + 1) * CELL_HEIGHT + CELL_HEIGHT / 2 + 4, "e");
    rue_drawing_put_text(drawing, middle, height - 9, "m", 40, x_title ? x_title : "");
    fprintf(drawing->stream, "<g transform=\"translate(13,%d) rotate(-90)\">", (TOP + height - BOTTOM) / 2);
    rue_drawing_put_text(drawing, 0, 0, "m", 30, y_title ? y_title : "");
    fputs("</g>", drawing->stream);
}

static void draw(struct rue_drawing *drawing, size_t panel, int width, int height)
{
    struct rue_places xs, ys;
    rue_places_collect(drawing, panel, drawing->columns.x, &xs);
    rue_places_collect(drawing, panel, drawing->columns.y, &ys);
    (void)width;
    draw_labels(drawing, &xs, &ys, height);
    for (int ring = 0; ring < 2; ring++)
        for (size_t r = 0; r < drawing->table->row_count; r++) {
            size_t i = rue_places_find(&xs, rue_drawing_number(drawing, r, drawing->columns.x)),
                   j = rue_places_find(&ys, rue_drawing_number(drawing, r, drawing->columns.y));
            if (drawing->panels.of_row[r] != panel || i == xs.count || j == ys.count) continue;
            double x = LEFT + (double)i * CELL_WIDTH, y = height - BOTTOM - (double)(j + 1) * CELL_HEIGHT;
            if (!ring) draw_cell(drawing, r, x, y);
            if (ring && drawing->table->rows[r].chosen) draw_ring(drawing, x, y);
        }
}

static void measure(const struct rue_drawing *drawing, size_t panel, int *width, int *height)
{
    struct rue_places xs, ys;
    rue_places_collect(drawing, panel, drawing->columns.x, &xs);
    rue_places_collect(drawing, panel, drawing->columns.y, &ys);
    *width = LEFT + RIGHT + (int)xs.count * CELL_WIDTH;
    const char *y_title = ys.column->header;
    int rows = (int)ys.count * CELL_HEIGHT, turned = y_title ? 7 * rue_utf8_width(y_title) : 0;
    *height = TOP + BOTTOM + (rows > turned ? rows : turned);
    const int least = 240; /* for the title */
    if (*width < least) *width = least;
}

static void draw_swatch(struct rue_drawing *drawing, size_t entry, double x, double y)
{
    fprintf(drawing->stream, "<rect class=\"f%zu\" x=\"%.0f\" y=\"%.0f\" width=\"16\" height=\"10\"/>",
            entry % RUE_COLORS, x, y - 5);
}

const struct rue_chart_drawer rue_chart_heat = {measure, draw, draw_swatch};
