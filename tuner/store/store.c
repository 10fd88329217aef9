#include "store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "folder_lock.h"
#include "interrupt.h"
#include "json_document.h"
#include "store_connection.h"
#include "store_row.h"
#include "store_schema.h"
#include "trial_loop.h"
#include "workload_json.h"

/* How long to wait for another process that writes. A run waits longer than opening, so that it loses no
 * trial while a person edits the store. */
enum { OPEN_BUSY_MS = 2000, WRITE_BUSY_MS = 60000, COPY_ATTEMPTS = 5 };

struct rue_store {
    sqlite3 *db;
    char *path; /* as the user wrote it, for messages */
    sqlite3_stmt *insert, *search, *list, *last;
    int64_t run_id; /* RUE_ABSENT before the first run */
    struct rue_store_cache cache;
};

static rue_status fail_store(struct rue_store *store, int code, const char *action, rue_error *error)
{
    return rue_store_fail(store->db, code, store->path, action, error);
}

/* ---- opening ---- */

static const char memory_name[] = ":memory:"; /* SQLite's name */

/* Frees `sql`. */
static rue_status prepare_statement(struct rue_store *store, char *sql, sqlite3_stmt **out, rue_error *error)
{
    int code =
        sql ? sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code == SQLITE_OK ? RUE_OK : fail_store(store, code, "preparing the store", error);
}

/* Checks the content first. Call this after the schema was checked or created. */
static rue_status configure_connection(struct rue_store *store, rue_error *error)
{
    rue_status status = rue_store_content_check(store->db, store->path, error);
    if (status != RUE_OK) return status;
    sqlite3_progress_handler(store->db, 0, NULL, NULL); /* a signal must not lose what was measured */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    int code = sqlite3_exec(
        store->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY", NULL,
        NULL, NULL);
    if (code != SQLITE_OK) return fail_store(store, code, "preparing the store", error);
    sqlite3_busy_timeout(store->db, WRITE_BUSY_MS);
    status = prepare_statement(store, rue_store_insert_sql(RUE_STORE_TRIALS), &store->insert, error);
    if (status == RUE_OK) status = prepare_statement(store, rue_store_search_sql(), &store->search, error);
    if (status == RUE_OK) status = prepare_statement(store, rue_store_list_sql(true), &store->last, error);
    return status == RUE_OK ? prepare_statement(store, rue_store_list_sql(false), &store->list, error)
                            : status;
}

static rue_status open_database(struct rue_store *store, const char *file, rue_error *error)
{
    struct stat info;
    int code = sqlite3_open_v2(file, &store->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = rue_store_guard_open(store->db);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(store->db, OPEN_BUSY_MS);
    /* An empty file needs no journal, which a killed process would not remove. */
    if (code == SQLITE_OK && stat(file, &info) == 0 && info.st_size == 0)
        code = sqlite3_exec(store->db, "PRAGMA journal_mode = MEMORY; PRAGMA journal_mode = WAL", NULL, NULL,
                            NULL);
    if (code != SQLITE_OK) return fail_store(store, code, "opening the store", error);
    if (sqlite3_db_readonly(store->db, "main") == 1)
        return rue_fail(error, RUE_STORE,
                        "%s: the store is read-only; make it writable, or choose another folder",
                        store->path);
    /* Until the file is checked, closing must not copy its log into it. */
    if (rue_store_file_has_wal(file)) sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    rue_status status = rue_store_schema_open(store->db, store->path, error);
    return status == RUE_OK ? configure_connection(store, error) : status;
}

/* SQLite's code. sqlite3_backup_finish reports success even if a writer prevented the copy. */
static int copy_pages(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (!backup) return sqlite3_errcode(to);
    int copied = sqlite3_backup_step(backup, -1);
    int code = sqlite3_backup_finish(backup);
    return code == SQLITE_OK && copied != SQLITE_DONE ? copied : code;
}

/* Without a mutex, which each column of each row would lock. */
enum { MEMORY_FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX };

static rue_status copy_database(struct rue_store *store, const char *file, bool shared, rue_error *error)
{
    sqlite3 *from = NULL;
    rue_status status = rue_store_open_read_only(file, store->path, shared, &from, error);
    if (status == RUE_OK) status = rue_store_schema_check(from, store->path, error);
    int code = status == RUE_OK ? sqlite3_open_v2(memory_name, &store->db, MEMORY_FLAGS, NULL) : SQLITE_OK;
    if (code == SQLITE_OK && status == RUE_OK) code = rue_store_guard_open(store->db);
    if (code == SQLITE_OK && status == RUE_OK) code = copy_pages(from, store->db);
    if (code != SQLITE_OK) status = fail_store(store, code, "reading the store", error);
    sqlite3_close(from);
    return status;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* SQLite's locks would create files, so they are not used. If a tuner began to write during the copy, the
 * copy may mix two states and is repeated. */
static rue_status copy_consistently(struct rue_store *store, const char *file, bool locked, rue_error *error)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(file, '/') - file), file);
    for (int attempt = 0; attempt < COPY_ATTEMPTS; attempt++) {
        struct stat before, after;
        rue_error why = {0};
        bool logged = rue_store_file_has_wal(file),
             shared = logged && !locked && rue_folder_is_locked(folder[0] ? folder : "/");
        bool known = stat(file, &before) == 0;
        rue_status status = copy_database(store, file, shared, &why);
        bool whole = shared || !known ||
                     (stat(file, &after) == 0 && is_unchanged(&before, &after) &&
                      logged == rue_store_file_has_wal(file));
        if (whole && status != RUE_OK) return rue_fail(error, status, "%s", why.message);
        if (whole) return configure_connection(store, error);
        sqlite3_close(store->db);
        store->db = NULL;
    }
    return rue_fail(error, RUE_STORE, "%s changed while it was read; wait a moment and try again",
                    store->path);
}

