/* The columns of a table of times from elsewhere: which column of the file is which of rue's columns. */
#ifndef RUE_COLUMNS_H
#define RUE_COLUMNS_H

#include "config.h"
#include "csv.h"

/* Columns of knobs follow the others, in the order of rue_own_knobs. */
enum rue_column {
    RUE_COLUMN_MODE,
    RUE_COLUMN_FORMAT,
    RUE_COLUMN_DTYPE,
    RUE_COLUMN_MODEL,
    RUE_COLUMN_MEASURE,
    RUE_COLUMN_REQUESTED_IMAGES,
    RUE_COLUMN_JOB_IMAGES,
    RUE_COLUMN_STATUS,
    RUE_COLUMN_REASON,
    RUE_COLUMN_TIME_S,
    RUE_COLUMN_TIME_MS,
    RUE_COLUMN_TIME_NS,
    RUE_COLUMN_END_TO_END_NS,
    RUE_COLUMN_KNOBS,
    RUE_COLUMN_COUNT = RUE_COLUMN_KNOBS + RUE_OWN_KNOB_COUNT
};

enum { RUE_COLUMN_TEXT_BYTES = 1024 };

struct rue_columns {
    size_t field[RUE_COLUMN_COUNT];      /* index of the field; SIZE_MAX: not in the file */
    enum rue_column time;                /* the column of times that is used */
    double ns_per_unit;                  /* unit of that column */
    size_t count;                        /* columns of the file */
    char ignored[RUE_COLUMN_TEXT_BYTES]; /* columns that are not used, "a, b"; "": none */
};

/* "mode", "batch_size", ... */
const char *rue_column_name(enum rue_column column);

/* Finds the columns in the header of `csv`. `map` (nullable) is "NAME=COLUMN,NAME=COLUMN", with rue's name
 * and the file's. Other columns are found by rue's name in any case. A column of times, and one of each knob
 * that is always shown, are required. RUE_USAGE: `map` is wrong; RUE_DATA: a column is missing or ambiguous;
 * the message lists the file's columns and what to type. */
rue_status rue_columns_find(const char *map, const struct rue_csv_record *header, const struct rue_csv *csv,
                            struct rue_columns *out, rue_error *error) RUE_MUST_CHECK;

#endif
