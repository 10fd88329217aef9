/* A store may come from a stranger: SQL that its file holds is not run, and what rue did not put into the
 * schema is refused. */
#ifndef RUE_STORE_GUARD_H
#define RUE_STORE_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>

#include "error.h"

/* Right after sqlite3_open, before anything is read: no triggers, views or functions of the file, small
 * limits; and a statement ends with SQLITE_INTERRUPT once a signal came. SQLite's code. */
int rue_store_guard_open(sqlite3 *db);

/* From here on statements run to their end, so that a signal does not lose what was measured. */
void rue_store_guard_let_finish(sqlite3 *db);

/* Compares the schema with the one that rue makes, which may lack columns (an older rue) and have further
 * plain ones; `*empty`: there is nothing in it. RUE_STORE names the first object or column that is not rue's,
 * also where the schema cannot be read; `path` is for messages. */
rue_status rue_store_guard_check(sqlite3 *db, const char *path, bool *empty, rue_error *error) RUE_MUST_CHECK;

#endif
