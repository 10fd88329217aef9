/* A heat map in a terminal: coloured cells where the terminal has enough colours, else only their values with
 * marks. Columns and rows that do not fit are left out around the best configuration. */
#include "section_heat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart_heat.h"
#include "utf8.h"
#include "wrap.h"

enum { INDENT = 2, BRIEF_LINES = 10, CELLS_MIN = 4, LABEL_BYTES = 64 };

/* The marks in use, for the legend. */
enum mark { MARK_CHOSEN, MARK_PREDICTED, MARK_FAILED, MARK_MISSING, MARKS };

/* The values of an axis, and those that are shown. */
struct side {
    struct rue_places values;
    size_t first, count;
    int width; /* of the widest label */
};

struct map {
    struct rue_drawing drawing;
    const struct rue_report_style *style;
    struct side x, y;
    int cell; /* width */
    bool used[MARKS];
};

static char *make_label(const struct map *map, const struct side *side, size_t i)
{
    char *text = rue_drawing_value(&map->drawing, side->values.rows[i], side->values.column);
    return text ? text : strdup("");
}

/* Shows at most `most` values, with that of the row `chosen` in the middle if possible. */
static void choose_window(struct side *side, size_t most, double chosen)
{
    size_t all = side->values.count, at = rue_places_find(&side->values, chosen);
    side->count = most < all ? most : all;
    side->first = at == all || at < side->count / 2 ? 0 : at - side->count / 2;
    if (side->first + side->count > all) side->first = all - side->count;
}

static void open_side(struct map *map, size_t panel, const struct rue_table_column *column, struct side *side)
{
    rue_places_collect(&map->drawing, panel, column, &side->values);
    side->width = 0;
    for (size_t i = 0; i < side->values.count; i++) {
        char *label = make_label(map, side, i);
        int width = label ? rue_utf8_width(label) : 0;
        if (width > side->width) side->width = width;
        free(label);
    }
}

static int widest_cell(const struct map *map, size_t panel)
{
    int widest = 1;
    for (size_t r = 0; r < map->drawing.table->row_count; r++) {
        char text[RUE_AXIS_TEXT_BYTES];
        double value = rue_drawing_number(&map->drawing, r, map->drawing.columns.value);
        if (map->drawing.panels.of_row[r] != panel || !isfinite(value)) continue;
        rue_heat_text(&map->drawing, value, text);
        if ((int)strlen(text) > widest) widest = (int)strlen(text);
    }
    return widest;
}

/* Lays out a panel. False: the window is too narrow, or there is too little to show. */
static bool lay_out(struct map *map, size_t panel)
{
    const struct rue_chart_columns *axes = &map->drawing.columns;
    const struct rue_section *table = map->drawing.table;
    double x = NAN, y = NAN;
    for (size_t r = 0; r < table->row_count; r++)
        if (table->rows[r].chosen && map->drawing.panels.of_row[r] == panel) {
            x = rue_drawing_number(&map->drawing, r, axes->x);
            y = rue_drawing_number(&map->drawing, r, axes->y);
        }
    open_side(map, panel, axes->x, &map->x);
    open_side(map, panel, axes->y, &map->y);
    map->cell = widest_cell(map, panel) + 2;
    if (map->cell <= map->x.width) map->cell = map->x.width + 1;
    int columns = map->style->columns, space = columns - INDENT - map->y.width - 1;
    choose_window(&map->x, columns > 0 ? (size_t)(space > 0 ? space / map->cell : 0) : SIZE_MAX, x);
    choose_window(&map->y, map->style->brief ? BRIEF_LINES : SIZE_MAX, y);
    return map->x.values.count * map->y.values.count >= CELLS_MIN &&
           (map->x.count > 1 || map->x.count == map->x.values.count);
}

/* ---- cells ---- */

/* The steps of both scales in a terminal with 256 colours. */
struct step {
    int color;
    bool dark;
};

