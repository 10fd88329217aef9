#include "store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "json_document.h"
#include "store_error.h"
#include "store_file.h"
#include "store_guard.h"
#include "store_row.h"
#include "store_schema.h"
#include "trial_loop.h"

/* At work, a reader that writes by hand may take its time: what was measured would be lost. */
enum { WRITE_BUSY_MS = 60000 };

struct rue_store {
    sqlite3 *db;
    char *path; /* as the user wrote it, for messages */
    sqlite3_stmt *insert, *find, *count, *begin;
    int64_t run_id; /* RUE_ABSENT before the first run */
};

static rue_status fail(struct rue_store *store, int code, const char *doing, rue_error *error)
{
    return rue_store_fail(store->db, code, store->path, doing, error);
}

/* Readies a statement for the next call; its error has been recorded by then. */
static void rewind_statement(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

static rue_status prepare(struct rue_store *store, const char *sql, sqlite3_stmt **out, rue_error *error)
{
    if (!sql) return rue_fail_memory(error, "a statement of the store", 0);
    int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    return code == SQLITE_OK ? RUE_OK : fail(store, code, "preparing the store", error);
}

static rue_status prepare_all(struct rue_store *store, rue_error *error)
{
    char *insert = rue_store_insert_sql(), *find = rue_store_find_sql();
    rue_status status = prepare(store, insert, &store->insert, error);
    if (status == RUE_OK) status = prepare(store, find, &store->find, error);
    if (status == RUE_OK) status = prepare(store, "SELECT count(*) FROM trial", &store->count, error);
    if (status == RUE_OK)
        status = prepare(store,
                         "INSERT INTO run (command_line, rue_version, started, knobs)"
                         " VALUES (:command_line, :rue_version, :started, :knobs)",
                         &store->begin, error);
    free(insert);
    free(find);
    return status;
}

/* Reads the file without changing it or its folder: in exclusive mode without locks, SQLite keeps the index
 * of a log in memory, and the log is not brought into the file when it is closed. */
static rue_status open_unchanged(const char *file, const char *path, sqlite3 **out, rue_error *error)
{
    bool logged = rue_store_file_has_wal(file);
    char *name = logged ? strdup(file) : rue_store_file_immutable_uri(file);
    if (!name) return rue_fail_memory(error, "the store's name", strlen(file));
    int code = sqlite3_open_v2(name, out, SQLITE_OPEN_READONLY | (logged ? 0 : SQLITE_OPEN_URI),
                               logged ? "unix-none" : NULL);
    free(name);
    if (code == SQLITE_OK) code = rue_store_guard_open(*out);
    if (code == SQLITE_OK) code = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(*out, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    return code == SQLITE_OK ? rue_store_schema_check(*out, path, error)
                             : rue_store_fail(*out, code, path, "opening the store", error);
}

static rue_status copy(const char *file, const char *path, sqlite3 *into, rue_error *error)
{
    sqlite3 *from = NULL;
    rue_status status = open_unchanged(file, path, &from, error);
    sqlite3_backup *backup = status == RUE_OK ? sqlite3_backup_init(into, "main", from, "main") : NULL;
    if (backup) sqlite3_backup_step(backup, -1);
    if (status == RUE_OK && (!backup || sqlite3_backup_finish(backup) != SQLITE_OK))
        status = rue_store_fail(into, sqlite3_errcode(into), path, "reading the store", error);
    sqlite3_close(from);
    return status;
}

/* `source`, nullable: a file whose content comes first into `file`, which is new. */
static rue_status connect(struct rue_store *store, const char *file, const char *source, rue_error *error)
{
    int code = sqlite3_open_v2(file, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    rue_status status = code == SQLITE_OK && source ? copy(source, store->path, store->db, error) : RUE_OK;
    if (status != RUE_OK) return status;
    if (code == SQLITE_OK) code = rue_store_guard_open(store->db);
    if (code != SQLITE_OK) return fail(store, code, "opening the store", error);
    sqlite3_busy_timeout(store->db, RUE_STORE_BUSY_MS);
    if (sqlite3_db_readonly(store->db, "main") == 1)
        return rue_fail(error, RUE_STORE,
                        "%s: the store is read-only; make it writable, or choose another folder",
                        store->path);

    /* Until the file is known to be a healthy store, closing must not copy its log into it. */
    if (rue_store_file_has_wal(file)) sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    status = rue_store_schema_open(store->db, store->path, error);
    if (status != RUE_OK) return status;
    rue_store_guard_let_finish(store->db);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    code = sqlite3_exec(store->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL, NULL, NULL);
    if (code != SQLITE_OK) return fail(store, code, "switching the store to WAL", error);
    code = sqlite3_exec(store->db, "PRAGMA temp_store = MEMORY; " RUE_STORE_DOUBTFUL_SQL, NULL, NULL, NULL);
    if (code != SQLITE_OK) return fail(store, code, "preparing the store", error);
    sqlite3_busy_timeout(store->db, WRITE_BUSY_MS);
    return prepare_all(store, error);
}

static const char memory[] = ":memory:"; /* SQLite's word */

/* How a store is opened; `path` is NULL in memory alone. */
enum opening { IN_MEMORY, COPIED, ON_DISK, FRESH };

static rue_status open_file(struct rue_store *store, const char *path, enum opening how, rue_error *error)
{
    char *file = NULL;
    rue_status status = rue_store_file_resolve(path, &file, error);
    if (status == RUE_OK && how == FRESH) status = rue_store_file_put_aside(file, path, error);
    if (status == RUE_OK) status = rue_store_file_check(file, path, error);
    if (status == RUE_OK && how == COPIED) status = connect(store, memory, file, error);
    if (status == RUE_OK && how != COPIED) status = connect(store, file, NULL, error);
    free(file);
    return status;
}

static rue_status open_store(const char *path, enum opening how, struct rue_store **out, rue_error *error)
{
    *out = NULL;
    struct rue_store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path ? path : memory))) {
        free(store);
        return rue_fail_memory(error, "the store", sizeof *store);
    }
    store->run_id = RUE_ABSENT;
    rue_status status =
        how == IN_MEMORY ? connect(store, memory, NULL, error) : open_file(store, path, how, error);
    if (status == RUE_OK) return *out = store, RUE_OK;
    return rue_store_close(store), status;
}

