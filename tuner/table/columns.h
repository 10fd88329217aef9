/* The columns of a table that was measured elsewhere: which of the file's columns holds what we look for. */
#ifndef RUE_COLUMNS_H
#define RUE_COLUMNS_H

#include "config.h"
#include "csv.h"

/* Columns that are no knobs; those of knobs follow, in the order of rue_own_knobs. */
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
    size_t field[RUE_COLUMN_COUNT];      /* the field's index; SIZE_MAX: the file has none */
    enum rue_column time;                /* the one of the times that counts */
    double ns_per_unit;                  /* of the time */
    size_t count;                        /* of the file's columns */
    char ignored[RUE_COLUMN_TEXT_BYTES]; /* names of columns that nothing reads, "a, b"; "" when none */
};

/* "mode", "batch_size", ... */
const char *rue_column_name(enum rue_column column);

/* Names of all our columns, "mode, model, ...". */
void rue_columns_list(char *out, size_t bytes);

/* Finds the columns in the header of `csv`. `map` (nullable) is "ours=theirs,ours=theirs", blanks around
 * names aside; where it says nothing, a column is found by our name, in small letters or large. There must be
 * a column of times and one of each knob that is always shown. RUE_USAGE when `map` makes no sense; RUE_DATA,
 * with the file's columns and what is to be typed, when one is missing or named twice. */
rue_status rue_columns_find(const char *map, const struct rue_csv_record *header, const struct rue_csv *csv,
                            struct rue_columns *out, rue_error *error) RUE_MUST_CHECK;

#endif
