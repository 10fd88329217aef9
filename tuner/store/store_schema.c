#include "store_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "store_connection.h"
#include "store_row.h"

/* ---- statements ---- */

/* Comments precede the comma: ALTER TABLE ... DROP COLUMN deletes from the last comma before the column. */
static char *make_run_table(void)
{
    return sqlite3_mprintf("CREATE TABLE run (\n"
                           "    id INTEGER PRIMARY KEY /* number of the run */,\n"
                           "    command_line TEXT NOT NULL /* command line of the run */,\n"
                           "    rue_version TEXT NOT NULL /* version of rue */,\n"
                           "    started TEXT NOT NULL /* start of the run, UTC */,\n"
                           "    knobs TEXT /* JSON: knobs of the runner's own; NULL: none */\n)");
}

static char *make_table(enum rue_store_table table)
{
    const struct rue_store_layout *layout = &rue_store_layouts[table];
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "CREATE TABLE %s (", layout->name);
    for (int i = 0; i < layout->column_count; i++)
        sqlite3_str_appendf(out, "%s\n    %s %s /* %s */", i ? "," : "", layout->columns[i].name,
                            layout->columns[i].type, layout->columns[i].help);
    return sqlite3_str_appendall(out, "\n)"), sqlite3_str_finish(out);
}

static char *make_trial_index(void)
{
    return sqlite3_mprintf("CREATE INDEX trial_identity ON trial (config, data_digest, model)");
}

/* A column for each knob of rue's own. */
static void append_knobs(sqlite3_str *out)
{
    for (size_t k = 0; k < rue_own_knobs.count; k++) {
        const struct rue_knob_info *knob = rue_own_knobs.at[k];
        char fallback[RUE_KNOB_TEXT_BYTES];
        rue_knob_format(knob, knob->fallback, fallback);
        const char *quote = knob->kind == RUE_KIND_CATEGORY ? "'" : "";
        sqlite3_str_appendf(out, ",\n    coalesce(json_extract(config, '$.%s'), %s%s%s) AS %s", knob->name,
                            quote, fallback, quote, knob->name);
    }
}

static char *make_ok_trial_view(void)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out,
                          "CREATE VIEW ok_trial AS SELECT id, run_id, mode, format, dtype, model, measure");
    append_knobs(out);
    sqlite3_str_appendall(out, ",\n    job_images, requested_images >= job_images AS is_full");
    for (size_t i = 0; i < rue_trial_field_count; i++)
        sqlite3_str_appendf(out, "%s %s", i % 6 ? "," : ",\n   ", rue_trial_fields[i].name);
    sqlite3_str_appendall(
        out, ",\n    images * 1e9 / end_to_end_ns AS images_per_s\nFROM trial WHERE status = 'ok'");
    return sqlite3_str_finish(out);
}

/* Only the longest ok trials of a configuration count. A truncated trial is extended to the job by its mean
 * time per image between the first delivery and the last. SQLite has no median: it is the mean of the one or
 * two trials in the middle. */
static char *make_configuration_view(void)
{
    const char *separator = "min(id) OVER (PARTITION BY";
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, "CREATE VIEW configuration AS WITH joint AS (SELECT *,\n    ");
    const struct rue_store_layout *trial = &rue_store_layouts[RUE_STORE_TRIALS];
    for (int i = 0; i < trial->column_count; i++) {
        const struct rue_store_column *column = &trial->columns[i];
        if (column->role != RUE_STORE_IDENTITY || column->kind == RUE_STORE_CONFIG) continue;
        sqlite3_str_appendf(out, "%s %s", separator, column->name);
        separator = ",";
    }
    sqlite3_str_appendall(
        out,
        ") AS scenario,\n"
        "    1e-9 * iif(requested_images >= job_images, end_to_end_ns,\n"
        "        end_to_end_ns + (job_images - images) / (images - 1.0 * images / batches) *\n"
        "        (end_to_end_ns - first_batch_ns - shutdown_ns - ifnull(compute_ns, 0) / batches)) AS s\n"
        "    FROM trial WHERE measure = 'joint' AND status = 'ok'),\n"
        "longest AS (SELECT *, dense_rank() OVER (\n"
        "    PARTITION BY scenario, config ORDER BY requested_images DESC) AS nth_length\n"
        "    FROM joint WHERE s > 0),\n"
        "ordered AS (SELECT *, count(*) OVER same AS trials, row_number() OVER (same ORDER BY s) AS nth\n"
        "    FROM longest WHERE nth_length = 1 WINDOW same AS (PARTITION BY scenario, config)),\n"
        "timed AS (SELECT *, requested_images >= job_images AS is_full, avg(s) AS mean_job_s,\n"
        "    avg(s) FILTER (WHERE nth IN ((trials + 1) / 2, (trials + 2) / 2)) AS median_job_s\n"
        "    FROM ordered GROUP BY scenario, config)\n"
        "SELECT scenario, mode, format, dtype, job_images, model");
    append_knobs(out);
    sqlite3_str_appendall(
        out, ",\n    is_full, trials, median_job_s, mean_job_s,\n"
             "    iif(is_full, images, job_images) / median_job_s AS images_per_s,\n"
             "    iif(is_full = max(is_full) OVER (PARTITION BY scenario), median_job_s\n"
             "        / min(median_job_s) OVER (PARTITION BY scenario, is_full) - 1, NULL) AS regret_ratio,\n"
             "    config\nFROM timed");
    return sqlite3_str_finish(out);
}