static struct step find_step(const struct rue_drawing *drawing, double value)
{
    static const struct step rising[] = {{17, true},   {24, true},   {60, true},  {102, false},
                                         {144, false}, {186, false}, {222, false}},
                             diverging[] = {
                                 {25, true}, {110, false}, {255, false}, {179, false}, {130, true}};
    bool diverges = rue_heat_diverges(drawing);
    size_t last = (diverges ? sizeof diverging : sizeof rising) / sizeof *rising - 1;
    return (diverges ? diverging : rising)[lround(rue_heat_share(drawing, value) * (double)last)];
}

static void begin_color(const struct map *map, double value, bool chosen, FILE *stream)
{
    const int white = 231, black = 16;
    struct rue_heat_color color = rue_heat_color(&map->drawing, value);
    struct step step = find_step(&map->drawing, value);
    bool full = map->style->color_bits == 24, dark = full ? rue_heat_is_dark(color) : step.dark;
    if (full)
        fprintf(stream, "\033[48;2;%d;%d;%dm", (int)color.r, (int)color.g, (int)color.b);
    else
        fprintf(stream, "\033[48;5;%dm", step.color);
    fprintf(stream, "\033[38;5;%dm%s", dark ? white : black, chosen ? "\033[1m" : "");
}

/* `gap`: the space to the next cell. */
static void write_cell(struct map *map, size_t row, const char *gap, FILE *stream)
{
    const struct rue_drawing *drawing = &map->drawing;
    double value = rue_drawing_number(drawing, row, drawing->columns.value);
    const struct rue_table_row *own = &drawing->table->rows[row];
    bool chosen = own->chosen, predicted = own->mark == RUE_ROW_PREDICTED,
         failed = own->mark == RUE_ROW_FAILED;
    char text[RUE_AXIS_TEXT_BYTES], mark = chosen ? '[' : predicted ? '~' : ' ';
    if (!isfinite(value)) {
        map->used[failed ? MARK_FAILED : MARK_MISSING] = true;
        fprintf(stream, "%*s%s", map->cell - 1, failed ? "x" : ".", gap);
        return;
    }
    rue_heat_text(drawing, value, text);
    map->used[MARK_CHOSEN] |= chosen;
    map->used[MARK_PREDICTED] |= !chosen && predicted;
    if (map->style->color_bits) begin_color(map, value, chosen, stream);
    fprintf(stream, "%c%*s%s", mark, map->cell - 2, text, chosen ? "]" : map->style->color_bits ? " " : gap);
    if (map->style->color_bits) fputs("\033[0m", stream);
}

/* The row of the table at a place of the map, or the number of rows. */
static size_t find_row(const struct map *map, size_t panel, double x, double y)
{
    const struct rue_drawing *drawing = &map->drawing;
    size_t r = 0;
    while (r < drawing->table->row_count &&
           (drawing->panels.of_row[r] != panel || rue_drawing_number(drawing, r, drawing->columns.x) != x ||
            rue_drawing_number(drawing, r, drawing->columns.y) != y))
        r++;
    return r;
}

static void write_label(const struct map *map, const struct side *side, size_t i, int width, FILE *stream)
{
    char *label = make_label(map, side, i);
    int padding = width - (label ? rue_utf8_width(label) : 0);
    fprintf(stream, "%*s%s", padding > 0 ? padding : 0, "", label ? label : "");
    free(label);
}

static void write_line(struct map *map, size_t panel, double y, FILE *stream)
{
    size_t end = map->x.first + map->x.count;
    for (size_t i = map->x.first; i < end; i++) {
        size_t row = find_row(map, panel, map->x.values.at[i], y);
        const char *gap = i + 1 < end ? " " : "";
        if (row < map->drawing.table->row_count)
            write_cell(map, row, gap, stream);
        else
            fprintf(stream, "%*s", i + 1 < end ? map->cell : 0, "");
    }
}

