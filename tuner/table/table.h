/* A table of times from elsewhere, as a tally. A row is a trial: mode, model, configuration, and the time of
 * the job or why there is none. Rows of the same cell are repeats. A trials.csv is such a table too; only its
 * joint trials of whole jobs are used. */
#ifndef RUE_TABLE_H
#define RUE_TABLE_H

#include "columns.h"
#include "tally.h"

/* The model of a table without a column of models. */
#define RUE_TABLE_MODEL "all"

/* Replace what a table does not say: the loader, and the format if there is no such column. The path is the
 * name of the mode. */
#define RUE_TABLE_LOADER "imported"
#define RUE_TABLE_FORMAT "table"

struct rue_table {
    struct rue_tally tally;
    struct rue_columns columns;
    uint64_t digest;  /* of the file and of `map` */
    size_t rows;      /* number of rows read */
    size_t not_joint; /* skipped rows of the measures load and compute */
    size_t truncated; /* skipped rows of truncated trials, which the table cannot extend */
    char name[256];   /* of the file, without folders */
};

/* Reads the table at `path` ("-": standard input). `map` as in rue_columns_find, nullable. RUE_DATA, with
 * file and line: a value is wrong; RUE_INCONCLUSIVE: no row can be ranked; RUE_USAGE; RUE_MEMORY; the
 * statuses of signals. `*out` is closed if this fails. */
rue_status rue_table_read(const char *path, const char *map, struct rue_table *out,
                          rue_error *error) RUE_MUST_CHECK;
void rue_table_close(struct rue_table *table);

#endif
