#include "store_connection.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "interrupt.h"
#include "report.h"

enum { LENGTH_MAX = 256 << 20, SQL_MAX = 256 << 10 }; /* bytes of a value, and of a statement */

/* Steps of SQLite's virtual machine between two checks for signals; how long a reader waits for a writer. */
enum { STEPS_PER_CHECK = 1000, READ_BUSY_MS = 2000 };

/* ---- failures ---- */

static const char unusable[] = "the store is unusable: " RUE_STORE_MOVE_AWAY;
static const char in_use[] = "another process uses the store: wait for it to end, or choose another folder";
static const char not_writable[] =
    "make the file and its folder readable and writable, or choose another folder";

static const char no_locks[] = "file locks do not work there: choose a folder on a local disk with --out";
static const char no_shared_memory[] =
    "files cannot be shared memory there: choose a folder on a local disk with --out";

/* Formats; the argument is the path. */
static const char *const advices[] = {
    [SQLITE_FULL] = "the disk is full: free some space and run again; all stored trials are kept",
    [SQLITE_IOERR] = "the disk is full or failing: free some space and run again; all stored trials are kept",
    [SQLITE_BUSY] = in_use,
    [SQLITE_LOCKED] = in_use,
    [SQLITE_CORRUPT] = "the store is damaged: " RUE_STORE_MOVE_AWAY,
    [SQLITE_NOTADB] = "it is not a store of rue: " RUE_STORE_MOVE_AWAY,
    [SQLITE_READONLY] = not_writable,
    [SQLITE_CANTOPEN] = not_writable,
    [SQLITE_PERM] = not_writable,
    [SQLITE_PROTOCOL] = no_locks,
    [SQLITE_INTERRUPT] = "its schema is larger than that of a store of rue: " RUE_STORE_MOVE_AWAY,
};

/* SQLite says that the store is in use also where the file system has no locks. The probe ends the locks that
 * this process has on the file, so call it only after a failure. */
static bool has_locks(sqlite3 *db)
{
    const char *file = sqlite3_db_filename(db, "main");
    int fd = file && file[0] ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return true;
    struct flock probe = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = INT64_MAX - 1, .l_len = 1};
    bool works = fcntl(fd, F_SETLK, &probe) == 0 || errno == EAGAIN || errno == EACCES;
    close(fd);
    return works;
}

/* What to do, of an extended code; NULL: unknown. `cause`: errno; 0: unknown. */
static const char *find_advice(sqlite3 *db, int extended, int cause)
{
    size_t primary = extended & 0xff;
    if (primary == SQLITE_BUSY && !has_locks(db)) return no_locks;
    switch (cause == ENOSPC || cause == EDQUOT ? 0 : extended) {
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_UNLOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_CHECKRESERVEDLOCK:
    case SQLITE_IOERR_SHMLOCK:
        return no_locks;
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP:
        return no_shared_memory;
    default:
        return primary < sizeof advices / sizeof *advices ? advices[primary] : NULL;
    }
}

rue_status rue_store_fail(sqlite3 *db, int code, const char *path, const char *action, rue_error *error)
{
    size_t primary = code & 0xff;
    if (primary == SQLITE_NOMEM) return rue_fail(error, RUE_MEMORY, "%s: %s: out of memory", path, action);
    if (primary == SQLITE_INTERRUPT && rue_interrupt_status() != RUE_OK)
        return rue_fail(error, rue_interrupt_status(), "interrupted");

    /* If the code is not the connection's last one, rue found the error itself. */
    bool own = !db || (sqlite3_errcode(db) & 0xff) != (code & 0xff);
    int extended = own ? code : sqlite3_extended_errcode(db);
    int cause = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;
    if (primary == SQLITE_CANTOPEN && rue_advice(cause)[0])
        return rue_fail(error, RUE_STORE, "%s: %s: %s%s", path, action, strerror(cause), rue_advice(cause));
    const char *known = find_advice(db, extended, cause);
    char advice[RUE_ERROR_MESSAGE_BYTES];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* one of the texts above */
    snprintf(advice, sizeof advice, known ? known : unusable, path);
#pragma GCC diagnostic pop
    return rue_fail(error, RUE_STORE, "%s: %s: %s%s%s (SQLite %d); %s", path, action,
                    own ? sqlite3_errstr(code) : sqlite3_errmsg(db), cause ? ": " : "",
                    cause ? strerror(cause) : "", extended, advice);
}