static void write_cells(struct map *map, size_t panel, FILE *stream)
{
    const char *dim = map->style->color ? "\033[2m" : "", *end = map->style->color ? "\033[0m" : "";
    fprintf(stream, "%s%*s", dim, INDENT + map->y.width, "");
    for (size_t i = 0; i < map->x.count; i++) write_label(map, &map->x, map->x.first + i, map->cell, stream);
    fprintf(stream, "%s\n", end);
    for (size_t j = map->y.first; j < map->y.first + map->y.count; j++) {
        fprintf(stream, "%s%*s", dim, INDENT, "");
        write_label(map, &map->y, j, map->y.width, stream);
        fprintf(stream, "%s ", end);
        write_line(map, panel, map->y.values.at[j], stream);
        fputc('\n', stream);
    }
}

/* ---- texts ---- */

static void write_text(const struct map *map, bool dim, const char *text, FILE *stream)
{
    char *clean = rue_utf8_cleaned(text, map->style->unicode, true);
    bool colored = map->style->color && dim;
    fputs(colored ? "\033[2m" : "", stream);
    rue_wrap(stream, clean ? clean : "", map->style->columns, INDENT);
    fputs(colored ? "\033[0m\n" : "\n", stream);
    free(clean);
}

static const char *axis_name(const struct side *side)
{
    const char *header = side->values.column->header;
    return header ? header : "";
}

static void write_legend(const struct map *map, FILE *stream)
{
    static const char *const marks[] = {[MARK_CHOSEN] = "[ ] recommended",
                                        [MARK_PREDICTED] = "~ predicted",
                                        [MARK_FAILED] = "x failed or does not fit",
                                        [MARK_MISSING] = ". not ranked"};
    const struct side *sides[] = {&map->x, &map->y};
    char text[512] = "";
    size_t used = 0;
    if (map->style->color_bits)
        used = (size_t)snprintf(text, sizeof text, "%s",
                                rue_heat_diverges(&map->drawing) ? "blue: below 0, orange: above"
                                                                 : "dark is good");
    for (int m = 0; m < MARKS; m++)
        if (map->used[m])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "; " : "", marks[m]);
    for (int s = 0; s < 2; s++) {
        size_t hidden = sides[s]->values.count - sides[s]->count;
        if (hidden && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu more value%s of %.80s not shown",
                                     used ? "; " : "", hidden, hidden == 1 ? "" : "s", axis_name(sides[s]));
    }
    if (used) write_text(map, true, text, stream);
}

static void write_panel(struct map *map, size_t panel, FILE *stream)
{
    const struct rue_chart *chart = map->drawing.chart;
    const char *name = map->drawing.panels.names[panel];
    char title[1024];
    memset(map->used, 0, sizeof map->used);
    snprintf(title, sizeof title, "%.700s%s%.80s: %.80s across, %.80s down", chart->title, name ? ", " : "",
             name ? name : "", axis_name(&map->x), axis_name(&map->y));
    write_text(map, false, title, stream);
    write_cells(map, panel, stream);
    write_legend(map, stream);
}

/* ---- maps ---- */

static void close_map(struct map *map)
{
    rue_groups_close(&map->drawing.panels);
}

static rue_status open_map(const struct rue_section *table, const struct rue_report_style *style,
                           struct map *out, rue_error *error)
{
    const struct rue_chart *chart = &table->charts[0];
    *out =
        (struct map){.drawing = {.table = table, .chart = chart, .columns = rue_chart_columns(table, chart)},
                     .style = style};
    rue_status status = rue_groups_open(table, out->drawing.columns.panel, &out->drawing.panels, error);
    if (status != RUE_OK) return close_map(out), status;
    for (size_t r = 0; r < table->row_count; r++)
        rue_axis_include(&out->drawing.common,
                         rue_drawing_number(&out->drawing, r, out->drawing.columns.value));
    return RUE_OK;
}

rue_status rue_heat_write(const struct rue_section *table, const struct rue_report_style *style, FILE *stream,
                          bool *shown, rue_error *error)
{
    struct map map;
    *shown = false;
    rue_status status = open_map(table, style, &map, error);
    if (status != RUE_OK) return status;
    for (size_t p = 0; p < map.drawing.panels.count; p++) {
        if (!lay_out(&map, p)) continue;
        if (stream && *shown) fputc('\n', stream);
        if (stream) write_panel(&map, p, stream);
        *shown = true;
    }
    close_map(&map);
    return RUE_OK;
}
