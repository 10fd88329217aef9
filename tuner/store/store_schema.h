/* The store's schema. One table of columns makes the CREATE statement, the INSERT and the search;
 * a new row in RUE_TRIAL_INTEGERS or RUE_TRIAL_REALS becomes a column, and needs
 * a new version.
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
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum {
    RUE_STORE_APPLICATION_ID =
        0x72756573,        /* "rues": how file(1) and we tell a store from other SQLite files */
    RUE_STORE_VERSION = 4, /* PRAGMA user_version; files of another version are refused */
};

enum { RUE_STORE_BUSY_MS = 2000 /* how long opening waits for another process that writes */ };

/* The statements, with one named parameter for each column (":mode"), returned owned; NULL without memory.
 * Insert: every column but id and recorded; the checksum is computed from the others. Find: also :after,
 * :nth, :most, and :fits, whether the batches fit the limit of memory; answers id, started_ns, status,
 * reason, batch_ready_ns, batch_compute_ns, then rue_trial_fields in order, for the nth row that can stand
 * for the request (store.h).
 */
char *rue_store_insert_sql(void);
char *rue_store_find_sql(void);

/* A table of the connection, which find passes over: rows from `first` up to `past`. */
#define RUE_STORE_DOUBTFUL_SQL "CREATE TEMP TABLE doubtful (first INTEGER, past INTEGER)"

/* Whether the file is a healthy store that this rue can read; changes nothing. RUE_STORE, as below. */
rue_status rue_store_schema_check(sqlite3 *db, const char *path, rue_error *error) RUE_MUST_CHECK;

/* The same for a file that is to be written; creates the schema in an empty database. `path` is for messages.
 * RUE_STORE when it is another program's file, of another version, damaged (integrity_check, and every row
 * against its checksum) or not writable, and then nothing has been changed. */
rue_status rue_store_schema_open(sqlite3 *db, const char *path, rue_error *error) RUE_MUST_CHECK;

#endif
