#include "store_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_checksum.h"
#include "store_columns.h"
#include "store_error.h"
#include "store_guard.h"
#include "store_row.h"
#include "trial.h"

/* Statements are written as text streams; a failed allocation shows when the stream is closed. */
static char *text_close(FILE *stream, char **text)
{
    if (!stream) return NULL;
    bool failed = ferror(stream);
    if (fclose(stream) == 0 && !failed) return *text;
    free(*text);
    return NULL;
}

/* Comments stand before the comma: ALTER TABLE ... DROP COLUMN looks for the last comma before the column. */
static char *table_sql(enum rue_store_table table)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    struct rue_store_column column, next;
    fprintf(out, "CREATE TABLE %s (\n", rue_store_table_names[table]);
    for (size_t i = 0; rue_store_column_at(table, i, &column); i++)
        fprintf(out, "    %s %s /* %s */%s\n", column.name, column.type, column.help,
                rue_store_column_at(table, i + 1, &next) ? "," : "");
    fputs(")", out);
    return text_close(out, &text);
}

static char *view_sql(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    fputs("CREATE VIEW ok_trial AS SELECT id, run_id, mode, format, dtype, model, measure", out);
    for (size_t k = 0; k < rue_own_knobs.count; k++) {
        const struct rue_knob_info *knob = rue_own_knobs.at[k];
        const char *quote = knob->kind == RUE_KIND_CATEGORY ? "'" : "";
        char fallback[RUE_KNOB_TEXT_BYTES];
        if (knob->kind == RUE_KIND_FLAG) /* which SQLite takes for 0 or 1 */
            snprintf(fallback, sizeof fallback, "%d", knob->fallback);
        else
            rue_knob_format(knob, knob->fallback, fallback);
        fprintf(out, ",\n    coalesce(json_extract(config, '$.%s'), %s%s%s) AS %s", knob->name, quote,
                fallback, quote, knob->name);
    }
    fputs(",\n    job_images, images_requested >= job_images AS is_full", out);
    for (size_t i = 0; i < rue_trial_field_count; i++)
        fprintf(out, "%s %s", i % 6 ? "," : ",\n   ", rue_trial_fields[i].name);
    fputs(",\n    images * 1e9 / end_to_end_ns AS images_per_s\nFROM trial WHERE status = 'ok'", out);
    return text_close(out, &text);
}

static bool inserted(const struct rue_store_column *column)
{
    return strcmp(column->name, "id") != 0 && strcmp(column->name, "recorded") != 0;
}

/* The checksum of a row: of its columns, or, with the prefix ":", of what is about to become them. */
static void put_checksum(FILE *out, const char *prefix)
{
    struct rue_store_column column;
    const char *separator = "rue_checksum(";
    for (size_t i = 0; rue_store_column_at(RUE_STORE_TRIAL, i, &column); i++) {
        if (!inserted(&column) || strcmp(column.name, RUE_STORE_CHECKSUM) == 0) continue;
        fprintf(out, "%s%s%s", separator, prefix, column.name);
        separator = ", ";
    }
    fputc(')', out);
}

char *rue_store_insert_sql(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    struct rue_store_column column;
    for (int values = 0; values < 2; values++) {
        const char *separator = values ? ") VALUES (" : "INSERT INTO trial (";
        for (size_t i = 0; rue_store_column_at(RUE_STORE_TRIAL, i, &column); i++) {
            if (!inserted(&column)) continue;
            fputs(separator, out);
            if (values && strcmp(column.name, RUE_STORE_CHECKSUM) == 0)
                put_checksum(out, ":");
            else
                fprintf(out, "%s%s", values ? ":" : "", column.name);
            separator = ", ";
        }
    }
    fputs(")", out);
    return text_close(out, &text);
}

/* Answers the first row that is not as it was stored. */
static char *changed_sql(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    fputs("SELECT id FROM trial WHERE " RUE_STORE_CHECKSUM " IS NOT NULL AND " RUE_STORE_CHECKSUM " IS NOT ",
          out);
    put_checksum(out, "");
    fputs(" ORDER BY id LIMIT 1", out);
    return text_close(out, &text);
}