rue_status rue_store_open(const char *path, bool fresh, struct rue_store **out, rue_error *error)
{
    return open_store(path, !path ? IN_MEMORY : fresh ? FRESH : ON_DISK, out, error);
}

rue_status rue_store_open_copy(const char *path, struct rue_store **out, rue_error *error)
{
    return open_store(path, COPIED, out, error);
}

void rue_store_close(struct rue_store *store)
{
    if (!store) return;
    sqlite3_finalize(store->begin);
    sqlite3_finalize(store->count);
    sqlite3_finalize(store->find);
    sqlite3_finalize(store->insert);
    sqlite3_close(store->db);
    free(store->path);
    free(store);
}

rue_status rue_store_begin_run(struct rue_store *store, const char *command_line, const char *rue_version,
                               const char *started, const struct rue_knobs *knobs, rue_error *error)
{
    struct rue_store_row row = {store->begin, SQLITE_OK};
    rue_status status = RUE_OK;
    json_t *declared = knobs->count > RUE_OWN_KNOB_COUNT ? rue_json_knobs(knobs) : NULL;
    char *text = declared ? rue_json_dump(declared, JSON_COMPACT) : NULL;
    json_decref(declared);
    if (declared && !text) return rue_fail_memory(error, "knobs", sizeof *knobs);
    if (text) rue_store_row_text(&row, "knobs", text);
    rue_store_row_text(&row, "command_line", command_line);
    rue_store_row_text(&row, "rue_version", rue_version);
    rue_store_row_text(&row, "started", started);
    if (row.code == SQLITE_OK) row.code = sqlite3_step(store->begin);
    if (row.code != SQLITE_DONE)
        status = fail(store, row.code, "noting the run", error);
    else
        store->run_id = sqlite3_last_insert_rowid(store->db);
    rewind_statement(store->begin);
    free(text);
    return status;
}