/* ---- files ---- */

/* The main file is last: after a crash in between, it still exists and is renamed by the next run. */
static const char *const companions[] = {"-wal", "-shm", "-journal", ""};
enum {
    COMPANIONS = sizeof companions / sizeof *companions,
    NAME_BYTES = PATH_MAX + 96,
    OLD_STORES_MAX = 1000
};

/* The smallest page of SQLite, so the smallest file. */
enum { SQLITE_FILE_BYTES = 512 };

/* False if `file` + `suffix` does not exist. */
static bool stat_file(const char *file, const char *suffix, struct stat *info)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", file, suffix);
    return lstat(name, info) == 0;
}

bool rue_store_file_has_wal(const char *file)
{
    struct stat info;
    return stat_file(file, "-wal", &info) && info.st_size > 0;
}

static rue_status check_companions(const char *file, const char *path, rue_error *error)
{
    struct stat info;
    for (int i = 0; companions[i][0]; i++)
        if (stat_file(file, companions[i], &info) && (!S_ISREG(info.st_mode) || info.st_nlink > 1))
            return rue_fail(error, RUE_STORE,
                            "%s: %s%s is a link or not a regular file, and SQLite would write to it; "
                            "remove it, or " RUE_STORE_MOVE_AWAY,
                            path, path, companions[i], path);
    /* rue writes no such journal. SQLite would copy it over the store, and delete the file that it names. */
    if (stat_file(file, "-journal", &info) && info.st_size > 0)
        return rue_fail(error, RUE_STORE,
                        "%s: the file %s-journal is not from rue; move it away, or choose another folder",
                        path, path);
    return RUE_OK;
}

static rue_status check_folder(const char *file, const char *path, rue_error *error)
{
    char folder[NAME_BYTES];
    int length = (int)(strrchr(file, '/') - file);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, file);
    if (access(folder, W_OK | X_OK) == 0) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s: cannot write a store to %s: %s; make the folder writable, or choose another folder",
                    path, folder, strerror(errno));
}

rue_status rue_store_file_check(const char *file, const char *path, bool for_writing, rue_error *error)
{
    struct stat info;
    rue_status status = check_companions(file, path, error);
    bool exists = stat_file(file, "", &info);
    if (status == RUE_OK && !exists && for_writing) status = check_folder(file, path, error);
    if (status != RUE_OK) return status;
    if (exists && !S_ISREG(info.st_mode))
        return rue_fail(error, RUE_STORE,
                        "%s: not a regular file, so it cannot be the store; choose another folder", path);
    if (exists && for_writing && info.st_nlink > 1)
        return rue_fail(error, RUE_STORE,
                        "%s has other hard links, whose content would change too; replace it by a copy",
                        path);
    if (exists && info.st_size > 0 && info.st_size < SQLITE_FILE_BYTES)
        return rue_fail(error, RUE_STORE,
                        "%s: not a store of rue: too short for an SQLite file; " RUE_STORE_MOVE_AWAY, path,
                        path);
    if ((!exists || info.st_size == 0) && rue_store_file_has_wal(file))
        return rue_fail(error, RUE_STORE,
                        "%s: the store is damaged: it is empty or missing, but its log %s-wal is "
                        "not; " RUE_STORE_MOVE_AWAY,
                        path, path, path);
    return RUE_OK;
}

/* The name of the file number `index` (0, 1, ...) to rename, with `suffix` added: first the reports, which
 * must not stay beside another store, then the store. False after the last one. */
