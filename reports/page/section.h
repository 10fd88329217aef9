/* A report as data: a page of headings, sentences and tables, and its writers in JSON and CSV; those for
 * people are in page_writers.h. Charts draw tables. Texts may hold anything: each writer makes them safe for
 * its format. A page that ran out of memory is marked as failed and ignores additions; its writer returns
 * the error. */
#ifndef RUE_SECTION_H
#define RUE_SECTION_H

#include <jansson.h>
#include <stdio.h>

#include "config.h"
#include "error.h"

/* How a report for people may look. */
struct rue_report_style {
    bool color;
    bool unicode;
    int columns;    /* width of the terminal; 0: unlimited */
    bool brief;     /* without the answers of --details */
    bool maps;      /* with heat maps */
    int color_bits; /* of the cells of heat maps: 24 or 8; 0: no colour */
};

enum rue_look {
    RUE_LOOK_PLAIN,
    RUE_LOOK_BOLD,
    RUE_LOOK_DIM,
    RUE_LOOK_CODE, /* lines to copy */
    RUE_LOOK_COUNT
};

enum rue_unit {
    RUE_UNIT_TEXT,     /* a text or a configuration; the others are numbers */
    RUE_UNIT_NUMBER,   /* with `digits` decimals */
    RUE_UNIT_COUNT,    /* "9,469" */
    RUE_UNIT_PERCENT,  /* of a ratio: "1.3 %" */
    RUE_UNIT_TIMES,    /* "1.31 x" */
    RUE_UNIT_DURATION, /* of nanoseconds */
    RUE_UNIT_BYTES,
    RUE_UNIT_SCALED, /* "25.6 M" */
    RUE_UNIT_FLAG,
    RUE_UNIT_BAR, /* of a share of 1 */
};

/* A column of a table, with its value in one row. */
struct rue_table_column {
    const char *key;    /* in JSON and CSV, and for charts; NULL: in none of them. Borrowed */
    const char *header; /* for people; may break at a space or after a '_'. NULL: not shown to people */
    enum rue_unit unit;
    const char *text;
    const struct rue_config *config; /* in place of a text; borrowed until the page is closed */
    double number;                   /* NaN: unknown; "-" for people, null in JSON, empty in CSV */
    char mark;                       /* before the number, for people; 0: none */
    bool absent;                     /* the table has no such column */
    int digits;
    int shrink_to; /* may be shortened to this many characters; 0: never */
    int drop;      /* omitted if the table is too wide: 1 first, then 2 up to RUE_DROPS; 0: never */
    bool right;    /* aligned to the right, as numbers are */
    bool folds;    /* may move to another table below, if the table is too wide */
    bool listed;   /* in JSON, columns of the same key form a list */
};
enum { RUE_DROPS = 4, RUE_TABLE_COLUMNS_MAX = 64 };

/* The value of a column in a row. */
struct rue_value {
    const char *text; /* owned */
    const struct rue_config *config;
    double number;
    char mark;
};

/* How charts draw a row. */
enum rue_row_mark {
    RUE_ROW_PLAIN,
    RUE_ROW_PREDICTED, /* a cell of a heat map is pale and has a dot, a point of a line is hollow */
    RUE_ROW_UNCHANGED, /* a cell of a heat map is pale and has a dot */
    RUE_ROW_FAILED,    /* a cell of a heat map is crossed out */
    RUE_ROW_JOINED,    /* a line joins the point to the next such point */
};

struct rue_table_row {
    bool chosen; /* bold, with an arrow in the margin; in charts the winner */
    enum rue_row_mark mark;
    struct rue_value *values; /* [column_count] */
};

enum rue_chart_kind {
    RUE_CHART_HEAT,   /* a cell for each row, at column x and line y, coloured by `value` */
    RUE_CHART_LINES,  /* a line for each series: `value` over x */
    RUE_CHART_POINTS, /* a point for each row */
    RUE_CHART_BARS,   /* a bar for each row, named by x, of the parts in the columns from `value` to `last` */
};

/* How a table is drawn. */
struct rue_chart {
    enum rue_chart_kind kind;
    const char *name;  /* of the file, and the anchor: "workers-raw"; letters, digits, hyphens */
    const char *title; /* for people */
    const char *note;  /* (optional) how to read it */
    const char *x, *y, *value, *last; /* keys of columns; borrowed. NULL: none */
    const char *low, *high;           /* (optional) keys: the ends of an interval around `value` */
    const char *series;               /* (optional) key: its values have a line or a colour each; of bars,
                                         a line above them */
    const char *panel;                /* (optional) key: its values have a drawing each */
    const char *caption;              /* (optional) key: a text beside a bar, and in the title of a cell */
    bool log_x, log_y;                /* logarithmic scales */
    bool even_x;                      /* of lines: the values of x have evenly spaced places */
    bool from_zero;                   /* the scale of `value` includes 0 */
    bool is_change;                   /* of a heat map: zero is the middle of the scale */
    const char *x_title;              /* (optional) in place of the column's header */
};
enum { RUE_CHARTS_MAX = 6 };

