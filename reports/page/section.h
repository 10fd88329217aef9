/* A report as data: a page of headings, sentences and tables, and a writer for each format
 * (section_terminal.c, section_html.c, section_markdown.c, section_json.c, section_csv.c). Charts draw
 * tables (chart.h). Texts are unsafe: each writer makes them fit its format. A page that ran out of
 * memory is marked as failed and ignores additions; its writer returns the error. */
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

enum rue_look { RUE_LOOK_PLAIN, RUE_LOOK_BOLD, RUE_LOOK_DIM, RUE_LOOK_COUNT };

enum rue_unit {
    RUE_UNIT_TEXT,
    RUE_UNIT_NUMBER,   /* with `digits` decimals */
    RUE_UNIT_COUNT,    /* "9,469" */
    RUE_UNIT_PERCENT,  /* of a ratio: "1.3 %" */
    RUE_UNIT_TIMES,    /* "1.31 x" */
    RUE_UNIT_DURATION, /* of nanoseconds */
    RUE_UNIT_BYTES,
    RUE_UNIT_SCALED, /* "25.6 M" */
    RUE_UNIT_FLAG,
    RUE_UNIT_CONFIG,
    RUE_UNIT_BAR, /* of a share of 1 */
};

struct rue_table_column {
    const char *header; /* may break at a space or after a '_'; NULL: not shown to people */
    enum rue_unit unit; /* all units but text are aligned to the right */
    int shrink_to;      /* may be shortened to this many columns; 0: never */
    int drop;           /* omitted if the table is too wide: 1 first, then 2 up to RUE_DROPS; 0: never */
    bool right;         /* aligned to the right, although it is text */
    bool folds;         /* may move to another table below, if the table is too wide */
    int digits;
    const char *key; /* in JSON and CSV; NULL: in neither. Borrowed */
    bool listed;     /* in JSON, columns of the same key form a list */
};
enum { RUE_DROPS = 4, RUE_TABLE_COLUMNS_MAX = 64 };

/* A cell: a text, a configuration, a number, or nothing. */
struct rue_value {
    char *text;
    const struct rue_config *config; /* borrowed */
    bool is_number;
    double number; /* NaN: unknown; "-", null in JSON, empty in CSV */
    char mark;     /* before the number, for people; 0: none */
};

struct rue_table_row {
    bool chosen;              /* bold, with an arrow in the margin; in charts the winner */
    struct rue_value *values; /* [column_count] */
};

enum rue_chart_kind {
    RUE_CHART_HEAT,   /* a cell for each row, at column x and line y, coloured by `value` */
    RUE_CHART_LINES,  /* a line for each series: `value` over x */
    RUE_CHART_POINTS, /* a point for each row */
    RUE_CHART_BARS,   /* a bar for each row, named by x, of the parts in the columns from `value` on */
};

/* How a table is drawn. Columns are numbered from 1; 0: none. Each value of `panel` gets a drawing of its
 * own. */
struct rue_chart {
    enum rue_chart_kind kind;
    const char *name;  /* of the file, and the anchor: "workers-raw"; letters, digits, hyphens */
    const char *title; /* for people */
    const char *note;  /* (optional) how to read it */
    int x, y, value, low, high, series, panel;
    int state; /* text: "" drawn plainly, "predicted" and "no change" hatched, others crossed out where no
                  value is; of lines, "predicted" hollow; of a bar, its caption; of points, "line"
                  joins them */
    int part_count;      /* of bars */
    bool log_x, log_y;   /* logarithmic scales */
    bool from_zero;      /* the scale of `value` includes 0 */
    bool is_change;      /* of a heat map: zero is the middle of the scale */
    const char *x_title; /* (optional) in place of the column's header */
};
enum { RUE_CHARTS_MAX = 6 };

struct rue_section {
    enum { RUE_SECTION_GAP, RUE_SECTION_HEADING, RUE_SECTION_SENTENCE, RUE_SECTION_TABLE } kind;
    enum rue_look look;
    int indent; /* of a heading, its level: 1 or 2 */
    char *text; /* of a heading or sentence; RUE_NO_BREAK (wrap.h): no line breaks here */
    size_t used, capacity;
    struct rue_table_column *columns;
    size_t column_count, column_capacity;
    struct rue_table_row *rows;
    size_t row_count, row_capacity;
    size_t filled; /* values of the last row */
    size_t chart_count;
    struct rue_chart charts[RUE_CHARTS_MAX]; /* [chart_count] its texts are owned */
};

