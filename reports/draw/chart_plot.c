/* Lines and points over two axes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart_drawing.h"

enum {
    WIDTH = 360,
    HEIGHT = 236,
    LEFT = 56,
    RIGHT = 14,
    TOP = 24,
    BOTTOM = 42,
    Y_TITLE_MOST = (HEIGHT - BOTTOM) / 6,
    TICK_GAP = 24,
    TITLED_POINTS = 400, /* larger drawings have no text for each point */
};

/* A point of each series has its own shape, for readers without colours. */
const char *const rue_chart_shapes[RUE_SHAPES] = {
    "m-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0",
    "m-2.7,-2.7h5.4v5.4h-5.4z",
    "m0,-3.4l3.2,5.8h-6.4z",
    "m0,-3.6l3.2,3.6l-3.2,3.6l-3.2,-3.6z",
    "m0,3.4l3.2,-5.8h-6.4z",
    "m-3.4,-1.2h2.2v-2.2h2.4v2.2h2.2v2.4h-2.2v2.2h-2.4v-2.2h-2.2z"};

/* Later series have dashes, too. */
static const char *const dashes[] = {"", " stroke-dasharray=\"5 3\"", " stroke-dasharray=\"2 2\"",
                                     " stroke-dasharray=\"7 2 2 2\""};

struct plot {
    struct rue_drawing *drawing;
    size_t panel;
    struct rue_places places; /* of x, if these are evenly spaced */
    struct rue_axis x, y;
};

static const char *series_dash(size_t series)
{
    return dashes[series / RUE_COLORS % (sizeof dashes / sizeof *dashes)];
}

static bool is_in(const struct plot *plot, size_t row)
{
    return plot->drawing->panels.of_row[row] == plot->panel;
}

/* In places, if these are evenly spaced. */
static double row_x(const struct plot *plot, size_t row)
{
    double x = rue_drawing_number(plot->drawing, row, plot->drawing->columns.x);
    size_t place = rue_places_find(&plot->places, x);
    if (!plot->drawing->chart->even_x) return x;
    return place < plot->places.count ? (double)place : NAN;
}

static double row_y(const struct plot *plot, size_t row)
{
    return rue_drawing_number(plot->drawing, row, plot->drawing->columns.value);
}

/* The axis has a tick at each place, or at some if there are many. */
static void set_places(struct plot *plot)
{
    size_t count = plot->places.count, step = count * TICK_GAP / (WIDTH - LEFT - RIGHT) + 1;
    double margin = (WIDTH - LEFT - RIGHT) / (2.0 * (double)count);
    plot->x.low = 0;
    plot->x.high = (double)count - 1;
    plot->x.from += margin;
    plot->x.to -= margin;
    plot->x.tick_count = 0;
    for (size_t i = 0; i < count; i += step) plot->x.ticks[plot->x.tick_count++] = (double)i;
}

static void open_plot(struct rue_drawing *drawing, size_t panel, struct plot *out)
{
    const struct rue_chart *chart = drawing->chart;
    *out = (struct plot){.drawing = drawing,
                         .panel = panel,
                         .x = {.unit = chart->even_x ? RUE_UNIT_NUMBER : drawing->columns.x->unit,
                               .logarithmic = chart->log_x},
                         .y = {.unit = drawing->columns.value->unit,
                               .logarithmic = chart->log_y,
                               .from_zero = chart->from_zero}};
    if (chart->even_x) rue_places_collect(drawing, panel, drawing->columns.x, &out->places);
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        if (!is_in(out, r)) continue;
        rue_axis_include(&out->x, row_x(out, r));
        rue_axis_include(&out->y, row_y(out, r));
        rue_axis_include(&out->y, rue_drawing_number(drawing, r, drawing->columns.low));
        rue_axis_include(&out->y, rue_drawing_number(drawing, r, drawing->columns.high));
    }
    rue_axis_place(&out->x, LEFT, WIDTH - RIGHT);
    if (chart->even_x) set_places(out);
    rue_axis_place(&out->y, HEIGHT - BOTTOM, TOP);
}

