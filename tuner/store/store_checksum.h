/* What tells a changed row of the store: SQLite checks its pages' structure, not the values in them. */
#ifndef RUE_STORE_CHECKSUM_H
#define RUE_STORE_CHECKSUM_H

#include <sqlite3.h>

/* Makes the SQL function rue_checksum(value, ...) known to `db`: FNV-1a over the kinds and bytes of the
 * values that are not NULL, in order, as an integer. NULLs are left out, so that a column that is added later
 * changes no sum. SQLite's code. */
int rue_store_checksum_open(sqlite3 *db);

#endif