/* {0} is an empty page. */
struct rue_page {
    struct rue_section *sections;
    size_t count, capacity;
    bool failed;
};

void rue_page_close(struct rue_page *page);

/* Adds an empty line between sections: only one in a row, none at the beginning or end. */
void rue_page_gap(struct rue_page *page);

/* Begins a heading of level 1 or 2; rue_say() adds to it. Shown only if something follows it. */
void rue_page_heading(struct rue_page *page, int level);

/* Begins a sentence; rue_say() adds to it. An empty one is not shown. */
void rue_page_sentence(struct rue_page *page, enum rue_look look, int indent);
void rue_say(struct rue_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins a table; headers are copied. Columns can be added before the first row. */
void rue_page_table(struct rue_page *page, const struct rue_table_column *columns, size_t count);
void rue_page_column(struct rue_page *page, struct rue_table_column column);

/* Adds a chart of the last table; texts are copied. Writers without charts show only the table. */
void rue_page_chart(struct rue_page *page, const struct rue_chart *chart);

/* Begins a row. The functions below fill it from the left. */
void rue_page_row(struct rue_page *page, bool chosen);
void rue_put_number(struct rue_page *page, double number);
void rue_put_marked(struct rue_page *page, char mark, double number);
void rue_put_config(struct rue_page *page, const struct rue_config *config);
void rue_put_text(struct rue_page *page, const char *text);
void rue_put_words(struct rue_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether writers show section `i`: it is not empty, and after a heading comes something that is shown. */
bool rue_page_is_shown(const struct rue_page *page, size_t i);

/* Removes the written rows of the last table, to limit memory. */
void rue_page_clear_rows(struct rue_page *page);

/* The last section if it is a table; else, or out of memory, NULL. */
const struct rue_section *rue_page_last_table(const struct rue_page *page);

#define RUE_VALUE_NONE "-" /* an unknown number */

/* The value for people; the caller owns the text; NULL: out of memory. */
char *rue_value_text(const struct rue_table_column *column, const struct rue_value *value, bool unicode);

bool rue_column_is_right(const struct rue_table_column *column);

/* Whether people see the column: it has a header, and any value. */
bool rue_column_is_shown(const struct rue_section *table, size_t column);

/* Writes lines of at most style->columns (section_terminal.c). RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_page_write(const struct rue_page *page, const struct rue_report_style *style, FILE *stream,
                          rue_error *error) RUE_MUST_CHECK;

/* The first bytes of these files, and of a chart's. */
#define RUE_PAGE_HTML_MARK     "<!DOCTYPE html><!-- rue -->\n"
#define RUE_PAGE_MARKDOWN_MARK "<!-- rue -->\n"
#define RUE_PAGE_SVG_MARK      "<!-- rue -->\n<svg "

/* Writes a document that needs no other file and no network (section_html.c). `data` (optional) is JSON that
 * the document contains. RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_page_write_html(const struct rue_page *page, const char *title, const char *data, FILE *stream,
                               rue_error *error) RUE_MUST_CHECK;

/* Writes Markdown (section_markdown.c); charts are links to `plots`/NAME.svg if `plots` is not NULL. Errors
 * as rue_page_write_html. */
rue_status rue_page_write_markdown(const struct rue_page *page, const char *plots, FILE *stream,
                                   rue_error *error) RUE_MUST_CHECK;

/* The table as an array of objects (section_json.c). A new reference; NULL: out of memory. */
json_t *rue_table_json(const struct rue_section *table);

/* The first sentence without no-break spaces; null if empty. Closes the page. A new reference; NULL: out of
 * memory. (section_json.c) */
json_t *rue_page_json_text(struct rue_page *page);

/* Writes a line of keys, with `header`, and a line per row (section_csv.c). RUE_MEMORY; other failures show
 * in ferror(stream). */
rue_status rue_page_write_csv(const struct rue_page *page, bool header, FILE *stream,
                              rue_error *error) RUE_MUST_CHECK;

/* Flushes the stream. RUE_STORE: that or a write before it failed. */
rue_status rue_report_finish(FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