/* `path` is NULL only for IN_MEMORY. */
enum open_kind { IN_MEMORY, COPIED, COPIED_LOCKED, ON_DISK, FRESH };

static rue_status open_disk(struct rue_store *store, const char *path, enum open_kind kind, rue_error *error)
{
    char *file = realpath(path, NULL);
    if (!file) file = strdup(path); /* it does not exist yet */
    if (!file) return rue_fail_memory(error, "the store's path", strlen(path));
    bool copied = kind == COPIED || kind == COPIED_LOCKED;
    rue_status status = kind == FRESH ? rue_store_file_rename_old(file, path, error) : RUE_OK;
    if (status == RUE_OK) status = rue_store_file_check(file, path, !copied, error);
    if (status == RUE_OK)
        status = copied ? copy_consistently(store, file, kind == COPIED_LOCKED, error)
                        : open_database(store, file, error);
    free(file);
    return status;
}

static rue_status open_store(const char *path, enum open_kind kind, struct rue_store **out, rue_error *error)
{
    *out = NULL;
    struct rue_store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path ? path : memory_name))) {
        free(store);
        return rue_fail_memory(error, "the store", sizeof *store);
    }
    store->run_id = RUE_ABSENT;
    rue_status status =
        kind == IN_MEMORY ? open_database(store, memory_name, error) : open_disk(store, path, kind, error);
    if (status == RUE_OK) return *out = store, RUE_OK;
    return rue_store_close(store), status;
}

rue_status rue_store_open(const char *path, bool fresh, struct rue_store **out, rue_error *error)
{
    return open_store(path, !path ? IN_MEMORY : fresh ? FRESH : ON_DISK, out, error);
}

rue_status rue_store_open_copy(const char *path, bool locked, struct rue_store **out, rue_error *error)
{
    return open_store(path, locked ? COPIED_LOCKED : COPIED, out, error);
}

void rue_store_close(struct rue_store *store)
{
    if (!store) return;
    sqlite3_finalize(store->list);
    sqlite3_finalize(store->last);
    sqlite3_finalize(store->search);
    sqlite3_finalize(store->insert);
    sqlite3_close(store->db);
    rue_store_cache_close(&store->cache);
    free(store->path);
    free(store);
}

/* ---- runs ---- */

/* Runs a statement to its end, as its changes are committed only then. `texts` are its parameters (NULL: SQL
 * NULL), `*out` (nullable) is the integer that it returns. Frees `sql`. */
static rue_status execute_statement(struct rue_store *store, char *sql, const char *const *texts,
                                    int64_t *out, const char *action, rue_error *error)
{
    sqlite3_stmt *statement = NULL;
    rue_status status = prepare_statement(store, sql, &statement, error);
    if (status != RUE_OK) return status;
    int code = SQLITE_OK;
    for (int i = 0; code == SQLITE_OK && i < sqlite3_bind_parameter_count(statement); i++)
        code = sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_STATIC);
    int64_t answer = 0;
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) answer = sqlite3_column_int64(statement, 0);
    if (code != SQLITE_DONE)
        status = fail_store(store, code, action, error);
    else if (out)
        *out = answer;
    sqlite3_finalize(statement);
    return status;
}

