/* The files of a store, and SQLite connections to them. The files are not trusted: SQL in them is not run,
 * and nothing is written through links beside them. `path` is for messages, `file` is `path` with links
 * resolved. */
#ifndef RUE_STORE_CONNECTION_H
#define RUE_STORE_CONNECTION_H

#include <sqlite3.h>
#include <stdbool.h>

#include "error.h"

/* What to do with a file that cannot be used as a store. A format: its argument is the path. */
#define RUE_STORE_MOVE_AWAY "move %s away, or tune again with --fresh"

/* Records that `action` ("adding a trial") failed with SQLite's `code`, with the extended code and message of
 * `db` (nullable), and what to do. Call this before the statement is reset. Returns RUE_STORE; RUE_MEMORY if
 * SQLite ran out of memory; the status of the signal if one ended the statement. */
rue_status rue_store_fail(sqlite3 *db, int code, const char *path, const char *action, rue_error *error);

/* Call this before SQLite opens the file. Refuses a file that SQLite would overwrite as if it were empty, and
 * companion files through which SQLite would write to or delete other files. `for_writing`: also refuses a
 * folder that is not writable. RUE_STORE. */
rue_status rue_store_file_check(const char *file, const char *path, bool for_writing,
                                rue_error *error) RUE_MUST_CHECK;

/* True if there is a write-ahead log beside `file` that is not empty. */
bool rue_store_file_has_wal(const char *file);

/* Renames the file, damaged or not, its companion files and the reports beside it to "<name>.old", or
 * "<name>.old.2", ... if that exists. RUE_STORE if a file cannot be renamed. */
rue_status rue_store_file_rename_old(const char *file, const char *path, rue_error *error) RUE_MUST_CHECK;

/* Call this right after sqlite3_open. Disables triggers, views and functions of the file, sets small limits,
 * and ends statements with SQLITE_INTERRUPT after a signal. SQLite's code. */
int rue_store_guard_open(sqlite3 *db);

/* Also ends statements when `*checks`, which counts down as SQLite works, reaches 0: the schema of a damaged
 * file may be endless. NULL: only after a signal. */
void rue_store_guard_limit(sqlite3 *db, int *checks);
enum { RUE_STORE_SCHEMA_CHECKS = 1000 };

/* Opens a file for reading, guarded as above, without creating files beside it. `shared`: a process may be
 * writing its log, so its locks and index are used. The caller closes `*out`, even if this fails. */
rue_status rue_store_open_read_only(const char *file, const char *path, bool shared, sqlite3 **out,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
