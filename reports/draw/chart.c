#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart_drawing.h"
#include "markup.h"
#include "page_texts.h"
#include "utf8.h"

enum { COLUMNS_ALONE = 2, GAP_PX = 8, LEGEND_LINE_PX = 20, LEGEND_WIDTH_PX = 360, LEGEND_SWATCH_PX = 26 };

/* ---- style ---- */

void rue_chart_write_definitions(FILE *stream)
{
    fputs("<defs>", stream);
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

static void begin_svg(struct rue_drawing *drawing, int width, int height, const char *panel)
{
    fputs("<svg class=\"c\" ", drawing->stream);
    if (drawing->alone)
        fprintf(drawing->stream, "x=\"%d\" y=\"%d\" ", drawing->at_x, drawing->at_y);
    else
        fputs("role=\"img\" ", drawing->stream);
    fprintf(drawing->stream, "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" aria-label=\"", width, height,
            width, height);
    rue_markup_put(drawing->stream, drawing->chart->title);
    fputs(panel[0] ? ": " : "", drawing->stream);
    rue_markup_put(drawing->stream, panel);
    fputs("\">", drawing->stream);
}

static void draw_panels(struct rue_drawing *drawing, bool folded)
{
    const struct rue_chart_drawer *drawer = drawers[drawing->chart->kind];
    for (size_t p = 0; p < drawing->panels.count; p++) {
        int width, height;
        if (drawing->folded[p] != folded) continue;
        const char *name = drawing->panels.names[p] ? drawing->panels.names[p] : "";
        drawer->measure(drawing, p, &width, &height);
        begin_svg(drawing, width, height, name);
        if (name[0]) rue_drawing_put_text(drawing, 4, 13, "t", width / 8, name);
        drawer->draw(drawing, p, width, height);
        fputs("</svg>\n", drawing->stream);
        drawing->at_x += drawing->cell_width + GAP_PX;
        if ((p + 1) % COLUMNS_ALONE && p + 1 < drawing->panels.count) continue;
        drawing->at_x = 0;
        drawing->at_y += drawing->cell_height + GAP_PX;
    }
}

/* ---- legend ---- */

/* Whether a part of bars is long enough to be seen, in any of them. */
static bool is_part_seen(const struct rue_drawing *drawing, size_t part)
{
    const double seen_ratio = 0.003;
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        double total = 0, own = rue_drawing_number(drawing, r, drawing->columns.value + part);
        for (size_t p = 0; p < rue_drawing_parts(drawing); p++)
            total += fmax(rue_drawing_number(drawing, r, drawing->columns.value + p), 0);
        if (own > seen_ratio * total) return true;
    }
    return false;
}

/* Explains only what occurs. */
static void choose_legend(struct rue_drawing *drawing)
{
    const struct rue_chart *chart = drawing->chart;
    bool bars = chart->kind == RUE_CHART_BARS, predicted = false;
    for (size_t p = 0; bars && p < rue_drawing_parts(drawing); p++)
        if (is_part_seen(drawing, p)) drawing->legend[drawing->legend_count++] = p;
    for (size_t s = 0; !bars && s < drawing->series.count && drawing->series.names[s]; s++)
        drawing->legend[drawing->legend_count++] = s;
    for (size_t r = 0; r < drawing->table->row_count; r++)
        predicted |= chart->kind == RUE_CHART_LINES && drawing->table->rows[r].mark == RUE_ROW_PREDICTED;
    if (!bars && drawing->legend_count == 1) drawing->legend_count = 0; /* a series alone */
    if (predicted) drawing->legend[drawing->legend_count++] = drawing->series.count;
}

static const char *legend_name(const struct rue_drawing *drawing, size_t i)
{
    size_t entry = drawing->legend[i];
    if (drawing->chart->kind != RUE_CHART_BARS)
        return entry < drawing->series.count ? drawing->series.names[entry] : "predicted";
    const char *header = drawing->columns.value[entry].header;
    return header ? header : "";
}

/* The width of an entry, by the longest name. */
static int legend_cell(const struct rue_drawing *drawing)
{
    int widest = 0;
    for (size_t i = 0; i < drawing->legend_count; i++) {
        int width = rue_utf8_width(legend_name(drawing, i));
        if (width > widest) widest = width;
    }
    int cell = LEGEND_SWATCH_PX + 12 + 7 * widest;
    return cell < LEGEND_WIDTH_PX ? cell : LEGEND_WIDTH_PX;
}

static int legend_height(const struct rue_drawing *drawing)
{
    size_t columns = (size_t)(LEGEND_WIDTH_PX / legend_cell(drawing));
    return (int)((drawing->legend_count + columns - 1) / columns) * LEGEND_LINE_PX;
}

/* In a file of its own, below the panels. */
static void draw_legend(struct rue_drawing *drawing)
{
    int cell = legend_cell(drawing);
    size_t columns = (size_t)(LEGEND_WIDTH_PX / cell);
    for (size_t i = 0; i < drawing->legend_count; i++) {
        double x = drawing->at_x + (double)(i % columns) * cell,
               y = drawing->at_y + (double)(i / columns) * LEGEND_LINE_PX + 9;
        drawers[drawing->chart->kind]->draw_swatch(drawing, drawing->legend[i], x + 2, y);
        rue_drawing_put_text(drawing, x + LEGEND_SWATCH_PX + 4, y + 4, "", (cell - LEGEND_SWATCH_PX - 4) / 6,
                             legend_name(drawing, i));
    }
}

