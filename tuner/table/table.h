/* A table of times that were measured elsewhere, as a tally. A row is a trial: its mode, model, configuration
 * and time of the job, or why there is none; rows of one cell are its repeats. rue's own trials.csv is such a
 * table, too: its joint trials of whole jobs are taken. */
#ifndef RUE_TABLE_H
#define RUE_TABLE_H

#include "columns.h"
#include "tally.h"

/* The model of all rows where the table has no column of models. */
#define RUE_TABLE_MODEL "all"

/* Whose loader a table's times are of: nobody says it. The store's runner of trials that a table answered
 * begins with the same word. Their format, where the table has none, is "table", and their path the mode's
 * name. */
#define RUE_TABLE_LOADER "imported"
#define RUE_TABLE_FORMAT "table"

struct rue_table {
    struct rue_tally tally;
    struct rue_columns columns;
    uint64_t digest;  /* of the file, and of how its columns were mapped */
    size_t rows;      /* that were read */
    size_t not_joint; /* of them, left out: of the measures load and compute */
    size_t truncated; /* of them, left out: shorter than the job, without the times of their batches */
    char name[256];   /* the file's, without folders */
};

/* Reads the table at `path` ("-": the standard input). `map` as in rue_columns_find, nullable. RUE_DATA with
 * file and line where a value makes no sense, RUE_USAGE, RUE_MEMORY, the signals' statuses. Nothing is to be
 * closed where it fails. */
rue_status rue_table_read(const char *path, const char *map, struct rue_table *out,
                          rue_error *error) RUE_MUST_CHECK;
void rue_table_close(struct rue_table *table);

#endif
