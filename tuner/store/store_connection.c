#include "store_connection.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "interrupt.h"
#include "store_file.h"

enum { LENGTH_MAX = 256 << 20, SQL_MAX = 256 << 10 }; /* bytes of a value, and of a statement */

/* Steps of SQLite's machine between two looks at signals. */
enum { STEPS = 1000 };

/* ---- failures ---- */

static const char unusable[] = "it is unusable: " RUE_STORE_PUT_ASIDE;
static const char in_use[] =
    "another process is using it: wait for that one to end, or choose another folder";
static const char not_writable[] =
    "make the file and its folder readable and writable, or choose another folder";

/* Each may take the path once. */
static const char *const advices[] = {
    [SQLITE_FULL] = "the disk is full: free some space and run again; every trial stored so far is kept",
    [SQLITE_IOERR] =
        "the disk is full or failing: free some space and run again; every trial stored so far is kept",
    [SQLITE_BUSY] = in_use,
    [SQLITE_LOCKED] = in_use,
    [SQLITE_CORRUPT] = "it is damaged: " RUE_STORE_PUT_ASIDE,
    [SQLITE_NOTADB] = "it is no store of rue: " RUE_STORE_PUT_ASIDE,
    [SQLITE_READONLY] = not_writable,
    [SQLITE_CANTOPEN] = not_writable,
    [SQLITE_PERM] = not_writable,
    [SQLITE_PROTOCOL] = "locking does not work there: choose another folder, on a local disk",
    [SQLITE_INTERRUPT] = "it holds more than a store of rue does: " RUE_STORE_PUT_ASIDE,
};

rue_status rue_store_fail(sqlite3 *db, int code, const char *path, const char *doing, rue_error *error)
{
    size_t primary = code & 0xff;
    if (primary == SQLITE_NOMEM) return rue_fail(error, RUE_MEMORY, "%s: %s: out of memory", path, doing);
    if (primary == SQLITE_INTERRUPT && rue_interrupt_status() != RUE_OK)
        return rue_fail(error, rue_interrupt_status(), "interrupted");

    /* A code that is not the connection's last was found by ourselves. */
    bool own = !db || (sqlite3_errcode(db) & 0xff) != (code & 0xff);
    int extended = own ? code : sqlite3_extended_errcode(db);
    int cause = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;
    if (primary == SQLITE_CANTOPEN && rue_advice(cause)[0])
        return rue_fail(error, RUE_STORE, "%s: %s: %s%s", path, doing, strerror(cause), rue_advice(cause));
    bool known = primary < sizeof advices / sizeof *advices && advices[primary];
    char advice[RUE_ERROR_MESSAGE_BYTES];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* one of the texts above */
    snprintf(advice, sizeof advice, known ? advices[primary] : unusable, path);
#pragma GCC diagnostic pop
    return rue_fail(error, RUE_STORE, "%s: %s: %s%s%s (SQLite %d); %s", path, doing,
                    own ? sqlite3_errstr(code) : sqlite3_errmsg(db), cause ? ": " : "",
                    cause ? strerror(cause) : "", extended, advice);
}

/* ---- opening ---- */

/* `looks`: how many are left; NULL: no matter. */
static int is_to_end(void *looks)
{
    int *left = looks;
    return rue_interrupt_status() != RUE_OK || (left && (*left)-- <= 0);
}

void rue_store_guard_watch(sqlite3 *db, int *looks)
{
    sqlite3_progress_handler(db, STEPS, is_to_end, looks);
}

int rue_store_guard_open(sqlite3 *db)
{
    static const struct {
        int option, value;
    } switches[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < sizeof switches / sizeof *switches; i++)
        code = sqlite3_db_config(db, switches[i].option, switches[i].value, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_extended_result_codes(db, 1);
    rue_store_guard_watch(db, NULL);
    return code == SQLITE_OK
               ? sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL)
               : code;
}

void rue_store_guard_let_finish(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
}

/* Of a file in WAL mode SQLite makes companions even for reading, unless it is told that nobody writes it:
 * then it passes over the log, too. */
static char *write_uri(const char *file)
{
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendall(uri, "file:");
    for (; *file; file++)
        sqlite3_str_appendf(uri, isalnum((unsigned char)*file) || *file == '/' ? "%c" : "%%%02X",
                            (unsigned char)*file);
    return sqlite3_str_appendall(uri, "?immutable=1"), sqlite3_str_finish(uri);
}

rue_status rue_store_open_unchanged(const char *file, const char *path, bool alone, sqlite3 **out,
                                    rue_error *error)
{
    bool logged = rue_store_file_has_wal(file);
    char *uri = logged ? NULL : write_uri(file);
    if (!logged && !uri) return rue_fail_memory(error, "the store's name", strlen(file));
    /* In exclusive mode without locks SQLite keeps the index of a log in memory. */
    int code =
        sqlite3_open_v2(logged ? file : uri, out, SQLITE_OPEN_READONLY | (logged ? 0 : SQLITE_OPEN_URI),
                        logged && alone ? "unix-none" : NULL);
    sqlite3_free(uri);
    if (code == SQLITE_OK) code = rue_store_guard_open(*out);
    if (code == SQLITE_OK) code = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (code == SQLITE_OK && alone)
        code = sqlite3_exec(*out, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    return code == SQLITE_OK ? RUE_OK : rue_store_fail(*out, code, path, "opening the store", error);
}