static char *make_best_view(void)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(
        out, "CREATE VIEW best_by_model AS SELECT scenario, mode, format, dtype, job_images, model");
    for (size_t k = 0; k < rue_own_knobs.count; k++)
        sqlite3_str_appendf(out, ",\n    %s", rue_own_knobs.at[k]->name);
    sqlite3_str_appendall(
        out,
        ",\n    is_full, trials, median_job_s, images_per_s, second_regret_ratio, configurations, config\n"
        "FROM (SELECT *, row_number() OVER best AS place,\n"
        "    lead(regret_ratio) OVER best AS second_regret_ratio,\n"
        "    count(*) OVER (PARTITION BY scenario) AS configurations\n"
        "    FROM configuration WHERE regret_ratio IS NOT NULL\n"
        "    WINDOW best AS (PARTITION BY scenario ORDER BY regret_ratio, config))\n"
        "WHERE place = 1 ORDER BY mode, format, dtype, model, scenario");
    return sqlite3_str_finish(out);
}

static char *make_recommendation_view(void)
{
    static const char *const members[] = {
        "variant.mode",      "variant.format",   "variant.dtype",          "config",
        "mean_regret_ratio", "max_regret_ratio", "certificate.bound_ratio"};
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, "CREATE VIEW recommendation AS SELECT run_id, scenario");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *last = strrchr(members[i], '.');
        sqlite3_str_appendf(out, ",\n    json_extract(facts, '$.%s') AS %s", members[i],
                            last ? last + 1 : members[i]);
    }
    return sqlite3_str_appendall(out, "\nFROM finding WHERE facts IS NOT NULL"), sqlite3_str_finish(out);
}

/* The objects of a store; first the tables, in the order of enum rue_store_table. */
static const struct object {
    const char *type, *name;
    char *(*make)(void); /* NULL: of a layout */
} objects[] = {[RUE_STORE_TRIALS] = {"table", "trial"},
               [RUE_STORE_RESULTS] = {"table", "result"},
               [RUE_STORE_FINDINGS] = {"table", "finding"},
               [RUE_STORE_CHANGES] = {"table", "change"},
               [RUE_STORE_EXCLUSIONS] = {"table", "exclusion"},
               {"table", "run", make_run_table},
               {"index", "trial_identity", make_trial_index},
               {"view", "ok_trial", make_ok_trial_view},
               {"view", "configuration", make_configuration_view},
               {"view", "best_by_model", make_best_view},
               {"view", "recommendation", make_recommendation_view}};
enum { OBJECTS = sizeof objects / sizeof *objects };

static char *make_object(int index)
{
    return objects[index].make ? objects[index].make() : make_table((enum rue_store_table)index);
}

/* All columns that are not generated, each with `prefix`. The checksum column is replaced by the text
 * `checksum`, or left out if that is NULL. */