rue_status rue_store_keep_findings(struct rue_store *store, const char *findings, rue_error *error)
{
    sqlite3_stmt *statement = NULL;
    rue_status status = prepare(
        store, "UPDATE run SET findings = :findings, checksum = rue_checksum(:findings) WHERE id = :id",
        &statement, error);
    if (status != RUE_OK) return status;
    struct rue_store_row row = {statement, SQLITE_OK};
    rue_store_row_text(&row, "findings", findings);
    rue_store_row_integer(&row, "id", store->run_id);
    if (row.code == SQLITE_OK) row.code = sqlite3_step(statement);
    if (row.code != SQLITE_DONE) status = fail(store, row.code, "keeping what the run found out", error);
    sqlite3_finalize(statement);
    return status;
}

rue_status rue_store_findings(struct rue_store *store, size_t nth, char **out, rue_error *error)
{
    int64_t run;
    int code = rue_store_row_findings(store->db, nth, &run, out);
    return code == SQLITE_OK ? RUE_OK : fail(store, code, "reading what earlier runs found out", error);
}

rue_status rue_store_add(struct rue_store *store, const struct rue_store_scenario *scenario,
                         const struct rue_trial_request *request, const struct rue_trial_result *result,
                         uint64_t started_ns, uint64_t *out_id, rue_error *error)
{
    struct rue_store_row row = {store->insert, SQLITE_OK};
    rue_status status = RUE_OK;
    rue_store_row_integer(&row, "run_id", store->run_id);
    rue_store_row_count(&row, "started_ns", started_ns);
    rue_store_row_text(&row, "path", scenario->variant.path);
    rue_store_row_limit(&row, "limit_time_ns", request->limits.time_ns);
    rue_store_row_request(&row, scenario, request);
    rue_store_row_result(&row, result);
    if (row.code == SQLITE_OK) row.code = sqlite3_step(store->insert);
    int moved = 0;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (row.code != SQLITE_DONE)
        status = fail(store, row.code, "adding a trial", error);
    else if (moved)
        status = rue_fail(error, RUE_STORE,
                          "%s was removed or replaced while it was written: what this run measured from then "
                          "on is lost; leave it alone and run the same command again",
                          store->path);
    else if (out_id)
        *out_id = (uint64_t)sqlite3_last_insert_rowid(store->db);
    rewind_statement(store->insert);
    return status;
}

/* Binds what rows are to be found, at most so many; -1: all. */
static struct rue_store_row search(struct rue_store *store, const struct rue_store_scenario *scenario,
                                   const struct rue_trial_request *request, struct rue_store_pick pick,
                                   int most)
{
    struct rue_store_row row = {store->find, SQLITE_OK};
    rue_store_row_request(&row, scenario, request);
    rue_store_row_integer(&row, "fits", rue_trial_fits_limit(request));
    rue_store_row_count(&row, "after", pick.after);
    rue_store_row_count(&row, "nth", pick.nth);
    rue_store_row_integer(&row, "most", most);
    return row;
}

/* The row that the search is at; `result` is always set. */
static rue_status read_found(struct rue_store *store, const struct rue_trial_request *request,
                             struct rue_trial_result *result, rue_error *error)
{
    *result = rue_trial_result_empty();
    rue_status status = rue_store_row_read(store->find, store->path, result, error);
    result->config = request->config;
    return status;
}

