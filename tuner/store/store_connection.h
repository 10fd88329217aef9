/* A store's files, and SQLite's connections to them. They may come from a stranger: SQL that the store holds
 * is not run, and nothing is written through links beside it. `file` is always `path`, which messages name,
 * with links resolved. */
#ifndef RUE_STORE_CONNECTION_H
#define RUE_STORE_CONNECTION_H

#include <sqlite3.h>
#include <stdbool.h>

#include "error.h"

/* What to do with a file that is no usable store; takes the path once. */
#define RUE_STORE_MOVE_AWAY "move %s away, or add --fresh to the 'rue tune' that uses it"

/* Records the failure of `action` ("adding a trial") on the store at `path`: SQLite's `code`, its extended
 * code and message from `db` (nullable), and what to do. Call before the statement is reset. Returns
 * RUE_STORE, RUE_MEMORY when SQLite ran out of memory, or, where a signal ended the statement, its status. */
rue_status rue_store_fail(sqlite3 *db, int code, const char *path, const char *action, rue_error *error);

/* Before SQLite touches anything: refuses what it would take for an empty file and overwrite, though it is
 * none, and companions through which it would write to, or delete, files elsewhere; where the store is to be
 * written (`for_writing`), also a folder that cannot be. RUE_STORE. */
rue_status rue_store_file_check(const char *file, const char *path, bool for_writing,
                                rue_error *error) RUE_MUST_CHECK;

/* True when the write-ahead log beside `file` holds something. */
bool rue_store_file_has_wal(const char *file);

/* Renames the file, healthy or not, its companions, and the reports beside it to "<file>.old", or
 * "<file>.old.2", ... where earlier ones are kept already. RUE_STORE when the renaming fails. */
rue_status rue_store_file_rename_old(const char *file, const char *path, rue_error *error) RUE_MUST_CHECK;

/* Right after sqlite3_open, before anything is read: no triggers, views or functions of the file, small
 * limits; and a statement ends with SQLITE_INTERRUPT once a signal came. SQLite's code. */
int rue_store_guard_open(sqlite3 *db);

/* The same again, or, with `checks`, also after so much work: the schema of a damaged file may be endless.
 * `checks` counts down. */
void rue_store_guard_limit(sqlite3 *db, int *checks);
enum { RUE_STORE_SCHEMA_CHECKS = 1000 };

/* Opens a file that is only read, guarded; nothing is made beside it. `shared`: it has a log that a process
 * may be writing, whose locks and index are used. To be closed also where this fails. */
rue_status rue_store_open_read_only(const char *file, const char *path, bool shared, sqlite3 **out,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
