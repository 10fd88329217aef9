/* SQLite's connections to a store. It may come from a stranger: SQL that its file holds is not run. */
#ifndef RUE_STORE_CONNECTION_H
#define RUE_STORE_CONNECTION_H

#include <sqlite3.h>
#include <stdbool.h>

#include "error.h"

/* What to do with a file that is no usable store; takes the path once. */
#define RUE_STORE_PUT_ASIDE "move %s away, or add --fresh to the 'rue tune' that uses it"

/* Records the failure of `doing` ("adding a trial") on the store at `path`: SQLite's `code`, its extended
 * code and message from `db` (nullable), and what to do. Call before the statement is reset. Returns
 * RUE_STORE, RUE_MEMORY when SQLite ran out of memory, or, where a signal ended the statement, its status. */
rue_status rue_store_fail(sqlite3 *db, int code, const char *path, const char *doing, rue_error *error);

/* Right after sqlite3_open, before anything is read: no triggers, views or functions of the file, small
 * limits; and a statement ends with SQLITE_INTERRUPT once a signal came. SQLite's code. */
int rue_store_guard_open(sqlite3 *db);

/* The same again, or, with `looks`, also after so much work: the schema of a damaged file may be endless.
 * `looks` counts down. */
void rue_store_guard_watch(sqlite3 *db, int *looks);
enum { RUE_STORE_SCHEMA_LOOKS = 1000 };

/* From here on statements run to their end, so that a signal does not lose what was measured. */
void rue_store_guard_let_finish(sqlite3 *db);

/* Opens a file that is only read, guarded; nothing is made beside it, but, where it has a log and others may
 * write it, SQLite's index of that log. `alone`: nobody writes it. To be closed also where this fails. */
rue_status rue_store_open_unchanged(const char *file, const char *path, bool alone, sqlite3 **out,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
