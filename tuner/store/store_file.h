/* The store as files in a folder: what is checked and moved before SQLite touches anything. */
#ifndef RUE_STORE_FILE_H
#define RUE_STORE_FILE_H

#include <stdbool.h>

#include "error.h"

/* `path` with links resolved, so that SQLite's companions (-wal, -shm, -journal) lie beside it, and never
 * read as an SQLite URI; `*out_file` is returned owned. RUE_STORE when the folder is missing or read-only, or
 * `path` is no regular file. */
rue_status rue_store_file_resolve(const char *path, char **out_file, rue_error *error) RUE_MUST_CHECK;

/* Refuses what SQLite would take for an empty file and overwrite, though it is none, and companions as below:
 * RUE_STORE. */
rue_status rue_store_file_check(const char *file, const char *path, rue_error *error) RUE_MUST_CHECK;

/* Refuses companions through which SQLite would write to, or delete, files elsewhere: RUE_STORE. */
rue_status rue_store_file_check_companions(const char *file, const char *path,
                                           rue_error *error) RUE_MUST_CHECK;

/* True when the write-ahead log beside `file` holds something. */
bool rue_store_file_has_wal(const char *file);

/* An SQLite URI of a file that nobody writes, which SQLite then makes nothing beside; what it might take for
 * more than a name is written as %XX. Returned owned; NULL without memory. */
char *rue_store_file_immutable_uri(const char *file);

/* Renames the file, healthy or not, its companions, and the reports beside it to "<file>.old", or
 * "<file>.old.2", ... where earlier ones are kept already; a healthy one is checkpointed first. RUE_STORE
 * when another process has it open, or the renaming fails. */
rue_status rue_store_file_put_aside(const char *file, const char *path, rue_error *error) RUE_MUST_CHECK;

#endif