rue_status rue_store_hold(struct rue_store *store, rue_error *error)
{
    return execute_statement(store, sqlite3_mprintf("BEGIN IMMEDIATE"), NULL, NULL, "adding trials", error);
}

rue_status rue_store_commit(struct rue_store *store, rue_error *error)
{
    return execute_statement(store, sqlite3_mprintf("COMMIT"), NULL, NULL, "adding trials", error);
}

rue_status rue_store_begin_run(struct rue_store *store, const char *command_line, const char *rue_version,
                               const char *started, const struct rue_knobs *knobs, rue_error *error)
{
    json_t *declared = rue_knobs_are_own(knobs) ? NULL : rue_json_knobs(knobs);
    char *text = declared ? rue_json_dump(declared, JSON_COMPACT) : NULL;
    json_decref(declared);
    if (declared && !text) return rue_fail_memory(error, "knobs", sizeof *knobs);
    char *sql = sqlite3_mprintf("INSERT INTO run (command_line, rue_version, started, knobs)"
                                " VALUES (?, ?, ?, ?) RETURNING id");
    const char *const texts[] = {command_line, rue_version, started, text};
    rue_status status = execute_statement(store, sql, texts, &store->run_id, "recording the run", error);
    free(text);
    return status;
}

int64_t rue_store_run_id(const struct rue_store *store)
{
    return store->run_id;
}

/* ---- what runs found ---- */

static const char saving[] = "saving the findings of the run",
                  reading[] = "reading the findings of earlier runs";

rue_status rue_store_add_row(struct rue_store *store, enum rue_store_table table, void *row, rue_error *error)
{
    const struct rue_store_column *run_id = &rue_store_layouts[table].columns[1];
    sqlite3_stmt *insert = NULL;
    *(int64_t *)((char *)row + run_id->offset) = store->run_id;
    rue_status status = prepare_statement(store, rue_store_insert_sql(table), &insert, error);
    if (status != RUE_OK) return status;
    int code = rue_store_row_bind(insert, table, row);
    if (code == SQLITE_OK) code = sqlite3_step(insert);
    if (code != SQLITE_DONE) status = fail_store(store, code, saving, error);
    sqlite3_finalize(insert);
    return status;
}

