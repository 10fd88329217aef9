#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart_drawing.h"
#include "markup.h"
#include "page_texts.h"
#include "utf8.h"

enum { COLUMNS_ALONE = 2, GAP_PX = 8, LEGEND_LINE_PX = 18, LEGEND_WIDTH_PX = 360, LEGEND_SWATCH_PX = 26 };

/* ---- style ---- */

void rue_chart_write_definitions(FILE *stream)
{
    fputs("<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
          "<path d=\"M-1,1l2,-2M0,6l6,-6M5,7l2,-2\" stroke=\"#fff\" stroke-opacity=\".32\" "
          "stroke-width=\"1.3\"/>"
          "</pattern>",
          stream);
    for (size_t m = 0; m < RUE_MARKERS; m++)
        fprintf(stream,
                "<marker id=\"k%zu\" markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"9\" "
                "viewBox=\"-4.5 -4.5 9 9\"><path class=\"f%zu\" d=\"M0,0%s\"/></marker>",
                m, m % RUE_COLORS, rue_chart_shapes[m % RUE_SHAPES]);
    fputs("</defs>", stream);
}

/* ---- panels ---- */

static const struct rue_chart_drawer *const drawers[] = {[RUE_CHART_HEAT] = &rue_chart_heat,
                                                         [RUE_CHART_LINES] = &rue_chart_plot,
                                                         [RUE_CHART_POINTS] = &rue_chart_plot,
                                                         [RUE_CHART_BARS] = &rue_chart_bars};

static void begin_svg(struct rue_drawing *drawing, int width, int height, const char *what)
{
    fputs("<svg class=\"c\" ", drawing->stream);
    if (drawing->alone)
        fprintf(drawing->stream, "x=\"%d\" y=\"%d\" ", drawing->at_x, drawing->at_y);
    else
        fputs("role=\"img\" ", drawing->stream);
    fprintf(drawing->stream, "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" aria-label=\"", width, height,
            width, height);
    rue_markup_put(drawing->stream, drawing->chart->title);
    fputs(what[0] ? ": " : "", drawing->stream);
    rue_markup_put(drawing->stream, what);
    fputs("\">", drawing->stream);
}

static void draw_panels(struct rue_drawing *drawing)
{
    const struct rue_chart_drawer *drawer = drawers[drawing->chart->kind];
    for (size_t p = 0; p < drawing->panels.count; p++) {
        int width, height;
        const char *name = drawing->panels.names[p] ? drawing->panels.names[p] : "";
        drawer->measure(drawing, p, &width, &height);
        begin_svg(drawing, width, height, name);
        if (name[0]) rue_drawing_put_text(drawing, 4, 13, "t", width / 7, name);
        drawer->draw(drawing, p, width, height);
        fputs("</svg>\n", drawing->stream);
        drawing->at_x += drawing->cell_width + GAP_PX;
        if ((p + 1) % COLUMNS_ALONE && p + 1 < drawing->panels.count) continue;
        drawing->at_x = 0;
        drawing->at_y += drawing->cell_height + GAP_PX;
    }
}

/* ---- legend ---- */

static size_t legend_count(const struct rue_drawing *drawing)
{
    if (drawing->chart->kind == RUE_CHART_BARS) return (size_t)drawing->chart->part_count;
    return drawing->series.count > 1 || drawing->series.names[0] ? drawing->series.count : 0;
}

static const char *legend_name(const struct rue_drawing *drawing, size_t i)
{
    if (drawing->chart->kind != RUE_CHART_BARS) return drawing->series.names[i];
    const char *header = rue_drawing_column(drawing, drawing->chart->value + (int)i)->header;
    return header ? header : "";
}

/* The width of an entry, by the longest name. */
static int legend_cell(const struct rue_drawing *drawing)
{
    int widest = 0;
    for (size_t i = 0; i < legend_count(drawing); i++) {
        int width = rue_utf8_width(legend_name(drawing, i));
        if (width > widest) widest = width;
    }
    int cell = LEGEND_SWATCH_PX + 12 + 7 * widest;
    return cell < LEGEND_WIDTH_PX ? cell : LEGEND_WIDTH_PX;
}

static int legend_height(const struct rue_drawing *drawing)
{
    size_t columns = (size_t)(LEGEND_WIDTH_PX / legend_cell(drawing));
    return (int)((legend_count(drawing) + columns - 1) / columns) * LEGEND_LINE_PX;
}

