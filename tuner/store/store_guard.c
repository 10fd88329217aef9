#include "store_guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "interrupt.h"
#include "store_columns.h"
#include "store_error.h"

enum { LENGTH_MAX = 256 << 20, SQL_MAX = 256 << 10 }; /* bytes of a value, and of a statement */

/* Steps of SQLite's machine between two looks at signals, and looks while the schema is read: cycles in a
 * damaged file may make it endless. */
enum { STEPS = 1000, SCHEMA_LOOKS = 1000 };

/* ---- opening ---- */

/* `looks`: how many are left; NULL: no matter. */
static int is_to_end(void *looks)
{
    int *left = looks;
    return rue_interrupt_status() != RUE_OK || (left && (*left)-- <= 0);
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
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
    sqlite3_extended_result_codes(db, 1);
    sqlite3_progress_handler(db, STEPS, is_to_end, NULL);
    return code == SQLITE_OK
               ? sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL)
               : code;
}

void rue_store_guard_let_finish(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
}

/* ---- words of SQL ---- */

/* A text of the schema, word by word. Comments, quotes and signs that rue does not write are not understood,
 * so that SQLite cannot read anything else than what is read here. */
struct words {
    const char *at;
    char word[96];  /* "" at the end; "?" what is not understood */
    bool is_simple; /* a name or a keyword, perhaps in quotes */
};

static const char *skip_comments(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\n\f\r");
        const char *end = strncmp(at, "/*", 2) == 0 ? strstr(at + 2, "*/") : NULL;
        if (!end) return at;
        at = end + 2;
    }
}

static void next_word(struct words *words)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *at = skip_comments(words->at);
    size_t length = strspn(at, letters), skip = 0;
    words->is_simple = length > 0;
    if (*at == '"' || *at == '\'') { /* '...' stays as it is: it is a value */
        size_t inside = strcspn(at + 1, at[0] == '"' ? "\"" : "'");
        words->is_simple = *at == '"' && inside > 0;
        skip = *at == '"';
        length = inside + (skip ? 0 : 2);
        if (!at[1 + inside] || at[2 + inside] == *at) length = sizeof words->word;
    } else if (*at && strchr("(),", *at)) {
        length = 1;
    }
    bool understood = *at == 0 || (length > 0 && length < sizeof words->word);
    words->is_simple &= understood;
    snprintf(words->word, sizeof words->word, "%.*s", understood ? (int)length : 1,
             understood ? at + skip : "?");
    words->at = at + (understood ? length + 2 * skip : 0);
}

static bool next_is(struct words *words, const char *expected)
{
    next_word(words);
    return strcmp(words->word, expected) == 0;
}

/* ---- the schema ---- */

static bool find_column(enum rue_store_table table, const char *name, struct rue_store_column *out)
{
    for (size_t i = 0; rue_store_column_at(table, i, out); i++)
        if (strcasecmp(out->name, name) == 0) return true;
    return false;
}

/* A column of rue's as rue declares it, another one of simple words: no expression that would be run. Reads
 * one word past it. */
static bool is_column_plain(struct words *words, enum rue_store_table table)
{
    struct rue_store_column column;
    if (!find_column(table, words->word, &column)) {
        while (words->is_simple) next_word(words);
        return true;
    }
    struct words declared = {.at = column.type};
    for (next_word(&declared); declared.word[0]; next_word(&declared))
        if (!next_is(words, declared.word)) return false;
    next_word(words);
    return true;
}

/* Whether the statement makes such a table of plain columns alone; `name` is the last one that was read. */
static bool is_table_plain(const char *sql, enum rue_store_table table, char name[96])
{
    struct words words = {.at = sql};
    bool plain = next_is(&words, "CREATE") && next_is(&words, "TABLE") &&
                 next_is(&words, rue_store_table_names[table]) && next_is(&words, "(");
    do {
        next_word(&words);
        snprintf(name, 96, "%s", words.word);
        plain = plain && words.is_simple && is_column_plain(&words, table);
    } while (plain && strcmp(words.word, ",") == 0);
    return plain && strcmp(words.word, ")") == 0 && next_is(&words, "");
}

/* Views are never run, and that of an older rue is replaced when the store is written. */
static bool is_own(const char *type, const char *name, const char *sql)
{
    if (strcmp(type, "view") == 0) return strcmp(name, "ok_trial") == 0;
    return strcmp(type, "index") == 0 && strcmp(name, RUE_STORE_INDEX_NAME) == 0 &&
           strcmp(sql, "CREATE INDEX " RUE_STORE_INDEX) == 0;
}

static rue_status check_object(const char *type, const char *name, const char *sql, const char *path,
                               rue_error *error)
{
    char column[96];
    for (int t = 0; strcmp(type, "table") == 0 && t < RUE_STORE_TABLE_COUNT; t++) {
        if (strcmp(name, rue_store_table_names[t]) != 0) continue;
        if (is_table_plain(sql, (enum rue_store_table)t, column)) return RUE_OK;
        return rue_fail(
            error, RUE_STORE,
            "%s: the column \"%s\" of its table %s is not declared as rue does it; " RUE_STORE_PUT_ASIDE,
            path, column, name, path);
    }
    if (is_own(type, name, sql)) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s: holds the %.16s \"%.64s\", which rue did not make; remove it with SQLite, "
                    "or " RUE_STORE_PUT_ASIDE,
                    path, type, name, path);
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

rue_status rue_store_guard_check(sqlite3 *db, const char *path, bool *empty, rue_error *error)
{
    int looks = SCHEMA_LOOKS;
    sqlite3_stmt *objects = NULL;
    rue_status status = RUE_OK;
    *empty = true;
    sqlite3_progress_handler(db, STEPS, is_to_end, &looks);
    int code = sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_master", -1, &objects, NULL);
    while (code == SQLITE_OK && status == RUE_OK && (code = sqlite3_step(objects)) == SQLITE_ROW) {
        *empty = false;
        status = check_object(text_of(objects, 0), text_of(objects, 1), text_of(objects, 2), path, error);
        code = SQLITE_OK;
    }
    if (code != SQLITE_OK && code != SQLITE_DONE)
        status = rue_store_fail(db, code, path, "reading its schema", error);
    sqlite3_finalize(objects);
    sqlite3_progress_handler(db, STEPS, is_to_end, NULL);
    return status;
}
