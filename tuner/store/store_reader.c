#include "store_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hash.h"
#include "knob_json.h"
#include "protocol.h"
#include "store_connection.h"
#include "store_file.h"
#include "store_row.h"
#include "store_schema.h"
#include "workload_json.h"

/* What a JSON text of a row says: few texts make up many rows, and reading one takes as long as the rest of
 * its row. */
struct parsed {
    char *text; /* NULL: none yet */
    bool known;
    union {
        struct rue_config config;
        struct rue_workload workload;
        const struct rue_knobs *knobs;
    };
};
enum { CONFIGS_KEPT = 512, BUSY_MS = 2000 };

struct rue_store_reader {
    sqlite3 *db;
    sqlite3_stmt *walk;
    struct parsed workload, knobs;       /* of the last row; knobs that its run declares */
    struct parsed configs[CONFIGS_KEPT]; /* the last one of each hash */
    char *path, *file;                   /* as given, and resolved */
    bool alone;                          /* opened as a file that nobody writes */
    struct stat facts;                   /* of the file, when it was opened */
};

/* ---- opening ---- */

static rue_status fail(const struct rue_store_reader *reader, int code, const char *doing, rue_error *error)
{
    return rue_store_fail(reader->db, code, reader->path, doing, error);
}

static rue_status begin_walk(struct rue_store_reader *reader, rue_error *error)
{
    char *sql = rue_store_walk_sql();
    int code = sql ? sqlite3_prepare_v2(reader->db, sql, -1, &reader->walk, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code == SQLITE_OK ? RUE_OK : fail(reader, code, "reading the store", error);
}

/* One transaction, so that what a tuner adds meanwhile is seen at once or not at all. */
static rue_status begin_reading(struct rue_store_reader *reader, rue_error *error)
{
    sqlite3_busy_timeout(reader->db, BUSY_MS);
    int code = sqlite3_exec(reader->db, "BEGIN", NULL, NULL, NULL);
    return code == SQLITE_OK ? rue_store_schema_check(reader->db, reader->path, error)
                             : fail(reader, code, "reading the store", error);
}

rue_status rue_store_reader_open(const char *path, struct rue_store_reader **out, bool *torn,
                                 rue_error *error)
{
    struct stat facts;
    *out = NULL;
    *torn = false;
    if (stat(path, &facts) != 0)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; 'rue list DIR' shows the studies below DIR",
                        path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return rue_fail(error, RUE_STORE, "%s: no store of rue: no regular file", path);
    if (facts.st_size == 0 && !rue_store_file_has_wal(path))
        return rue_fail(error, RUE_STORE, "%s: no store of rue: an empty file", path);
    struct rue_store_reader *reader = calloc(1, sizeof *reader);
    if (reader) reader->path = strdup(path);
    if (reader) reader->file = realpath(path, NULL);
    rue_status status = RUE_OK;
    if (!reader || !reader->path || !reader->file) status = rue_fail_memory(error, "the store", strlen(path));
    if (status == RUE_OK) status = rue_store_file_check_companions(reader->file, path, error);
    if (status == RUE_OK) {
        reader->alone = !rue_store_file_has_wal(reader->file);
        reader->facts = facts;
        status = rue_store_open_unchanged(reader->file, path, false, &reader->db, error);
    }
    if (status == RUE_OK) status = begin_reading(reader, error);
    if (status == RUE_OK) status = begin_walk(reader, error);
    if (status != RUE_OK) {
        *torn = reader && reader->db && rue_store_reader_is_torn(reader);
        return rue_store_reader_close(reader), status;
    }
    *out = reader;
    return RUE_OK;
}

void rue_store_reader_close(struct rue_store_reader *reader)
{
    if (!reader) return;
    free(reader->workload.text);
    free(reader->knobs.text);
    for (int i = 0; i < CONFIGS_KEPT; i++) free(reader->configs[i].text);
    sqlite3_finalize(reader->walk);
    sqlite3_close(reader->db);
    free(reader->file);
    free(reader->path);
    free(reader);
}

bool rue_store_reader_is_torn(const struct rue_store_reader *reader)
{
    struct stat now;
    const struct stat *then = &reader->facts;
    if (!reader->alone) return false;
    if (rue_store_file_has_wal(reader->file) || stat(reader->file, &now) != 0) return true;
    return now.st_size != then->st_size || now.st_ino != then->st_ino ||
           now.st_mtim.tv_sec != then->st_mtim.tv_sec || now.st_mtim.tv_nsec != then->st_mtim.tv_nsec;
}

/* ---- rows ---- */

/* The texts behind all columns. */
enum { WORKLOAD, CONFIG, KNOBS };

static const char *text_of(const struct rue_store_reader *reader, int index)
{
    const char *text = (const char *)sqlite3_column_text(reader->walk, rue_store_column_count + index);
    return text ? text : "";
}

/* Whether it holds what the text says; else that is to be read into it. */
static bool is_parsed(struct parsed *parsed, const char *text)
{
    if (parsed->text && strcmp(parsed->text, text) == 0) return true;
    free(parsed->text);
    parsed->text = strdup(text); /* without memory it is read again */
    return false;
}

/* Canonical JSON to a configuration: false where a newer rue knows a knob or a value that this one does not.
 */
static bool parse_config(const char *text, const struct rue_knobs *knobs, struct rue_config *out)
{
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *value;
    bool known = json_is_object(object);
    const char *key;
    *out = rue_config_default_of(knobs);
    json_object_foreach(object, key, value)
    {
        int knob = rue_knob_find(knobs, key);
        known = known && knob >= 0 && rue_knob_json_value(knobs->at[knob], value, &out->value[knob]);
    }
    json_decref(object);
    return known;
}

/* Where a run declares none they are rue's own. */
static bool parse_knobs(const char *text, const struct rue_knobs **out)
{
    json_t *declared = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    *out = &rue_own_knobs;
    bool known = !*text || (declared && rue_knob_json_read(declared, out, NULL) == RUE_OK);
    json_decref(declared);
    return known;
}

static bool parse_workload(const char *text, struct rue_workload *out)
{
    json_t *workload = json_loads(text, 0, NULL);
    *out = (struct rue_workload){0};
    bool known = workload && rue_workload_read(workload, out, NULL) == RUE_OK;
    json_decref(workload);
    return known;
}

static bool read_workload(struct rue_store_reader *reader, struct rue_store_trial *out)
{
    struct parsed *parsed = &reader->workload;
    out->workload = text_of(reader, WORKLOAD);
    if (!is_parsed(parsed, out->workload)) parsed->known = parse_workload(out->workload, &parsed->workload);
    out->scenario.workload = parsed->workload;
    return parsed->known;
}

static bool read_config(struct rue_store_reader *reader, struct rue_store_trial *out)
{
    const char *declared = text_of(reader, KNOBS), *text = text_of(reader, CONFIG);
    struct parsed *knobs = &reader->knobs;
    struct parsed *parsed = &reader->configs[rue_hash(RUE_HASH_START, text, strlen(text)) % CONFIGS_KEPT];
    if (!is_parsed(knobs, declared)) knobs->known = parse_knobs(declared, &knobs->knobs);
    if (!is_parsed(parsed, text) || parsed->config.knobs != knobs->knobs)
        parsed->known = parse_config(text, knobs->knobs, &parsed->config);
    out->config = out->result.config = parsed->config;
    return knobs->known && parsed->known;
}

static rue_status read_row(struct rue_store_reader *reader, struct rue_store_trial *out, rue_error *error)
{
    rue_status status = rue_store_row_read(reader->walk, 0, reader->path, out, error);
    if (status != RUE_OK) return status;
    if (!read_workload(reader, out))
        return rue_store_row_refuse(reader->walk, "workload", reader->path, error);
    if (!read_config(reader, out)) return rue_store_row_refuse(reader->walk, "config", reader->path, error);
    return RUE_OK;
}

rue_status rue_store_reader_next(struct rue_store_reader *reader, bool *found, struct rue_store_trial *out,
                                 rue_error *error)
{
    *found = false;
    out->result = rue_trial_result_empty();
    int code = sqlite3_step(reader->walk);
    if (code == SQLITE_DONE) return RUE_OK;
    if (code != SQLITE_ROW) return fail(reader, code, "reading the store", error);
    rue_status status = read_row(reader, out, error);
    if (status != RUE_OK) rue_trial_result_close(&out->result);
    *found = status == RUE_OK;
    return status;
}

rue_status rue_store_reader_findings(struct rue_store_reader *reader, int64_t *run, char **out,
                                     rue_error *error)
{
    *out = NULL;
    int code = rue_store_row_findings(reader->db, 0, run, out);
    return code == SQLITE_OK ? RUE_OK : fail(reader, code, "reading the store", error);
}
