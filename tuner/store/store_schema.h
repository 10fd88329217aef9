/* The store's schema. One table of columns (store_row.h) makes the CREATE statement, the INSERT and the
 * search; a new one, or a new knob of rue's own, which the view shows, needs a new version.
 *
 *   run       one row each time a study was started or resumed: command_line, rue_version, started, and what
 *             that run found out (a recommendation.json): findings, with their checksum
 *   trial     one row a trial; every column says what it is in `.schema trial`
 *   ok_trial  a view for people: the trials that ended well, one column a knob, the rate, no long texts
 *
 * A row says by its checksum when a value in it was changed by somebody else or by the disk: such a store is
 * refused. Rows are deleted freely.
 *
 * Absent values are NULL. Times of single batches are JSON arrays: SELECT value FROM trial,
 * json_each(batch_ready_ns). */
#ifndef RUE_STORE_SCHEMA_H
#define RUE_STORE_SCHEMA_H

#include <sqlite3.h>

#include "error.h"

enum {
    RUE_STORE_APPLICATION_ID =
        0x72756573,        /* "rues": how file(1) and we tell a store from other SQLite files */
    RUE_STORE_VERSION = 6, /* PRAGMA user_version; files of another version are refused */
};

/* The statements, to be freed with sqlite3_free; NULL without memory. Parameters are called as the columns
 * are (":mode"), and search has :after, :nth, :limit and :fits, whether the batches fit the limit of memory.
 * Search and walk answer all columns, and
 * those that people added behind them: search for rows that can stand for the request (store.h), walk for all
 * rows, and behind the columns the knobs of the run. */
char *rue_store_insert_sql(void);
char *rue_store_search_sql(void);
char *rue_store_list_sql(void);

/* A table of the connection, which search passes over: rows from `first` up to `past`. */
#define RUE_STORE_DOUBTFUL_SQL "CREATE TEMP TABLE doubtful (first INTEGER, past INTEGER)"

/* Makes the SQL function rue_checksum(value, ...) known to `db`: FNV-1a over the kinds and bytes of the
 * values that are not NULL, in order, as an integer. SQLite's code. */
int rue_store_checksum_add(sqlite3 *db);

/* Checks that the file is a healthy store, of this version, in which nothing but rows and plain columns is
 * not rue's. RUE_STORE says what is wrong with it; nothing has been changed then. `path` is for messages. */
rue_status rue_store_schema_check(sqlite3 *db, const char *path, rue_error *error) RUE_MUST_CHECK;

/* The same for a file that is to be written; creates the schema in an empty database. */
rue_status rue_store_schema_open(sqlite3 *db, const char *path, rue_error *error) RUE_MUST_CHECK;

#endif