char *rue_store_find_sql(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    struct rue_store_column column;
    fputs("SELECT " RUE_STORE_ROW_COLUMNS, out);
    for (size_t i = 0; i < rue_trial_field_count; i++) fprintf(out, ", %s", rue_trial_fields[i].name);
    fputs(" FROM trial WHERE ", out);
    for (size_t i = 0; rue_store_column_at(RUE_STORE_TRIAL, i, &column); i++)
        if (column.identity) fprintf(out, "%s = :%s AND ", column.name, column.name);
    fputs("CASE measure WHEN 'compute' THEN batches_requested >= :batches_requested"
          " ELSE images_requested >= :images_requested END",
          out);
    /* What fitted may not fit a tighter limit, and what did not fit may fit a wider one, as may what the
     * system refused. Time is no matter: running out of it is a timeout. */
    static const char ours[] = "coalesce(:limit_memory_bytes, 9223372036854775807)",
                      its[] = "coalesce(limit_memory_bytes, 9223372036854775807)";
    fprintf(out, " AND (status = 'ok' AND (:fits OR %s <= %s)", its, ours);
    fprintf(out, " OR status = 'infeasible' AND refused IS NOT 1 AND %s >= %s)", its, ours);
    fputs(" AND NOT EXISTS (SELECT 1 FROM doubtful WHERE trial.id >= first AND trial.id < past)", out);
    fputs(" AND id > :after ORDER BY id LIMIT :most OFFSET :nth", out);
    return text_close(out, &text);
}

/* The first column of the first row as an integer; SQLite's code. */
static int integer_read(sqlite3 *db, const char *sql, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0), code = SQLITE_OK;
    sqlite3_finalize(statement);
    return code;
}

/* Whose file it is, and whether all that it holds is rue's; *out_empty when it is nobody's yet. */
static rue_status owner_check(sqlite3 *db, const char *path, bool *out_empty, rue_error *error)
{
    int64_t application = 0, version = 0;
    int code = integer_read(db, "PRAGMA application_id", &application);
    if (code == SQLITE_OK) code = integer_read(db, "PRAGMA user_version", &version);
    if (code != SQLITE_OK) return rue_store_fail(db, code, path, "opening the store", error);

    bool ours = application == RUE_STORE_APPLICATION_ID;
    if (ours && version != RUE_STORE_VERSION)
        return rue_fail(error, RUE_STORE,
                        "%s: written by %s rue: schema version %" PRId64
                        ", this one reads version %d; use the rue that wrote it, or " RUE_STORE_PUT_ASIDE,
                        path, version > RUE_STORE_VERSION ? "a newer" : "an older", version,
                        RUE_STORE_VERSION, path);
    rue_error foreign = {0};
    rue_status status = rue_store_guard_check(db, path, out_empty, &foreign);
    *out_empty &= application == 0 && version == 0;
    if (*out_empty && status == RUE_OK) return RUE_OK;
    if (ours || (status != RUE_OK && status != RUE_STORE))
        return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", foreign.message);
    return rue_fail(error, RUE_STORE,
                    "%s: not a store of rue: an SQLite file of another program; " RUE_STORE_PUT_ASIDE, path,
                    path);
}

static rue_status check_with(sqlite3 *db, const char *sql, const char *path, rue_error *error)
{
    sqlite3_stmt *statement = NULL;
    rue_status status = RUE_OK;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    if (code != SQLITE_ROW) {
        status = rue_store_fail(db, code, path, "checking the store", error);
        goto out;
    }
    const char *verdict = (const char *)sqlite3_column_text(statement, 0);
    if (verdict && strcmp(verdict, "ok") == 0) goto out;
    if (!verdict) verdict = "no verdict";
    const char *heading = strrchr(verdict, '\n');
    status = rue_fail(error, RUE_STORE, "%s: the store is damaged: %.200s; " RUE_STORE_PUT_ASIDE, path,
                      heading ? heading + 1 : verdict, path);
out:
    sqlite3_finalize(statement);
    return status;
}

/* Where a file has a view, SQLite 3.40 may pass over the list of free pages, unless it is asked for by
 * itself.
 */
