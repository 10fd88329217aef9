#include "store_error.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "advice.h"
#include "interrupt.h"

static const struct advice {
    int code;
    const char *text; /* may take the path once */
} advices[] = {
    {SQLITE_FULL, "the disk is full: free some space and run again; every trial stored so far is kept"},
    {SQLITE_IOERR,
     "the disk is full or failing: free some space and run again; every trial stored so far is kept"},
    {SQLITE_BUSY, "another process is using it: wait for that one to end, or choose another folder"},
    {SQLITE_LOCKED, "another process is using it: wait for that one to end, or choose another folder"},
    {SQLITE_CORRUPT, "it is damaged: " RUE_STORE_PUT_ASIDE},
    {SQLITE_NOTADB, "it is no store of rue: " RUE_STORE_PUT_ASIDE},
    {SQLITE_READONLY, "make the file and its folder writable, or choose another folder"},
    {SQLITE_CANTOPEN, "make the file and its folder readable and writable, or choose another folder"},
    {SQLITE_PROTOCOL, "locking does not work there: choose another folder, on a local disk"},
    {SQLITE_INTERRUPT, "it holds more than a store of rue does: " RUE_STORE_PUT_ASIDE},
    {SQLITE_PERM, "make the file and its folder readable and writable, or choose another folder"},
};

static const char *advice_find(int code)
{
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (advices[i].code == (code & 0xff)) return advices[i].text;
    return "it is unusable: " RUE_STORE_PUT_ASIDE;
}

rue_status rue_store_fail(sqlite3 *db, int code, const char *path, const char *doing, rue_error *error)
{
    if ((code & 0xff) == SQLITE_NOMEM)
        return rue_fail(error, RUE_MEMORY, "%s: %s: out of memory", path, doing);
    if ((code & 0xff) == SQLITE_INTERRUPT && rue_interrupt_status() != RUE_OK)
        return rue_fail(error, rue_interrupt_status(), "interrupted");

    /* A code that is not the connection's last was found by ourselves. */
    bool own = !db || (sqlite3_errcode(db) & 0xff) != (code & 0xff);
    int extended = own ? code : sqlite3_extended_errcode(db);
    int cause =
        (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;
    bool refused = (code & 0xff) == SQLITE_CANTOPEN && rue_advice(cause)[0];
    if (refused)
        return rue_fail(error, RUE_STORE, "%s: %s: %s%s", path, doing, strerror(cause), rue_advice(cause));
    char advice[RUE_ERROR_MESSAGE_BYTES];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* one of the texts above */
    snprintf(advice, sizeof advice, advice_find(code), path);
#pragma GCC diagnostic pop
    return rue_fail(error, RUE_STORE, "%s: %s: %s%s%s (SQLite %d); %s", path, doing,
                    own ? sqlite3_errstr(code) : sqlite3_errmsg(db), cause ? ": " : "",
                    cause ? strerror(cause) : "", extended, advice);
}
