/* A report as data: sentences and tables, one below the other. What knows the content adds them to a page; a
 * writer for each format walks them (section_terminal.c, section_json.c, section_csv.c). Texts are as they
 * came from outside: each writer makes them fit its format. A page that ran out of memory takes nothing more
 * and is marked as failed, so that one look at the end, the writer's, is enough. */
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
    int columns; /* width of the terminal; 0: unlimited */
    bool brief;  /* of the table: what is read at a glance, without further answers */
};

enum rue_look { RUE_LOOK_PLAIN, RUE_LOOK_BOLD, RUE_LOOK_DIM, RUE_LOOK_COUNT };

/* What the values of a column are, and how people read them. */
enum rue_unit {
    RUE_UNIT_TEXT,
    RUE_UNIT_NUMBER,   /* with `digits` behind the point */
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
    const char *header; /* for people, may be broken behind a '_' or at a space; NULL: not shown to them */
    enum rue_unit unit; /* what is no text is aligned to the right */
    int shrink_to;      /* may be shortened to this many columns; 0: never */
    int drop;           /* 0: never dropped where there is no room; 1 goes first, up to RUE_DROPS */
    bool right;         /* aligned, though it is text */
    bool folds;         /* what has no room beside the others goes into tables of its own, below */
    int digits;
    const char *key; /* in JSON and CSV; NULL: in neither. Borrowed */
    bool listed;     /* in JSON, the values of all columns of that key are one list */
};
enum { RUE_DROPS = 4, RUE_TABLE_COLUMNS_MAX = 64 };

/* A cell: a text, a configuration, a number, or, where none was put, nothing. */
struct rue_value {
    char *text;
    const struct rue_config *config; /* borrowed */
    bool is_number;
    double number; /* NaN where it is not known: "-", null in JSON, empty in CSV */
    char mark;     /* that stands before a number, for people; 0: none */
};

struct rue_table_row {
    bool chosen;              /* bold, with an arrow in the margin */
    struct rue_value *values; /* [column_count] */
};

struct rue_section {
    enum { RUE_SECTION_GAP, RUE_SECTION_SENTENCE, RUE_SECTION_TABLE } kind;
    enum rue_look look;
    int indent;
    char *text; /* of a sentence, "" too: it holds RUE_NO_BREAK (wrap.h) where no line should break */
    size_t used, capacity;
    struct rue_table_column *columns;
    size_t column_count, column_capacity;
    struct rue_table_row *rows;
    size_t row_count, row_capacity;
    size_t filled; /* values of the last row */
};

/* Zeroed: nothing is on it. */
struct rue_page {
    struct rue_section *sections;
    size_t count, capacity;
    bool failed;
};

void rue_page_close(struct rue_page *page);

/* An empty line, but neither a second one nor the first or the last of all. */
void rue_page_gap(struct rue_page *page);

/* Begins a sentence; rue_say adds to the last one that was begun. One that stays empty is not shown. */
void rue_page_sentence(struct rue_page *page, enum rue_look look, int indent);
void rue_say(struct rue_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins a table with these columns; headers are copied. Columns may be added while there is no row. */
void rue_page_table(struct rue_page *page, const struct rue_table_column *columns, size_t count);
void rue_page_column(struct rue_page *page, struct rue_table_column column);

/* Begins an empty row; the others fill it from the left. */
void rue_page_row(struct rue_page *page, bool chosen);
void rue_put_number(struct rue_page *page, double number);
void rue_put_marked(struct rue_page *page, char mark, double number);
void rue_put_config(struct rue_page *page, const struct rue_config *config);
void rue_put_text(struct rue_page *page, const char *text);
void rue_put_words(struct rue_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forgets the rows of the last table, once they are written: where all of them at once would be too many. */
void rue_page_clear_rows(struct rue_page *page);

/* The last section, where it is a table; NULL, too, without memory. */
const struct rue_section *rue_page_last_table(const struct rue_page *page);

/* No line is wider than style->columns. RUE_MEMORY; RUE_STORE when the stream fails. (section_terminal.c) */
rue_status rue_page_write(const struct rue_page *page, const struct rue_report_style *style, FILE *stream,
                          rue_error *error) RUE_MUST_CHECK;

/* The table as an array of objects; a new reference, NULL without memory. (section_json.c) */
json_t *rue_table_json(const struct rue_section *table);

/* What the first sentence of the page says, without no-break spaces; null where that is nothing. Closes the
 * page. A new reference, NULL without memory. (section_json.c) */
json_t *rue_page_json_text(struct rue_page *page);

/* The tables: the line of the columns' keys, with `header`, and a line a row (csv_field.h), each ended by a
 * line feed alone. RUE_MEMORY; other failures show in ferror(stream). (section_csv.c) */
rue_status rue_page_write_csv(const struct rue_page *page, bool header, FILE *stream,
                              rue_error *error) RUE_MUST_CHECK;

/* Flushes the stream; RUE_STORE when that or any write before it failed. */
rue_status rue_report_finish(FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
