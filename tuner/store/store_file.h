/* The store as files in a folder: what is checked and moved before SQLite touches anything. */
#ifndef RUE_STORE_FILE_H
#define RUE_STORE_FILE_H

#include <stdbool.h>

#include "error.h"

/* Refuses what SQLite would take for an empty file and overwrite, though it is none, and companions through
 * which it would write to, or delete, files elsewhere: RUE_STORE. `file` is `path` with links resolved. */
rue_status rue_store_file_check(const char *file, const char *path, rue_error *error) RUE_MUST_CHECK;

/* The same of the companions alone. */
rue_status rue_store_file_check_companions(const char *file, const char *path,
                                           rue_error *error) RUE_MUST_CHECK;

/* True when the write-ahead log beside `file` holds something. */
bool rue_store_file_has_wal(const char *file);

/* Renames the file, healthy or not, its companions, and the reports beside it to "<file>.old", or
 * "<file>.old.2", ... where earlier ones are kept already. RUE_STORE when the renaming fails. */
rue_status rue_store_file_put_aside(const char *file, const char *path, rue_error *error) RUE_MUST_CHECK;

#endif
