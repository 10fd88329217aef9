/* A table of text for a terminal: aligned columns that fit a width. Where they do not, columns that may be
 * shortened are; then the columns of `drop` 1 go, then headers take two lines, then the columns of `drop` 2,
 * 3, ... go; at last headers are shortened, and what may shrink is halved. */
#ifndef RUE_TEXT_TABLE_H
#define RUE_TEXT_TABLE_H

#include "report.h"

enum {
    RUE_TEXT_TABLE_COLUMNS = 16,
    RUE_TEXT_TABLE_DROPS = 4,
    RUE_TEXT_TABLE_ROWS = 64,
    RUE_TEXT_CELL_BYTES = 1024
};

struct rue_text_column {
    char header[RUE_TEXT_CELL_BYTES]; /* may be broken behind a '_' or at a space */
    bool right;                       /* aligned */
    int shrink_to;                    /* may be shortened to this many columns; 0: never */
    int drop;                         /* 0: never dropped; 1 goes first, up to RUE_TEXT_TABLE_DROPS */
};

struct rue_text_table {
    struct rue_text_column columns[RUE_TEXT_TABLE_COLUMNS];
    int column_count;
    char cells[RUE_TEXT_TABLE_ROWS][RUE_TEXT_TABLE_COLUMNS][RUE_TEXT_CELL_BYTES];
    bool chosen[RUE_TEXT_TABLE_ROWS]; /* bold, with an arrow in the margin */
    int row_count;
    bool unicode;
};

/* Empties the table. */
void rue_text_table_clear(struct rue_text_table *table, bool unicode);

/* Adds a column; a bug when there are too many. */
void rue_text_table_column(struct rue_text_table *table, struct rue_text_column column);

/* Adds a row of empty cells; false when the table is full. */
bool rue_text_table_row(struct rue_text_table *table, bool chosen);

/* How many of `count` columns of such a width stand beside others of `beside` columns, gaps and margin aside,
 * in the width of the style; 1 at least. */
int rue_text_table_fitting(const struct rue_report_style *style, int beside, int width, int count);

/* The text of a cell of the last row, made fit for a terminal. */
void rue_text_table_cell(struct rue_text_table *table, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes header and rows behind a margin of two columns. No line is wider than style->columns (0: unlimited).
 * Failures show in ferror(stream). */
void rue_text_table_print(const struct rue_text_table *table, const struct rue_report_style *style,
                          FILE *stream);

#endif
