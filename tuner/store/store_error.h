/* What SQLite's errors mean for somebody who runs a study. */
#ifndef RUE_STORE_ERROR_H
#define RUE_STORE_ERROR_H

#include <sqlite3.h>

#include "error.h"

/* What to do with a file that is no usable store; takes the path once. */
#define RUE_STORE_PUT_ASIDE "move %s away, or add --fresh to the 'rue tune' that uses it"

/* Records the failure of `doing` ("adding a trial") on the store at `path`: SQLite's `code`, its extended
 * code and message from `db` (nullable), and what to do. Call before the statement is reset. Returns
 * RUE_STORE, RUE_MEMORY when SQLite ran out of memory, or, where a signal ended the statement, its status. */
rue_status rue_store_fail(sqlite3 *db, int code, const char *path, const char *doing, rue_error *error);

#endif