static void draw_legend(struct rue_drawing *drawing)
{
    size_t count = legend_count(drawing);
    int cell = legend_cell(drawing);
    size_t columns = (size_t)(LEGEND_WIDTH_PX / cell);
    if (!count) return;
    begin_svg(drawing, LEGEND_WIDTH_PX, legend_height(drawing), "legend");
    for (size_t i = 0; i < count; i++) {
        double x = (double)(i % columns) * cell, y = (double)(i / columns) * LEGEND_LINE_PX + 9;
        drawers[drawing->chart->kind]->draw_swatch(drawing, i, x + 2, y);
        rue_drawing_put_text(drawing, x + LEGEND_SWATCH_PX + 4, y + 4, "", (cell - LEGEND_SWATCH_PX - 4) / 6,
                             legend_name(drawing, i));
    }
    fputs("</svg>\n", drawing->stream);
}

/* ---- charts ---- */

static void close_drawing(struct rue_drawing *drawing)
{
    rue_groups_close(&drawing->panels);
    rue_groups_close(&drawing->series);
}

static rue_status open_drawing(const struct rue_section *table, const struct rue_chart *chart, FILE *stream,
                               struct rue_drawing *out, rue_error *error)
{
    *out = (struct rue_drawing){.table = table, .chart = chart, .stream = stream};
    rue_status status = rue_groups_open(table, chart->panel, &out->panels, error);
    if (status == RUE_OK) status = rue_groups_open(table, chart->series, &out->series, error);
    if (status != RUE_OK) return close_drawing(out), status;
    if (chart->kind == RUE_CHART_LINES) rue_groups_drop_single(table, chart->x, &out->panels);
    out->common = (struct rue_axis){.unit = rue_drawing_column(out, chart->value)->unit,
                                    .logarithmic = chart->log_y,
                                    .from_zero = chart->from_zero};
    for (size_t r = 0; r < table->row_count; r++)
        rue_axis_include(&out->common, rue_drawing_number(out, r, chart->value));
    for (size_t p = 0; p < out->panels.count; p++) {
        int width, height;
        drawers[chart->kind]->measure(out, p, &width, &height);
        if (width > out->cell_width) out->cell_width = width;
        if (height > out->cell_height) out->cell_height = height;
    }
    return RUE_OK;
}

bool rue_chart_is_drawn(const struct rue_section *table, const struct rue_chart *chart)
{
    for (size_t r = 0; r < table->row_count; r++) {
        const struct rue_value *value = &table->rows[r].values[chart->value - 1];
        if (value->is_number && isfinite(value->number)) return true;
    }
    return false;
}

rue_status rue_chart_write(const struct rue_section *table, const struct rue_chart *chart, FILE *stream,
                           rue_error *error)
{
    struct rue_drawing drawing;
    rue_status status = open_drawing(table, chart, stream, &drawing, error);
    if (status != RUE_OK) return status;
    draw_panels(&drawing);
    draw_legend(&drawing);
    close_drawing(&drawing);
    return RUE_OK;
}

rue_status rue_chart_write_file(const struct rue_section *table, const struct rue_chart *chart, FILE *stream,
                                rue_error *error)
{
    const int head = 30, margin = 10;
    struct rue_drawing drawing;
    rue_status status = open_drawing(table, chart, stream, &drawing, error);
    if (status != RUE_OK) return status;
    drawing.alone = true;
    size_t columns = drawing.panels.count < COLUMNS_ALONE ? drawing.panels.count : COLUMNS_ALONE;
    int lines = (int)((drawing.panels.count + COLUMNS_ALONE - 1) / COLUMNS_ALONE);
    int width = (int)columns * (drawing.cell_width + GAP_PX), title_width = 8 * rue_utf8_width(chart->title);
    if (width < title_width) width = title_width;
    if (width < LEGEND_WIDTH_PX) width = LEGEND_WIDTH_PX;
    int height = head + lines * (drawing.cell_height + GAP_PX) + legend_height(&drawing);
    fprintf(stream,
            RUE_PAGE_SVG_MARK
            "xmlns=\"http://www.w3.org/2000/svg\" class=\"c\" width=\"%d\" height=\"%d\" viewBox=\"-%d "
            "-%d %d %d\">\n<title>",
            width + 2 * margin, height + 2 * margin, margin, margin, width + 2 * margin, height + 2 * margin);
    rue_markup_put(stream, chart->title);
    fprintf(stream,
            "</title>\n<style>%s</style>\n<rect x=\"-%d\" y=\"-%d\" width=\"%d\" height=\"%d\" "
            "fill=\"#fff\"/>",
            rue_chart_css, margin, margin, width + 2 * margin, height + 2 * margin);
    rue_chart_write_definitions(stream);
    rue_drawing_put_text(&drawing, 4, 12, "t", 1000, chart->title);
    drawing.at_y = head;
    draw_panels(&drawing);
    draw_legend(&drawing);
    fputs("</svg>\n", stream);
    close_drawing(&drawing);
    return rue_report_finish(stream, error);
}