static void append_columns(sqlite3_str *out, enum rue_store_table table, const char *prefix,
                           const char *checksum)
{
    const struct rue_store_layout *layout = &rue_store_layouts[table];
    for (int i = 0, appended = 0; i < layout->column_count; i++) {
        const struct rue_store_column *column = &layout->columns[i];
        bool sum = column->kind == RUE_STORE_CHECKSUM;
        if (column->role == RUE_STORE_GENERATED || (sum && !checksum)) continue;
        sqlite3_str_appendf(out, "%s%s%s", appended++ ? ", " : "", sum ? "" : prefix,
                            sum ? checksum : column->name);
    }
}

/* The checksum of a row's columns, or, with the prefix ":", of the parameters of an INSERT. */
static char *checksum_sql(enum rue_store_table table, const char *prefix)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, "rue_checksum(");
    append_columns(out, table, prefix, NULL);
    return sqlite3_str_appendall(out, ")"), sqlite3_str_finish(out);
}

char *rue_store_insert_sql(enum rue_store_table table)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    char *checksum = checksum_sql(table, ":");
    sqlite3_str_appendf(out, "INSERT INTO %s (", rue_store_layouts[table].name);
    append_columns(out, table, "", "checksum");
    sqlite3_str_appendall(out, ") VALUES (");
    append_columns(out, table, ":", checksum);
    sqlite3_free(checksum);
    return sqlite3_str_appendall(out, ")"), sqlite3_str_finish(out);
}

char *rue_store_list_sql(bool last)
{
    return sqlite3_mprintf(
        "SELECT trial.*, knobs FROM trial LEFT JOIN run ON run.id = run_id%s ORDER BY trial.id",
        last ? " WHERE trial.id = last_insert_rowid()" : "");
}

/* An ok trial may not fit a smaller memory limit. An infeasible one may fit a larger limit, or be possible
 * when the system refuses nothing. The time limit does not matter: a trial that exceeds it is a timeout. */
char *rue_store_search_sql(void)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, "SELECT * FROM trial WHERE ");
    const struct rue_store_layout *trial = &rue_store_layouts[RUE_STORE_TRIALS];
    for (int i = 0; i < trial->column_count; i++)
        if (trial->columns[i].role == RUE_STORE_IDENTITY)
            sqlite3_str_appendf(out, "%s = :%s AND ", trial->columns[i].name, trial->columns[i].name);
    sqlite3_str_appendall(
        out, "CASE measure WHEN 'compute' THEN requested_batches >= :requested_batches"
             " ELSE requested_images >= :requested_images END"
             " AND (status = 'ok' AND (:fits OR ifnull(limit_memory_bytes, 9e18) <="
             " ifnull(:limit_memory_bytes, 9e18))"
             " OR status = 'infeasible' AND refused IS NOT 1 AND ifnull(limit_memory_bytes, 9e18) >="
             " ifnull(:limit_memory_bytes, 9e18))"
             " AND NOT EXISTS (SELECT 1 FROM change WHERE change.run_id = :run AND trial.id >= unsure_from"
             " AND trial.id < unsure_until)"
             " AND NOT EXISTS (SELECT 1 FROM exclusion WHERE exclusion.run_id = :run"
             " AND trial.id >= first AND trial.id < past AND node = json_extract(ranks, '$[0].node'))"
             " AND id > :after ORDER BY id LIMIT :limit OFFSET :nth");
    return sqlite3_str_finish(out);
}

/* ---- checksums ---- */

static uint64_t hash_value(uint64_t hash, sqlite3_value *value)
{
    int kind = sqlite3_value_type(value);
    if (kind == SQLITE_NULL) return hash;
    hash = rue_hash(hash, &kind, sizeof kind);
    if (kind == SQLITE_INTEGER) {
        int64_t integer = sqlite3_value_int64(value);
        return rue_hash(hash, &integer, sizeof integer);
    }
    if (kind == SQLITE_FLOAT) {
        double real = sqlite3_value_double(value) + 0.0; /* SQLite stores -0.0 as 0.0 */
        return rue_hash(hash, &real, sizeof real);
    }
    const void *bytes = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    hash = rue_hash(hash, &length, sizeof length);
    return length ? rue_hash(hash, bytes, (size_t)length) : hash;
}

static void compute_checksum(sqlite3_context *context, int count, sqlite3_value **values)
{
    uint64_t hash = RUE_HASH_START;
    for (int i = 0; i < count; i++) hash = hash_value(hash, values[i]);
    sqlite3_result_int64(context, (int64_t)hash);
}