/* In a page, text that wraps. */
static void put_legend(struct rue_drawing *drawing)
{
    if (!drawing->legend_count) return;
    fputs("<ul>", drawing->stream);
    for (size_t i = 0; i < drawing->legend_count; i++) {
        fprintf(drawing->stream, "<li><svg class=\"c\" width=\"%d\" height=\"12\" aria-hidden=\"true\">",
                LEGEND_SWATCH_PX);
        drawers[drawing->chart->kind]->draw_swatch(drawing, drawing->legend[i], 2, 6);
        fputs("</svg>", drawing->stream);
        rue_markup_put(drawing->stream, legend_name(drawing, i));
    }
    fputs("</ul>\n", drawing->stream);
}

/* ---- folded panels ---- */

enum { FEW = 4 }; /* panels that may be all open, and stand in a row */

/* Whether a panel at this distance has the winner. */
static bool is_near(const bool *wins, size_t panels, size_t panel, size_t distance)
{
    return (panel >= distance && wins[panel - distance]) ||
           (panel + distance < panels && wins[panel + distance]);
}

/* Of many panels three are open: those with the winner, of more the first, middle and last, and of fewer
 * their neighbours, too. Heat maps are compared with each other, so all of them are open. */
static void fold_panels(struct rue_drawing *drawing)
{
    enum { OPEN = 3 };
    bool wins[RUE_GROUPS_MAX] = {false};
    size_t with_winner[RUE_GROUPS_MAX], count = 0, panels = drawing->panels.count;
    if (drawing->chart->kind == RUE_CHART_HEAT || panels <= FEW) return;
    for (size_t r = 0; r < drawing->table->row_count; r++)
        if (drawing->table->rows[r].chosen && drawing->panels.of_row[r] < panels)
            wins[drawing->panels.of_row[r]] = true;
    for (size_t p = 0; p < panels; p++)
        if (wins[p]) with_winner[count++] = p;
    if (!count)
        while (count < panels) with_winner[count] = count, count++;
    for (size_t p = 0; p < panels; p++) drawing->folded[p] = true;
    for (size_t i = 0; count >= OPEN && i < OPEN; i++)
        drawing->folded[with_winner[i * (count - 1) / (OPEN - 1)]] = false;
    for (size_t distance = 0, open = 0; count < OPEN && open < OPEN; distance++)
        for (size_t p = 0; p < panels && open < OPEN; p++)
            if (drawing->folded[p] && is_near(wins, panels, p, distance)) drawing->folded[p] = false, open++;
}

static void draw_folded(struct rue_drawing *drawing)
{
    size_t folded = 0;
    for (size_t p = 0; p < drawing->panels.count; p++) folded += drawing->folded[p];
    if (!folded) return;
    fprintf(drawing->stream, "<details class=\"m\"><summary>%zu more: ", folded);
    for (size_t p = 0, named = 0; p < drawing->panels.count; p++)
        if (drawing->folded[p]) {
            fputs(named++ ? ", " : "", drawing->stream);
            rue_markup_put(drawing->stream, drawing->panels.names[p]);
        }
    fputs("</summary>\n<div class=\"p\">", drawing->stream);
    draw_panels(drawing, true);
    fputs("</div></details>", drawing->stream);
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
    *out = (struct rue_drawing){
        .table = table, .chart = chart, .columns = rue_chart_columns(table, chart), .stream = stream};
    rue_status status = rue_groups_open(table, out->columns.panel, &out->panels, error);
    if (status == RUE_OK) status = rue_groups_open(table, out->columns.series, &out->series, error);
    if (status != RUE_OK) return close_drawing(out), status;
    if (chart->kind == RUE_CHART_LINES) rue_groups_drop_single(table, out->columns.x, &out->panels);
    out->common = (struct rue_axis){
        .unit = out->columns.value->unit, .logarithmic = chart->log_y, .from_zero = chart->from_zero};
    for (size_t r = 0; r < table->row_count; r++)
        rue_axis_include(&out->common, rue_drawing_number(out, r, out->columns.value));
    choose_legend(out);
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
    const struct rue_drawing drawing = {.table = table};
    const struct rue_table_column *value = rue_column_find(table, chart->value),
                                  *x = rue_column_find(table, chart->x);
    double first = NAN;
    for (size_t r = 0; r < table->row_count; r++) {
        if (!isfinite(rue_drawing_number(&drawing, r, value))) continue;
        if (chart->kind != RUE_CHART_LINES) return true;
        double at = rue_drawing_number(&drawing, r, x);
        if (isnan(first)) first = at;
        if (at != first) return true;
    }
    return false;
}

rue_status rue_chart_write(const struct rue_section *table, const struct rue_chart *chart, FILE *stream,
                           rue_error *error)
{
    struct rue_drawing drawing;
    size_t open = 0;
    rue_status status = open_drawing(table, chart, stream, &drawing, error);
    if (status != RUE_OK) return status;
    fold_panels(&drawing);
    for (size_t p = 0; p < drawing.panels.count; p++) open += !drawing.folded[p];
    fprintf(stream, "<div class=\"p p%zu\">\n", open < FEW ? open : FEW);
    draw_panels(&drawing, false);
    fputs("</div>\n", stream);
    put_legend(&drawing);
    draw_folded(&drawing);
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
            RUE_CHART_FILE_MARK
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
    draw_panels(&drawing, false);
    draw_legend(&drawing);
    fputs("</svg>\n", stream);
    close_drawing(&drawing);
    return rue_report_finish(stream, error);
}