rue_status rue_store_save_result(struct rue_store *store, struct rue_store_result *result,
                                 const struct rue_store_rows *findings, rue_error *error)
{
    char *sql = sqlite3_mprintf("SAVEPOINT saved; DELETE FROM result WHERE run_id = %lld;"
                                "DELETE FROM finding WHERE run_id = %lld",
                                store->run_id, store->run_id);
    int code = sql ? sqlite3_exec(store->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    rue_status status = code == SQLITE_OK ? rue_store_add_row(store, RUE_STORE_RESULTS, result, error)
                                          : fail_store(store, code, saving, error);
    for (size_t i = 0; status == RUE_OK && i < findings->count; i++)
        status =
            rue_store_add_row(store, RUE_STORE_FINDINGS, (struct rue_store_finding *)findings->at + i, error);
    if (status == RUE_OK && (code = sqlite3_exec(store->db, "RELEASE saved", NULL, NULL, NULL)) != SQLITE_OK)
        status = fail_store(store, code, saving, error);
    if (status != RUE_OK) sqlite3_exec(store->db, "ROLLBACK TO saved; RELEASE saved", NULL, NULL, NULL);
    return status;
}

/* Appends the statement's row. */
static rue_status append_row(struct rue_store *store, sqlite3_stmt *statement, size_t *capacity,
                             struct rue_store_rows *out, rue_error *error)
{
    const struct rue_store_layout *layout = &rue_store_layouts[out->table];
    rue_status status =
        rue_array_grow(&out->at, capacity, out->count + 1, layout->bytes, layout->name, error);
    if (status != RUE_OK) return status;
    void *row = memset((char *)out->at + out->count++ * layout->bytes, 0, layout->bytes);
    const char *column = rue_store_row_read(statement, out->table, 0, NULL, row);
    if (!column) return RUE_OK;
    return rue_fail(
        error, RUE_STORE,
        "%s: row %lld of the table %s: this version of rue cannot read its column %s; delete that "
        "row",
        store->path, sqlite3_column_int64(statement, 0), layout->name, column);
}

rue_status rue_store_read_rows(struct rue_store *store, enum rue_store_table table, int64_t run_id,
                               struct rue_store_rows *out, rue_error *error)
{
    sqlite3_stmt *statement = NULL;
    size_t capacity = 0;
    const char *name = rue_store_layouts[table].name;
    char *sql = run_id == RUE_ABSENT
                    ? sqlite3_mprintf("SELECT * FROM %s ORDER BY run_id, id", name)
                    : sqlite3_mprintf("SELECT * FROM %s WHERE run_id = %lld ORDER BY id", name, run_id);
    *out = (struct rue_store_rows){.table = table};
    rue_status status = prepare_statement(store, sql, &statement, error);
    if (status != RUE_OK) return status;
    int code = SQLITE_ROW;
    while (status == RUE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        status = append_row(store, statement, &capacity, out, error);
    if (status == RUE_OK && code != SQLITE_DONE) status = fail_store(store, code, reading, error);
    sqlite3_finalize(statement);
    return status;
}

void rue_store_rows_close(struct rue_store_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        rue_store_row_close(rows->table, (char *)rows->at + i * rue_store_layouts[rows->table].bytes);
    free(rows->at);
    *rows = (struct rue_store_rows){0};
}

/* ---- trials ---- */

struct rue_store_trial rue_store_make_trial(const struct rue_store_origin *origin,
                                            const struct rue_trial_request *request)
{
    struct rue_store_trial trial = {.run_id = RUE_ABSENT, .origin = *origin, .request = *request};
    if (request->measure == RUE_LOAD) trial.request.model[0] = trial.origin.model_profile[0] = 0;
    return trial;
}

/* Call this after the statement's error was recorded. */
static void rewind_statement(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

/* JSON has no numbers beyond its range: such a field is null, which reads as its default. */
static bool same_workload(const struct rue_workload *a, const struct rue_workload *b)
{
    char first[RUE_WORKLOAD_TEXT_BYTES], second[RUE_WORKLOAD_TEXT_BYTES];
    rue_workload_canonical(a, first);
    rue_workload_canonical(b, second);
    return strcmp(first, second) == 0;
}

/* Reads the row back, as a later run will: no row is kept that cannot be read. */
static rue_status insert_row(struct rue_store *store, const struct rue_store_trial *trial, uint64_t *out_id,
                             rue_error *error)
{
    struct rue_store_trial stored = {.result = rue_trial_result_empty()};
    const char *column = NULL;
    int code = rue_store_row_bind(store->insert, RUE_STORE_TRIALS, trial);
    if (code == SQLITE_OK) code = sqlite3_step(store->insert);
    if (code == SQLITE_DONE) code = sqlite3_step(store->last);
    if (code != SQLITE_ROW) return fail_store(store, code, "adding a trial", error);
    column = rue_store_row_read(store->last, RUE_STORE_TRIALS, 0, &store->cache, &stored);
    if (!column && !same_workload(&trial->request.workload, &stored.request.workload)) column = "workload";
    rue_trial_result_close(&stored.result);
    *out_id = stored.id;
    if (!column) return RUE_OK;
    return rue_fail(
        error, RUE_STORE,
        "%s: a trial was not stored, because its column %s could not be read again; " RUE_STORE_MOVE_AWAY,
        store->path, column, store->path);
}

/* Commits the row, or removes it if `status` is an error. */
static rue_status end_row(struct rue_store *store, rue_status status, rue_error *error)
{
    int moved = 0;
    rewind_statement(store->insert);
    rewind_statement(store->last);
    int code = status == RUE_OK ? sqlite3_exec(store->db, "RELEASE added", NULL, NULL, NULL) : SQLITE_OK;
    if (code != SQLITE_OK) status = fail_store(store, code, "adding a trial", error);
    if (status != RUE_OK) {
        sqlite3_exec(store->db, "ROLLBACK TO added; RELEASE added", NULL, NULL, NULL);
        return status;
    }
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (!moved) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s was removed or replaced during the run, so later trials are lost; leave the file "
                    "in place and run the same command again",
                    store->path);
}

rue_status rue_store_add_trial(struct rue_store *store, struct rue_store_trial *trial, rue_error *error)
{
    trial->run_id = store->run_id;
    int code = sqlite3_exec(store->db, "SAVEPOINT added", NULL, NULL, NULL);
    if (code != SQLITE_OK) return fail_store(store, code, "adding a trial", error);
    return end_row(store, insert_row(store, trial, &trial->id, error), error);
}

/* `limit`: number of rows; -1: all. SQLite's code. */
static int bind_search(struct rue_store *store, const struct rue_store_origin *origin,
                       const struct rue_trial_request *request, struct rue_store_position position, int limit)
{
    const struct rue_store_trial trial = rue_store_make_trial(origin, request);
    int code = rue_store_row_bind(store->search, RUE_STORE_TRIALS, &trial);
    const struct {
        const char *name;
        int64_t value;
    } others[] = {{":fits", rue_trial_fits_limit(request)},
                  {":run", store->run_id},
                  {":after", (int64_t)position.after},
                  {":nth", position.nth < INT64_MAX ? (int64_t)position.nth : INT64_MAX},
                  {":limit", limit}};
    for (size_t i = 0; code == SQLITE_OK && i < sizeof others / sizeof *others; i++)
        code = sqlite3_bind_int64(store->search, sqlite3_bind_parameter_index(store->search, others[i].name),
                                  others[i].value);
    return code;
}

/* `*found` is false after the last row. The result is always set. */
static rue_status read_next_row(struct rue_store *store, sqlite3_stmt *statement, struct rue_store_trial *out,
                                bool *found, rue_error *error)
{
    bool is_list = statement == store->list;
    *found = false;
    out->result = rue_trial_result_empty();
    int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return RUE_OK;
    if (code != SQLITE_ROW) return fail_store(store, code, "reading a trial", error);
    const char *column =
        rue_store_row_read(statement, RUE_STORE_TRIALS, is_list ? 0 : offsetof(struct rue_store_trial, id),
                           is_list ? &store->cache : NULL, out);
    *found = !column;
    if (*found) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s: trial %lld: this version of rue cannot read its column %s; delete that row",
                    store->path, sqlite3_column_int64(statement, 0), column);
}

/* Reads id, start and result of the next row. `code` is that of bind_search. */
static rue_status find_next_row(struct rue_store *store, int code, const struct rue_trial_request *request,
                                struct rue_store_trial *out, bool *found, rue_error *error)
{
    *found = false;
    out->result = rue_trial_result_empty();
    rue_status status = code == SQLITE_OK ? read_next_row(store, store->search, out, found, error)
                                          : fail_store(store, code, "searching for a trial", error);
    out->result.config = request->config;
    return status;
}

rue_status rue_store_find_trial(struct rue_store *store, const struct rue_store_origin *origin,
                                const struct rue_trial_request *request, struct rue_store_position position,
                                struct rue_store_trial *out, rue_error *error)
{
    bool found = false;
    int code = bind_search(store, origin, request, position, 1);
    rue_status status = find_next_row(store, code, request, out, &found, error);
    if (!found) out->id = 0;
    rewind_statement(store->search);
    return status;
}

rue_status rue_store_visit_trials(struct rue_store *store, const struct rue_store_origin *origin,
                                  const struct rue_trial_request *request, rue_store_visit *visit,
                                  void *context, rue_error *error)
{
    struct rue_store_trial trial;
    int code = bind_search(store, origin, request, (struct rue_store_position){0}, -1);
    rue_status status = RUE_OK;
    for (bool found = true; status == RUE_OK && found;) {
        status = find_next_row(store, code, request, &trial, &found, error);
        if (found) status = visit(context, trial.id, &trial.result, error);
        rue_trial_result_close(&trial.result);
        if (status == RUE_OK && rue_interrupt_status() != RUE_OK)
            status = rue_fail(error, rue_interrupt_status(), "interrupted");
    }
    rewind_statement(store->search);
    return status;
}

rue_status rue_store_next_trial(struct rue_store *store, bool *found, struct rue_store_trial *out,
                                rue_error *error)
{
    *out = (struct rue_store_trial){0}; /* a row does not contain all fields */
    rue_status status = read_next_row(store, store->list, out, found, error);
    if (!*found) rue_trial_result_close(&out->result);
    return status;
}

rue_status rue_store_count_trials(struct rue_store *store, uint64_t *out_count, rue_error *error)
{
    int64_t count = 0;
    char *sql = sqlite3_mprintf("SELECT count(*) FROM trial");
    rue_status status = execute_statement(store, sql, NULL, &count, "counting trials", error);
    *out_count = (uint64_t)count;
    return status;
}

rue_status rue_store_count_scenario(struct rue_store *store, const char *scenario, uint64_t *out_count,
                                    rue_error *error)
{
    int64_t count = 0;
    char *sql = sqlite3_mprintf("SELECT count(*) FROM trial WHERE run_id IN"
                                " (SELECT run_id FROM finding WHERE scenario = ?)");
    rue_status status = execute_statement(store, sql, &scenario, &count, "counting trials", error);
    *out_count = (uint64_t)count;
    return status;
}