int rue_store_checksum_add(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "rue_checksum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                      compute_checksum, NULL, NULL, NULL);
}

/* ---- checking a file ---- */

static rue_status fail_damaged(const char *path, const char *fault, rue_error *error)
{
    return rue_fail(error, RUE_STORE, "%s: the store is damaged: %.200s; " RUE_STORE_MOVE_AWAY, path, fault,
                    path);
}

/* The first column of the first row; SQLite's code. */
static int read_integer(sqlite3 *db, const char *sql, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static const char *skip_comment(const char *at)
{
    const char *end = strncmp(at, "/*", 2) == 0 ? strstr(at + 2, "*/") : NULL;
    return end ? end + 2 : at;
}

/* Where the statement differs from that of rue, apart from comments; NULL: nowhere. Columns that people
 * added must follow those of rue and contain only names and keywords, no expression that would be run. */
static const char *find_difference(const char *found, const char *own_sql)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ \",";
    for (; *own_sql; own_sql = skip_comment(own_sql), found = skip_comment(found)) {
        if (*own_sql != *found) break;
        own_sql++, found++;
    }
    size_t added = strcmp(own_sql, ")") == 0 && *found == ',' ? strspn(found, plain) : 0;
    return strcmp(found + added, own_sql) == 0 ? NULL : found;
}

static rue_status check_object(const char *type, const char *name, const char *sql, const char *path,
                               rue_error *error)
{
    int object = -1;
    for (int i = 0; object < 0 && i < OBJECTS; i++)
        if (strcmp(objects[i].type, type) == 0 && strcmp(objects[i].name, name) == 0) object = i;
    if (object < 0)
        return rue_fail(error, RUE_STORE,
                        "%s: contains the %.16s \"%.64s\", which rue did not make; remove it with SQLite, "
                        "or " RUE_STORE_MOVE_AWAY,
                        path, type, name, path);
    char *own_sql = make_object(object);
    if (!own_sql) return rue_fail_memory(error, "the schema", 0);
    const char *difference = find_difference(sql, own_sql);
    rue_status status = RUE_OK;
    if (difference)
        status = rue_fail(
            error, RUE_STORE,
            "%s: the declaration of the %s %s differs from that of rue at \"%.40s\"; " RUE_STORE_MOVE_AWAY,
            path, type, name, difference, path);
    sqlite3_free(own_sql);
    return status;
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

static rue_status check_objects(sqlite3 *db, const char *path, bool *empty, rue_error *error)
{
    int checks = RUE_STORE_SCHEMA_CHECKS;
    sqlite3_stmt *found = NULL;
    rue_status status = RUE_OK;
    rue_store_guard_limit(db, &checks);
    int code = sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_master", -1, &found, NULL);
    for (*empty = true; code == SQLITE_OK && status == RUE_OK; *empty = false) {
        if ((code = sqlite3_step(found)) != SQLITE_ROW) break;
        status =
            check_object(column_text(found, 0), column_text(found, 1), column_text(found, 2), path, error);
        code = SQLITE_OK;
    }
    if (code != SQLITE_OK && code != SQLITE_DONE)
        status = rue_store_fail(db, code, path, "reading the schema", error);
    sqlite3_finalize(found);
    rue_store_guard_limit(db, NULL);
    return status;
}

/* Checks that rue made the file and every object in it; `*empty`: no program has written to it yet. */
static rue_status check_owner(sqlite3 *db, const char *path, bool *empty, rue_error *error)
{
    int64_t application = 0, version = 0;
    int code = read_integer(db, "PRAGMA application_id", &application);
    if (code == SQLITE_OK) code = read_integer(db, "PRAGMA user_version", &version);
    if (code != SQLITE_OK) return rue_store_fail(db, code, path, "opening the store", error);
    bool is_rue = application == RUE_STORE_APPLICATION_ID;
    if (is_rue && version != RUE_STORE_VERSION)
        return rue_fail(error, RUE_STORE,
                        "%s: written by %s rue with schema version %" PRId64
                        "; this rue reads version %d; use the rue that wrote it, or " RUE_STORE_MOVE_AWAY,
                        path, version > RUE_STORE_VERSION ? "a newer" : "an older", version,
                        RUE_STORE_VERSION, path);
    rue_error why = {0};
    rue_status status = check_objects(db, path, empty, &why);
    *empty &= application == 0 && version == 0;
    if (status == RUE_OK && (is_rue || *empty)) return RUE_OK;
    if (is_rue || (status != RUE_OK && status != RUE_STORE))
        return rue_fail(error, status, "%s", why.message);
    return rue_fail(error, RUE_STORE,
                    "%s: not a store of rue: an SQLite file of another program; " RUE_STORE_MOVE_AWAY, path,
                    path);
}

static rue_status check_pages(sqlite3 *db, const char *sql, const char *path, rue_error *error)
{
    sqlite3_stmt *statement = NULL;
    rue_status status = RUE_OK;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    const char *verdict = code == SQLITE_ROW ? column_text(statement, 0) : "ok",
               *heading = strrchr(verdict, '\n');
    if (code != SQLITE_ROW) status = rue_store_fail(db, code, path, "checking the store", error);
    if (strcmp(verdict, "ok") != 0) status = fail_damaged(path, heading ? heading + 1 : verdict, error);
    sqlite3_finalize(statement);
    return status;
}

/* Fails for the first row whose checksum differs. */
static rue_status check_rows(sqlite3 *db, enum rue_store_table table, const char *path, rue_error *error)
{
    const char *name = rue_store_layouts[table].name;
    char *checksum = checksum_sql(table, "");
    char *sql = sqlite3_mprintf("SELECT min(id) FROM %s WHERE checksum IS NOT %s", name, checksum);
    int64_t changed = 0;
    int code = sql && checksum ? read_integer(db, sql, &changed) : SQLITE_NOMEM;
    sqlite3_free(checksum);
    sqlite3_free(sql);
    if (code == SQLITE_ERROR)
        return fail_damaged(path, sqlite3_errmsg(db), error); /* a column does not exist */
    if (code != SQLITE_OK) return rue_store_fail(db, code, path, "checking the store", error);
    if (changed == 0) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s: the store is damaged: row %" PRId64
                    " of the table %s has a wrong checksum; delete that row, or " RUE_STORE_MOVE_AWAY,
                    path, changed, name, path);
}