rue_status rue_store_find(struct rue_store *store, const struct rue_store_scenario *scenario,
                          const struct rue_trial_request *request, struct rue_store_pick pick, bool *found,
                          struct rue_trial_result *result, uint64_t *out_id, uint64_t *out_started_ns,
                          rue_error *error)
{
    struct rue_store_row row = search(store, scenario, request, pick, 1);
    rue_status status = RUE_OK;
    *found = false;
    *result = rue_trial_result_empty();
    if (row.code == SQLITE_OK) row.code = sqlite3_step(store->find);
    if (row.code == SQLITE_ROW) {
        status = read_found(store, request, result, error);
        if (out_id) *out_id = (uint64_t)sqlite3_column_int64(store->find, 0);
        if (out_started_ns) *out_started_ns = (uint64_t)sqlite3_column_int64(store->find, 1);
        *found = status == RUE_OK;
    } else if (row.code != SQLITE_DONE)
        status = fail(store, row.code, "looking for a trial", error);
    rewind_statement(store->find);
    return status;
}

rue_status rue_store_walk(struct rue_store *store, const struct rue_store_scenario *scenario,
                          const struct rue_trial_request *request, rue_store_visit *visit, void *context,
                          rue_error *error)
{
    struct rue_store_row row = search(store, scenario, request, (struct rue_store_pick){0}, -1);
    rue_status status = RUE_OK;
    while (row.code == SQLITE_OK && status == RUE_OK &&
           (row.code = sqlite3_step(store->find)) == SQLITE_ROW) {
        struct rue_trial_result result;
        status = read_found(store, request, &result, error);
        if (status == RUE_OK)
            status = visit(context, (uint64_t)sqlite3_column_int64(store->find, 0), &result, error);
        rue_trial_result_close(&result);
        if (status == RUE_OK && rue_interrupt_status() != RUE_OK)
            status = rue_fail(error, rue_interrupt_status(), "interrupted");
        row.code = SQLITE_OK;
    }
    if (row.code != SQLITE_OK && row.code != SQLITE_DONE)
        status = fail(store, row.code, "looking for trials", error);
    rewind_statement(store->find);
    return status;
}

rue_status rue_store_doubt(struct rue_store *store, uint64_t first, uint64_t end, rue_error *error)
{
    sqlite3_stmt *statement = NULL;
    rue_status status = prepare(store, "INSERT INTO doubtful VALUES (:first, :past)", &statement, error);
    if (status != RUE_OK) return status;
    struct rue_store_row row = {statement, SQLITE_OK};
    rue_store_row_count(&row, "first", first);
    rue_store_row_count(&row, "past", end);
    if (row.code == SQLITE_OK) row.code = sqlite3_step(statement);
    if (row.code != SQLITE_DONE) status = fail(store, row.code, "noting doubtful trials", error);
    sqlite3_finalize(statement);
    return status;
}

rue_status rue_store_count(struct rue_store *store, uint64_t *out_count, rue_error *error)
{
    rue_status status = RUE_OK;
    int code = sqlite3_step(store->count);
    if (code == SQLITE_ROW)
        *out_count = (uint64_t)sqlite3_column_int64(store->count, 0);
    else
        status = fail(store, code, "counting trials", error);
    rewind_statement(store->count);
    return status;
}

rue_status rue_store_begin(struct rue_store *store, rue_error *error)
{
    int code = sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    return code == SQLITE_OK ? RUE_OK : fail(store, code, "beginning to add trials", error);
}

rue_status rue_store_end(struct rue_store *store, rue_error *error)
{
    int code = sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    return code == SQLITE_OK ? RUE_OK : fail(store, code, "adding trials", error);
}

rue_status rue_store_count_of(struct rue_store *store, const char *runner, uint64_t *out_count,
                              rue_error *error)
{
    sqlite3_stmt *statement = NULL;
    rue_status status =
        prepare(store, "SELECT count(*) FROM trial WHERE runner = :runner", &statement, error);
    if (status != RUE_OK) return status;
    struct rue_store_row row = {statement, SQLITE_OK};
    rue_store_row_text(&row, "runner", runner);
    if (row.code == SQLITE_OK) row.code = sqlite3_step(statement);
    if (row.code == SQLITE_ROW)
        *out_count = (uint64_t)sqlite3_column_int64(statement, 0);
    else
        status = fail(store, row.code, "counting trials", error);
    sqlite3_finalize(statement);
    return status;
}
