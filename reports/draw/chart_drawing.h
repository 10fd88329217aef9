/* A chart while it is drawn: what the kinds of charts share. */
#ifndef RUE_CHART_DRAWING_H
#define RUE_CHART_DRAWING_H

#include <stdarg.h>

#include "chart_axis.h"

enum { RUE_GROUPS_MAX = 48, RUE_COLORS = 8, RUE_SHAPES = 6, RUE_MARKERS = 24 };

/* Paths of the points of series, around (0, 0). */
extern const char *const rue_chart_shapes[RUE_SHAPES];

/* Rows with the same value of a column. */
struct rue_groups {
    size_t count;                /* further groups are not drawn */
    char *names[RUE_GROUPS_MAX]; /* [count], owned; NULL: one group, without a column */
    size_t *of_row;              /* [rows]; RUE_GROUPS_MAX: not drawn */
};

/* RUE_MEMORY. Close `out` in any case. */
rue_status rue_groups_open(const struct rue_section *table, const struct rue_table_column *column,
                           struct rue_groups *out, rue_error *error) RUE_MUST_CHECK;
void rue_groups_close(struct rue_groups *groups);

/* Leaves out groups whose rows all have the same x, unless that leaves none. */
void rue_groups_drop_single(const struct rue_section *table, const struct rue_table_column *x,
                            struct rue_groups *groups);

/* The columns that the keys of a chart name; NULL: none. */
struct rue_chart_columns {
    const struct rue_table_column *x, *y, *value, *last, *low, *high, *series, *panel, *caption;
};
struct rue_chart_columns rue_chart_columns(const struct rue_section *table, const struct rue_chart *chart);

struct rue_drawing {
    const struct rue_section *table;
    const struct rue_chart *chart;
    struct rue_chart_columns columns;
    FILE *stream;
    bool alone; /* a file of its own: panels have a position */
    int at_x, at_y, cell_width, cell_height;
    struct rue_groups panels, series;
    struct rue_axis common; /* of the values in all panels */
    size_t legend_count;
    size_t legend[RUE_GROUPS_MAX + 1]; /* series or parts; of lines, series.count: predicted points */
    bool folded[RUE_GROUPS_MAX];       /* panels that are drawn after the others */
};

struct rue_chart_drawer {
    void (*measure)(const struct rue_drawing *drawing, size_t panel, int *width, int *height);
    void (*draw)(struct rue_drawing *drawing, size_t panel, int width, int height);
    void (*draw_swatch)(struct rue_drawing *drawing, size_t entry, double x, double y);
};
extern const struct rue_chart_drawer rue_chart_heat, rue_chart_plot, rue_chart_bars;

/* The number of parts of a bar. */
static inline size_t rue_drawing_parts(const struct rue_drawing *drawing)
{
    return (size_t)(drawing->columns.last - drawing->columns.value) + 1;
}

/* The value for people; the caller owns it; NULL: out of memory. */
char *rue_drawing_value(const struct rue_drawing *drawing, size_t row, const struct rue_table_column *column);

/* NaN or "" without that column or value. */
double rue_drawing_number(const struct rue_drawing *drawing, size_t row,
                          const struct rue_table_column *column);
const char *rue_drawing_text(const struct rue_drawing *drawing, size_t row,
                             const struct rue_table_column *column);

/* Writes at most `most` characters; `look` is a list of classes. */
void rue_drawing_put_text(struct rue_drawing *drawing, double x, double y, const char *look, int most,
                          const char *text);

/* Places on an axis, evenly spaced: the ascending distinct values of a column. */
enum { RUE_PLACES_MAX = 64 };
struct rue_places {
    const struct rue_table_column *column;
    size_t count;
    double at[RUE_PLACES_MAX];
    size_t rows[RUE_PLACES_MAX]; /* a row with that value, for its text */
};
void rue_places_collect(const struct rue_drawing *drawing, size_t panel,
                        const struct rue_table_column *column, struct rue_places *out);

/* `count` if the value is not among them. */
size_t rue_places_find(const struct rue_places *places, double value);

/* Writes the value of place `i`, as rue_drawing_put_text. */
void rue_drawing_put_place(struct rue_drawing *drawing, const struct rue_places *places, size_t i, double x,
                           double y, const char *look);

/* A text that shows while the pointer is on the element that it is in. */
void rue_drawing_put_title(struct rue_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "time of the job (s)" */
void rue_drawing_axis_title(const struct rue_drawing *drawing, const struct rue_axis *axis,
                            const struct rue_table_column *column, char *out, size_t bytes);

#endif