static void draw_axes(struct plot *plot)
{
    struct rue_drawing *drawing = plot->drawing;
    char text[RUE_AXIS_TEXT_BYTES], title[128];
    fputs("<path class=\"g\" d=\"", drawing->stream);
    for (size_t i = 0; i < plot->y.tick_count; i++)
        fprintf(drawing->stream, "M%d,%.0fH%d", LEFT, rue_axis_px(&plot->y, plot->y.ticks[i]), WIDTH - RIGHT);
    fprintf(drawing->stream, "\"/><path class=\"a\" d=\"M%d,%dV%dH%d", LEFT, TOP, HEIGHT - BOTTOM,
            WIDTH - RIGHT);
    for (size_t i = 0; i < plot->x.tick_count; i++)
        fprintf(drawing->stream, "M%.1f,%dv4", rue_axis_px(&plot->x, plot->x.ticks[i]), HEIGHT - BOTTOM);
    fputs("\"/>", drawing->stream);
    for (size_t i = 0; i < plot->y.tick_count; i++)
        rue_drawing_put_text(drawing, LEFT - 5, rue_axis_px(&plot->y, plot->y.ticks[i]) + 4, "e", 9,
                             rue_axis_tick_text(&plot->y, plot->y.ticks[i], text));
    for (size_t i = 0; i < plot->x.tick_count; i++) {
        double at = rue_axis_px(&plot->x, plot->x.ticks[i]);
        const double y = HEIGHT - BOTTOM + 16;
        rue_axis_tick_text(&plot->x, plot->x.ticks[i], text);
        if (drawing->chart->even_x)
            rue_drawing_put_place(drawing, &plot->places, (size_t)plot->x.ticks[i], at, y, "m");
        else
            rue_drawing_put_text(drawing, fmin(at, WIDTH - 3.8 * (double)strlen(text)), y, "m", 9, text);
    }
    rue_drawing_axis_title(drawing, &plot->x, drawing->columns.x, title, sizeof title);
    rue_drawing_put_text(drawing, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "m", 48, title);
    rue_drawing_axis_title(drawing, &plot->y, drawing->columns.value, title, sizeof title);
    fprintf(drawing->stream, "<g transform=\"translate(11,%d) rotate(-90)\">", (TOP + HEIGHT - BOTTOM) / 2);
    rue_drawing_put_text(drawing, 0, 0, "m", Y_TITLE_MOST, title);
    fputs("</g>", drawing->stream);
}

/* Vertical lines from the low to the high end of each interval. */
static void draw_intervals(struct plot *plot, size_t series)
{
    struct rue_drawing *drawing = plot->drawing;
    bool begun = false;
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        double low = rue_drawing_number(drawing, r, drawing->columns.low);
        double high = rue_drawing_number(drawing, r, drawing->columns.high);
        if (!is_in(plot, r) || drawing->series.of_row[r] != series || !(high > low)) continue;
        if (!begun) fprintf(drawing->stream, "<path class=\"v s%zu\" d=\"", series % RUE_COLORS);
        begun = true;
        fprintf(drawing->stream, "M%.1f,%.1fV%.1f", rue_axis_px(&plot->x, row_x(plot, r)),
                rue_axis_px(&plot->y, low), rue_axis_px(&plot->y, high));
    }
    if (begun) fputs("\"/>", drawing->stream);
}

static bool is_joined(const struct plot *plot, size_t row)
{
    return plot->drawing->chart->kind == RUE_CHART_LINES ||
           plot->drawing->table->rows[row].mark == RUE_ROW_JOINED;
}

static const char *series_name(const struct plot *plot, size_t series)
{
    const char *name = plot->drawing->series.names[series];
    return name ? name : plot->drawing->chart->title;
}

static bool is_drawn(const struct plot *plot, size_t row, size_t series)
{
    return is_in(plot, row) && plot->drawing->series.of_row[row] == series && isfinite(row_x(plot, row)) &&
           isfinite(row_y(plot, row));
}

/* Two points show no curve: the line between them is dotted. */
static bool is_curve(const struct plot *plot, size_t series)
{
    size_t count = 0;
    for (size_t r = 0; r < plot->drawing->table->row_count; r++) count += is_drawn(plot, r, series);
    return count > 2;
}

static void begin_path(struct plot *plot, size_t series)
{
    struct rue_drawing *drawing = plot->drawing;
    fprintf(drawing->stream, "<path class=\"l s%zu%s", series % RUE_COLORS,
            is_curve(plot, series) ? "" : " u");
    if (drawing->chart->kind == RUE_CHART_LINES) fprintf(drawing->stream, " k%zu", series % RUE_MARKERS);
    fprintf(drawing->stream, "\"%s d=\"M", series_dash(series));
}

/* A vertex alone needs a segment to be drawn. */
static void end_path(struct plot *plot, size_t series, size_t vertices)
{
    if (!vertices) return;
    fprintf(plot->drawing->stream, "%s\">", vertices == 1 ? "h0" : "");
    rue_drawing_put_title(plot->drawing, "%s", series_name(plot, series));
    fputs("</path>", plot->drawing->stream);
}

/* A row without a value is a gap: a new path begins after it. */
static void draw_line(struct plot *plot, size_t series)
{
    struct rue_drawing *drawing = plot->drawing;
    size_t vertices = 0;
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        if (!is_in(plot, r) || drawing->series.of_row[r] != series) continue;
        if (is_drawn(plot, r, series) && is_joined(plot, r)) {
            if (!vertices) begin_path(plot, series);
            fprintf(drawing->stream, "%s%.1f,%.1f", vertices ? " " : "",
                    rue_axis_px(&plot->x, row_x(plot, r)), rue_axis_px(&plot->y, row_y(plot, r)));
            vertices++;
        } else if (drawing->chart->kind == RUE_CHART_LINES) {
            end_path(plot, series, vertices);
            vertices = 0;
        }
    }
    end_path(plot, series, vertices);
}

