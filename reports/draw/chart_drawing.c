#include "chart_drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "utf8.h"

/* ---- columns ---- */

struct rue_chart_columns rue_chart_columns(const struct rue_section *table, const struct rue_chart *chart)
{
    return (struct rue_chart_columns){.x = rue_column_find(table, chart->x),
                                      .y = rue_column_find(table, chart->y),
                                      .value = rue_column_find(table, chart->value),
                                      .last = rue_column_find(table, chart->last),
                                      .low = rue_column_find(table, chart->low),
                                      .high = rue_column_find(table, chart->high),
                                      .series = rue_column_find(table, chart->series),
                                      .panel = rue_column_find(table, chart->panel),
                                      .caption = rue_column_find(table, chart->caption)};
}

static const struct rue_value *row_value(const struct rue_section *table, size_t row,
                                         const struct rue_table_column *column)
{
    return &table->rows[row].values[column - table->columns];
}

/* ---- groups ---- */

void rue_groups_close(struct rue_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) free(groups->names[i]);
    free(groups->of_row);
}

/* The name of a number is its header and itself: "batch size 32". */
static char *group_name(const struct rue_section *table, size_t row, const struct rue_table_column *column)
{
    char *text = rue_value_text(column, row_value(table, row, column), true), *name = NULL;
    if (!text || !rue_column_is_number(column) || !column->header) return text;
    if (asprintf(&name, "%s %s", column->header, text) < 0) name = NULL;
    free(text);
    return name;
}

rue_status rue_groups_open(const struct rue_section *table, const struct rue_table_column *column,
                           struct rue_groups *out, rue_error *error)
{
    *out = (struct rue_groups){.of_row = calloc(table->row_count + 1, sizeof *out->of_row)};
    if (!out->of_row) return rue_fail_memory(error, "a chart", table->row_count * sizeof *out->of_row);
    if (!column) return out->count = 1, RUE_OK;
    for (size_t r = 0; r < table->row_count; r++) {
        char *name = group_name(table, r, column);
        if (!name) return rue_fail_memory(error, "a chart", RUE_AXIS_TEXT_BYTES);
        size_t g = 0;
        while (g < out->count && strcmp(out->names[g], name) != 0) g++;
        out->of_row[r] = g;
        if (g == out->count && g < RUE_GROUPS_MAX)
            out->names[out->count++] = name;
        else
            free(name);
    }
    return RUE_OK;
}

void rue_groups_drop_single(const struct rue_section *table, const struct rue_table_column *x,
                            struct rue_groups *groups)
{
    double first[RUE_GROUPS_MAX];
    bool several[RUE_GROUPS_MAX] = {false}, any = false;
    size_t place[RUE_GROUPS_MAX], kept = 0;
    for (size_t g = 0; g < groups->count; g++) first[g] = NAN;
    for (size_t r = 0; r < table->row_count; r++) {
        double at = row_value(table, r, x)->number;
        size_t g = groups->of_row[r];
        if (g >= groups->count) continue;
        if (isnan(first[g])) first[g] = at;
        several[g] |= at != first[g];
        any |= several[g];
    }
    if (!any) return;
    for (size_t g = 0; g < groups->count; g++) {
        place[g] = several[g] ? kept : RUE_GROUPS_MAX;
        if (several[g])
            groups->names[kept++] = groups->names[g];
        else
            free(groups->names[g]);
    }
    for (size_t r = 0; r < table->row_count; r++)
        if (groups->of_row[r] < groups->count) groups->of_row[r] = place[groups->of_row[r]];
    groups->count = kept;
}

/* ---- what kinds share ---- */

char *rue_drawing_value(const struct rue_drawing *drawing, size_t row, const struct rue_table_column *column)
{
    return rue_value_text(column, row_value(drawing->table, row, column), true);
}

double rue_drawing_number(const struct rue_drawing *drawing, size_t row,
                          const struct rue_table_column *column)
{
    return column && rue_column_is_number(column) ? row_value(drawing->table, row, column)->number : NAN;
}

const char *rue_drawing_text(const struct rue_drawing *drawing, size_t row,
                             const struct rue_table_column *column)
{
    const char *text = column ? row_value(drawing->table, row, column)->text : NULL;
    return text ? text : "";
}

void rue_places_collect(const struct rue_drawing *drawing, size_t panel,
                        const struct rue_table_column *column, struct rue_places *out)
{
    out->column = column;
    out->count = 0;
    for (size_t r = 0; r < drawing->table->row_count; r++) {
        double value = rue_drawing_number(drawing, r, column);
        size_t i = 0;
        if (drawing->panels.of_row[r] != panel || !isfinite(value)) continue;
        while (i < out->count && out->at[i] < value) i++;
        if ((i < out->count && out->at[i] == value) || out->count == RUE_PLACES_MAX) continue;
        memmove(&out->at[i + 1], &out->at[i], (out->count - i) * sizeof *out->at);
        memmove(&out->rows[i + 1], &out->rows[i], (out->count - i) * sizeof *out->rows);
        out->at[i] = value;
        out->rows[i] = r;
        out->count++;
    }
}

size_t rue_places_find(const struct rue_places *places, double value)
{
    size_t i = 0;
    while (i < places->count && places->at[i] != value) i++;
    return i;
}

void rue_drawing_put_text(struct rue_drawing *drawing, double x, double y, const char *look, int most,
                          const char *text)
{
    char shown[512];
    if (strlen(text) + 4 > sizeof shown || rue_utf8_width(text) > most) {
        char *start = strndup(text, sizeof shown - 8);
        rue_utf8_shorten(start ? start : "", most, true, shown, sizeof shown);
        free(start);
        text = shown;
    }
    fprintf(drawing->stream, "<text x=\"%.0f\" y=\"%.0f\"%s%s%s>", x, y, look[0] ? " class=\"" : "", look,
            look[0] ? "\"" : "");
    rue_markup_put(drawing->stream, text);
    fputs("</text>", drawing->stream);
}

void rue_drawing_put_place(struct rue_drawing *drawing, const struct rue_places *places, size_t i, double x,
                           double y, const char *look)
{
    char *text = rue_drawing_value(drawing, places->rows[i], places->column);
    rue_drawing_put_text(drawing, x, y, look, 8, text ? text : "");
    free(text);
}

void rue_drawing_put_title(struct rue_drawing *drawing, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs("<title>", drawing->stream);
    rue_markup_put(drawing->stream, text);
    fputs("</title>", drawing->stream);
}

void rue_drawing_axis_title(const struct rue_drawing *drawing, const struct rue_axis *axis,
                            const struct rue_table_column *column, char *out, size_t bytes)
{
    const char *header = column->header;
    if (column == drawing->columns.x && drawing->chart->x_title) header = drawing->chart->x_title;
    bool logarithmic = axis->logarithmic && column != drawing->columns.x;
    snprintf(out, bytes, "%s%s%s%s%s", header ? header : "", axis->suffix[0] ? " (" : "", axis->suffix,
             axis->suffix[0] ? ")" : "", logarithmic ? ", log scale" : "");
}
