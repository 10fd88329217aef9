/* The schema of the store, described in docs/store.md. The columns (store_row.h) define the CREATE statement,
 * the INSERT and the search. A new column, or a new knob of rue's own, needs a new RUE_STORE_VERSION.
 *
 * The checksum of a row shows that a value was changed by another program or by the disk: such a store is
 * refused. Deleted rows are not noticed. */
#ifndef RUE_STORE_SCHEMA_H
#define RUE_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>

#include "error.h"
#include "store_tables.h"

enum {
    RUE_STORE_APPLICATION_ID = 0x72756573, /* "rues": file(1) and rue recognise a store by it */
    RUE_STORE_VERSION = 10,                /* PRAGMA user_version; files of another version are refused */
};

/* SQL statements; free them with sqlite3_free; NULL: out of memory. Parameters have the names of the columns
 * (":mode"). Search has also :after, :nth, :limit, :fits (the batches fit the memory limit), and :run, whose
 * changes and dropped nodes exclude trials. Search selects the trials that can be reused for a request
 * (store_tables.h), list all trials, or the one that was inserted last. Both select all columns, then those
 * that people added; list also selects the knobs of the run, last. */
char *rue_store_insert_sql(enum rue_store_table table);
char *rue_store_search_sql(void);
char *rue_store_list_sql(bool last);

/* Checks that the file is a store of this version, without tables, views or triggers of others. Does not
 * change it. RUE_STORE: what is wrong. `path` is for messages. */
rue_status rue_store_schema_check(sqlite3 *db, const char *path, rue_error *error) RUE_MUST_CHECK;

/* The same for a file to be written; creates the schema in an empty database. */
rue_status rue_store_schema_open(sqlite3 *db, const char *path, rue_error *error) RUE_MUST_CHECK;

/* Call this after either, on the file or a copy of all its pages: checks that they are undamaged and each row
 * is as it was stored. Registers the SQL function rue_checksum(value, ...): FNV-1a over the types and bytes
 * of the values that are not NULL, in order. RUE_STORE as above. */
rue_status rue_store_content_check(sqlite3 *db, const char *path, rue_error *error) RUE_MUST_CHECK;

#endif