/* The texts of a point: its series, its x, its value, and the text of each further column. */
static void put_point_title(struct plot *plot, size_t row)
{
    const struct rue_section *table = plot->drawing->table;
    char text[512];
    size_t used = 0;
    for (size_t c = 0; c < table->column_count && used < sizeof text; c++) {
        if (!table->columns[c].header || !table->columns[c].header[0]) continue;
        char *value = rue_value_text(&table->columns[c], &table->rows[row].values[c], true);
        if (value && value[0] && strcmp(value, RUE_VALUE_NONE) != 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "",
                                     table->columns[c].header, value);
        free(value);
    }
    rue_drawing_put_title(plot->drawing, "%s", text);
}

static void draw_points(struct plot *plot, size_t series)
{
    struct rue_drawing *drawing = plot->drawing;
    const char *shape = rue_chart_shapes[series % RUE_SHAPES];
    bool titled = drawing->table->row_count <= TITLED_POINTS;
    bool begun = false;
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        if (!is_drawn(plot, r, series)) continue;
        if (titled || !begun) fprintf(drawing->stream, "<path class=\"f%zu\" d=\"", series % RUE_COLORS);
        begun = true;
        fprintf(drawing->stream, "M%.1f,%.1f%s", rue_axis_px(&plot->x, row_x(plot, r)),
                rue_axis_px(&plot->y, row_y(plot, r)), shape);
        if (!titled) continue;
        fputs("\">", drawing->stream);
        put_point_title(plot, r);
        fputs("</path>", drawing->stream);
    }
    if (begun && !titled) fputs("\"/>", drawing->stream);
}

/* Above the markers of the line. */
static void draw_predicted(struct plot *plot, size_t series)
{
    struct rue_drawing *drawing = plot->drawing;
    bool begun = false;
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        if (!is_drawn(plot, r, series) || drawing->table->rows[r].mark != RUE_ROW_PREDICTED) continue;
        if (!begun) fprintf(drawing->stream, "<path class=\"o s%zu\" d=\"", series % RUE_COLORS);
        begun = true;
        fprintf(drawing->stream, "M%.1f,%.1f%s", rue_axis_px(&plot->x, row_x(plot, r)),
                rue_axis_px(&plot->y, row_y(plot, r)), rue_chart_shapes[series % RUE_SHAPES]);
    }
    if (begun) fputs("\"/>", drawing->stream);
}

static void draw_winners(struct plot *plot)
{
    struct rue_drawing *drawing = plot->drawing;
    for (size_t r = 0; r < drawing->table->row_count; r++)
        if (drawing->table->rows[r].chosen && is_in(plot, r) && isfinite(row_y(plot, r)))
            fprintf(drawing->stream, "<circle class=\"a\" cx=\"%.1f\" cy=\"%.1f\" r=\"6.5\"/>",
                    rue_axis_px(&plot->x, row_x(plot, r)), rue_axis_px(&plot->y, row_y(plot, r)));
}

static void draw(struct rue_drawing *drawing, size_t panel, int width, int height)
{
    struct plot plot;
    (void)width;
    (void)height;
    open_plot(drawing, panel, &plot);
    if (!plot.x.known || !plot.y.known)
        return rue_drawing_put_text(drawing, LEFT, HEIGHT / 2, "", 40, "no values");
    draw_axes(&plot);
    for (size_t s = 0; s < drawing->series.count; s++) {
        draw_intervals(&plot, s);
        draw_line(&plot, s);
        draw_predicted(&plot, s);
        if (drawing->chart->kind == RUE_CHART_POINTS) draw_points(&plot, s);
    }
    draw_winners(&plot);
}

static void measure(const struct rue_drawing *drawing, size_t panel, int *width, int *height)
{
    (void)drawing;
    (void)panel;
    *width = WIDTH;
    *height = HEIGHT;
}

static void draw_swatch(struct rue_drawing *drawing, size_t entry, double x, double y)
{
    if (entry == drawing->series.count) {
        fprintf(drawing->stream, "<path class=\"o s7\" d=\"M%.0f,%.0f%s\"/>", x + 11, y, rue_chart_shapes[0]);
        return;
    }
    if (drawing->chart->kind == RUE_CHART_LINES)
        fprintf(drawing->stream, "<path class=\"l s%zu\"%s d=\"M%.0f,%.0fh22\"/>", entry % RUE_COLORS,
                series_dash(entry), x, y);
    fprintf(drawing->stream, "<path class=\"f%zu\" d=\"M%.0f,%.0f%s\"/>", entry % RUE_COLORS, x + 11, y,
            rue_chart_shapes[entry % RUE_SHAPES]);
}

const struct rue_chart_drawer rue_chart_plot = {measure, draw, draw_swatch};