struct rue_section {
    enum { RUE_SECTION_GAP, RUE_SECTION_HEADING, RUE_SECTION_SENTENCE, RUE_SECTION_TABLE } kind;
    enum rue_look look;
    int indent; /* of a heading, its level: 1 or 2 */
    char *text; /* of a heading or sentence; RUE_NO_BREAK (wrap.h): no line breaks here */
    size_t used, capacity;
    const char *link; /* (optional) of a sentence: text of the heading that it leads to; owned */
    bool figures;     /* a table of rue_page_figures */
    struct rue_table_column *columns; /* [column_count] without values; those of the first row */
    size_t column_count;
    struct rue_table_row *rows; /* [row_count] */
    size_t row_count, row_capacity;
    size_t filled; /* values of the last row */
    bool settled;  /* after the first row: the columns are known */
    size_t chart_count;
    struct rue_chart charts[RUE_CHARTS_MAX]; /* [chart_count] its texts are owned */
};

/* {0} is an empty page. */
struct rue_page {
    struct rue_section *sections;
    size_t count, capacity;
    bool failed;
    bool folds; /* in HTML, what comes before the first heading is a poster; each heading has to be opened */
};

void rue_page_close(struct rue_page *page);

/* Adds an empty line between sections: only one in a row, none at the beginning or end. */
void rue_page_gap(struct rue_page *page);

/* Begins a heading of level 1 or 2; rue_say() adds to it. Shown only if something follows it. */
void rue_page_heading(struct rue_page *page, int level);

/* Begins a sentence; rue_say() adds to it. An empty one is not shown. */
void rue_page_sentence(struct rue_page *page, enum rue_look look, int indent);
void rue_say(struct rue_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last sentence leads to the heading with this text, where the format has links. */
void rue_page_link(struct rue_page *page, const char *heading);

/* Begins a table. Each of its rows has the same columns. */
void rue_page_table(struct rue_page *page);

/* Begins a table of figures, which HTML shows large. Its columns are texts: the figure, what it is, a remark.
 */
void rue_page_figures(struct rue_page *page);

/* Adds a row; rue_page_put() adds further columns to it. Texts and headers are copied. */
void rue_page_row(struct rue_page *page, bool chosen, const struct rue_table_column *columns, size_t count);
void rue_page_put(struct rue_page *page, const struct rue_table_column *columns, size_t count);

/* Marks the last row. */
void rue_page_mark(struct rue_page *page, enum rue_row_mark mark);

/* Adds a chart of the last table, after its rows; texts are copied. Writers without charts show only the
 * table. */
void rue_page_chart(struct rue_page *page, const struct rue_chart *chart);

/* Whether writers show section `i`. They skip empty ones, and a heading without a shown section below it. */
bool rue_page_is_shown(const struct rue_page *page, size_t i);

/* Removes the rows of the last table; its columns stay. */
void rue_page_clear_rows(struct rue_page *page);

/* The last table; NULL: none, or out of memory. */
const struct rue_section *rue_page_last_table(const struct rue_page *page);

#define RUE_VALUE_NONE "-" /* an unknown number */

/* The value for people; the caller owns the text; NULL: out of memory. */
char *rue_value_text(const struct rue_table_column *column, const struct rue_value *value, bool unicode);

static inline bool rue_column_is_number(const struct rue_table_column *column)
{
    return column->unit != RUE_UNIT_TEXT;
}

bool rue_column_is_right(const struct rue_table_column *column);

/* The column with that key, which has to be there; NULL: `key` is NULL. */
const struct rue_table_column *rue_column_find(const struct rue_section *table, const char *key);

/* Whether people see the column: it has a header, and any value. */
bool rue_column_is_shown(const struct rue_section *table, size_t column);

/* The last table as an array of objects. Closes the page. A new reference; NULL: out of memory.
 * (section_json.c) */
json_t *rue_page_json_table(struct rue_page *page);

/* The first sentence, with plain spaces in place of no-break spaces; null if empty. Closes the page. A new
 * reference; NULL: out of memory. (section_json.c) */
json_t *rue_page_json_text(struct rue_page *page);

/* Writes a line per row, with `header` after a line of keys (section_csv.c). RUE_MEMORY; other failures show
 * in ferror(stream). */
rue_status rue_page_write_csv(const struct rue_page *page, bool header, FILE *stream,
                              rue_error *error) RUE_MUST_CHECK;

/* Flushes the stream. RUE_STORE: that or a write before it failed. */
rue_status rue_report_finish(FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
