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
    RUE_COLUMN_REPEAT, /* tells the repeats of a cell apart */
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

/* Whether anything reads the file's column `field`. */
bool rue_columns_reads(const struct rue_columns *columns, size_t field);

/* `digest` and which of the file's columns are read as what: the same however they were found. */
uint64_t rue_columns_digest(const struct rue_columns *columns, uint64_t digest);

/* Names of all our columns, "mode, model, ...". */
void rue_columns_list(char *out, size_t bytes);

/* Finds the columns in the header of `csv`. `map` (nullable) is "ours=theirs,ours=theirs", blanks around
 * names aside; where it says nothing, a column is found by our name, in small letters or large. RUE_USAGE
 * when `map` makes no sense; RUE_DATA, with the file's columns and what is to be typed, when one is
 * missing or named twice. */
rue_status rue_columns_find(const char *map, const struct rue_csv_record *header, const struct rue_csv *csv,
                            struct rue_columns *out, rue_error *error) RUE_MUST_CHECK;

/* Whether there is a column of each knob that every configuration shows: RUE_DATA, with what to do, where a
 * study of `table` has nothing to choose. */
rue_status rue_columns_check_whole(const struct rue_columns *columns, const char *table,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