static rue_status damage_check(sqlite3 *db, const char *pages, const char *path, rue_error *error)
{
    rue_status status = check_with(db, pages, path, error);
    return status == RUE_OK ? check_with(db, "PRAGMA integrity_check(sqlite_master)", path, error) : status;
}

/* The first row that `sql` answers is not as it was stored. */
static rue_status sums_check(sqlite3 *db, const char *sql, const char *what, const char *advice,
                             const char *path, rue_error *error)
{
    int64_t changed = -1;
    int code = sql ? integer_read(db, sql, &changed) : SQLITE_NOMEM;
    if (code == SQLITE_ERROR) /* a column is missing */
        return rue_fail(error, RUE_STORE, "%s: the store is damaged: %s; " RUE_STORE_PUT_ASIDE, path,
                        sqlite3_errmsg(db), path);
    if (code != SQLITE_OK && code != SQLITE_DONE)
        return rue_store_fail(db, code, path, "checking the store", error);
    if (changed < 0) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s: the store is damaged: %s %" PRId64
                    " is not as it was stored; %s" RUE_STORE_PUT_ASIDE,
                    path, what, changed, advice, path);
}

/* Every row against its checksum. */
static rue_status rows_check(sqlite3 *db, const char *path, rue_error *error)
{
    int code = rue_store_checksum_open(db);
    if (code != SQLITE_OK) return rue_store_fail(db, code, path, "checking the store", error);
    char *sql = changed_sql();
    rue_status status = sums_check(db, sql, "trial", "delete that row, or ", path, error);
    free(sql);
    if (status != RUE_OK) return status;
    return sums_check(db,
                      "SELECT id FROM run WHERE " RUE_STORE_CHECKSUM " IS NOT NULL AND " RUE_STORE_CHECKSUM
                      " IS NOT rue_checksum(findings) ORDER BY id LIMIT 1",
                      "what was found out by run", "", path, error);
}

/* `sql`: owned, or NULL without memory. SQLite's code. */
static int run_sql(sqlite3 *db, char *sql)
{
    int code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    free(sql);
    return code;
}

static int schema_write(sqlite3 *db)
{
    char stamp[96];
    snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             RUE_STORE_APPLICATION_ID, RUE_STORE_VERSION);
    int code = sqlite3_exec(db, stamp, NULL, NULL, NULL);
    for (int table = 0; code == SQLITE_OK && table < RUE_STORE_TABLE_COUNT; table++)
        code = run_sql(db, table_sql((enum rue_store_table)table));
    if (code == SQLITE_OK) code = sqlite3_exec(db, "CREATE INDEX " RUE_STORE_INDEX, NULL, NULL, NULL);
    return code == SQLITE_OK ? run_sql(db, view_sql()) : code;
}

/* One transaction: another process may have made the schema meanwhile. */
static rue_status schema_create(sqlite3 *db, const char *path, rue_error *error)
{
    int64_t version = 0;
    int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK) code = integer_read(db, "PRAGMA user_version", &version);
    if (code == SQLITE_OK && version == 0) code = schema_write(db);
    if (code == SQLITE_OK) code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return code == SQLITE_OK ? RUE_OK : rue_store_fail(db, code, path, "preparing the store", error);
}

rue_status rue_store_schema_check(sqlite3 *db, const char *path, rue_error *error)
{
    bool empty = false;
    rue_status status = owner_check(db, path, &empty, error);
    if (status == RUE_OK && empty)
        return rue_fail(error, RUE_STORE, "%s: no store of rue: an SQLite file without anything in it", path);
    if (status == RUE_OK)
        status = damage_check(db, "PRAGMA quick_check(1)", path, error); /* no index is used */
    return status == RUE_OK ? rows_check(db, path, error) : status;
}

rue_status rue_store_schema_open(sqlite3 *db, const char *path, rue_error *error)
{
    bool empty = false;
    rue_status status = owner_check(db, path, &empty, error);
    if (status == RUE_OK)
        status = empty ? schema_create(db, path, error)
                       : damage_check(db, "PRAGMA integrity_check(1)", path, error);
    return status == RUE_OK ? rows_check(db, path, error) : status;
}