rue_status rue_store_content_check(sqlite3 *db, const char *path, rue_error *error)
{
    int code = rue_store_checksum_add(db);
    rue_status status =
        code == SQLITE_OK ? RUE_OK : rue_store_fail(db, code, path, "checking the store", error);
    if (status == RUE_OK) status = check_pages(db, "PRAGMA integrity_check(1)", path, error);
    /* In a file with a view, SQLite 3.40 may skip the list of free pages, except in this form. */
    if (status == RUE_OK) status = check_pages(db, "PRAGMA integrity_check(sqlite_master)", path, error);
    for (int table = 0; status == RUE_OK && table < RUE_STORE_TABLE_COUNT; table++)
        status = check_rows(db, (enum rue_store_table)table, path, error);
    return status;
}

/* ---- creating it ---- */

static int write_schema(sqlite3 *db)
{
    char stamp[96];
    snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             RUE_STORE_APPLICATION_ID, RUE_STORE_VERSION);
    int code = sqlite3_exec(db, stamp, NULL, NULL, NULL);
    for (int i = 0; code == SQLITE_OK && i < OBJECTS; i++) {
        char *sql = make_object(i);
        code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
    }
    return code;
}

/* In one transaction, as another process may create the schema at the same time. */
static rue_status create_schema(sqlite3 *db, const char *path, rue_error *error)
{
    int64_t version = 0;
    int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK) code = read_integer(db, "PRAGMA user_version", &version);
    if (code == SQLITE_OK && version == 0) code = write_schema(db);
    if (code == SQLITE_OK) code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return code == SQLITE_OK ? RUE_OK : rue_store_fail(db, code, path, "preparing the store", error);
}

rue_status rue_store_schema_check(sqlite3 *db, const char *path, rue_error *error)
{
    bool empty = false;
    rue_status status = check_owner(db, path, &empty, error);
    if (status == RUE_OK && empty)
        return rue_fail(error, RUE_STORE, "%s: not a store of rue: it is empty", path);
    return status;
}

rue_status rue_store_schema_open(sqlite3 *db, const char *path, rue_error *error)
{
    bool empty = false;
    rue_status status = check_owner(db, path, &empty, error);
    if (status == RUE_OK && empty) status = create_schema(db, path, error);
    return status;
}