static bool format_old_name(const char *file, int index, const char *suffix, char out[NAME_BYTES])
{
    int folder = (int)(strrchr(file, '/') - file);
    for (int i = 0; rue_reports[i]; i++) {
        if (!rue_reports[i]->file || index-- > 0) continue;
        snprintf(out, NAME_BYTES, "%.*s/%s%s", folder, file, rue_reports[i]->file, suffix);
        return true;
    }
    if (index >= COMPANIONS) return false;
    snprintf(out, NAME_BYTES, "%s%s%s", file, suffix, companions[index]);
    return true;
}

/* The first unused suffix of ".old", ".old.2", .... After a crash between two renames, the suffix of the
 * renamed files is used again. */
static bool find_free_suffix(const char *file, char out[32])
{
    for (int n = 1; n <= OLD_STORES_MAX; n++) {
        bool renamed = false;
        char from[NAME_BYTES], to[NAME_BYTES];
        struct stat info;
        snprintf(out, 32, n == 1 ? ".old" : ".old.%d", n);
        for (int i = 0; !renamed && format_old_name(file, i, "", from) && format_old_name(file, i, out, to);
             i++)
            renamed = stat_file(to, "", &info) && (stat_file(from, "", &info) || strcmp(from, file) == 0);
        if (!renamed) return true;
    }
    return false;
}

rue_status rue_store_file_rename_old(const char *file, const char *path, rue_error *error)
{
    char old_suffix[32], from[NAME_BYTES], to[NAME_BYTES];
    if (!find_free_suffix(file, old_suffix))
        return rue_fail(error, RUE_STORE, "%s: its folder holds %d old stores; delete some of %s.old*", path,
                        OLD_STORES_MAX, path);
    for (int i = 0; format_old_name(file, i, "", from) && format_old_name(file, i, old_suffix, to); i++) {
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) != 0 && errno != ENOENT &&
            (errno != EINVAL || rename(from, to) != 0)) /* the file system has no RENAME_NOREPLACE */
            return rue_fail(error, RUE_STORE, "%s: cannot rename %s to %s: %s; rename it yourself", path,
                            from, to, strerror(errno));
    }
    return RUE_OK;
}

/* ---- opening ---- */

/* `checks`: number of checks left; NULL: no limit. */
static int must_stop(void *checks)
{
    int *left = checks;
    return rue_interrupt_status() != RUE_OK || (left && (*left)-- <= 0);
}

void rue_store_guard_limit(sqlite3 *db, int *checks)
{
    sqlite3_progress_handler(db, STEPS_PER_CHECK, must_stop, checks);
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
    rue_store_guard_limit(db, NULL);
    return code == SQLITE_OK
               ? sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL)
               : code;
}

/* SQLite creates companion files even to read a file in WAL mode, except with immutable=1, which ignores the
 * log. */
static char *make_uri(const char *file)
{
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendall(uri, "file:");
    for (; *file; file++)
        sqlite3_str_appendf(uri, isalnum((unsigned char)*file) || *file == '/' ? "%c" : "%%%02X",
                            (unsigned char)*file);
    return sqlite3_str_appendall(uri, "?immutable=1"), sqlite3_str_finish(uri);
}

rue_status rue_store_open_read_only(const char *file, const char *path, bool shared, sqlite3 **out,
                                    rue_error *error)
{
    bool logged = rue_store_file_has_wal(file);
    char *uri = logged ? NULL : make_uri(file);
    if (!logged && !uri) return rue_fail_memory(error, "the store's name", strlen(file));
    /* In exclusive mode without locks, SQLite keeps the index of the log in memory. */
    int code = sqlite3_open_v2(logged ? file : uri, out,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | (logged ? 0 : SQLITE_OPEN_URI),
                               logged && !shared ? "unix-none" : NULL);
    sqlite3_free(uri);
    if (code == SQLITE_OK) code = rue_store_guard_open(*out);
    if (code == SQLITE_OK) code = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (code == SQLITE_OK && !shared)
        code = sqlite3_exec(*out, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(*out, READ_BUSY_MS);
    return code == SQLITE_OK ? RUE_OK : rue_store_fail(*out, code, path, "opening the store", error);
}
