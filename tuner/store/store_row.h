/* Rows of the store's SQL tables. A list of columns defines the schema of a table and its statements, and how
 * its struct (store_tables.h) is written and read. An absent value (RUE_ABSENT, NaN, no text, no array, no
 * limit) is NULL. Each row of RUE_TRIAL_INTEGERS and RUE_TRIAL_REALS is a column of trial. */
#ifndef RUE_STORE_ROW_H
#define RUE_STORE_ROW_H

#include <sqlite3.h>

#include "store_tables.h"

enum rue_store_kind {
    RUE_STORE_TEXT,    /* char [bytes]; longer text is cut */
    RUE_STORE_COUNT,   /* uint64_t; above INT64_MAX it becomes INT64_MAX */
    RUE_STORE_LIMIT,   /* uint64_t; 0 is NULL */
    RUE_STORE_INTEGER, /* int64_t */
    RUE_STORE_REAL,
    RUE_STORE_ENUM,     /* an enum, stored as one of `words` */
    RUE_STORE_TIMES,    /* uint64_t *, with the size_t count at offset `bytes`; a JSON array */
    RUE_STORE_STRING,   /* char *, owned if it was read; NULL: none */
    RUE_STORE_WORKLOAD, /* canonical JSON */
    RUE_STORE_CONFIG,   /* canonical JSON */
    RUE_STORE_CHECKSUM, /* of all other columns except the generated ones */
};

enum rue_store_role {
    RUE_STORE_PLAIN,
    RUE_STORE_IDENTITY,  /* equal in rows that are reused */
    RUE_STORE_GENERATED, /* by SQLite */
};

struct rue_store_column {
    const char *name, *type;
    enum rue_store_kind kind;
    size_t offset, bytes; /* of the member of the row's struct */
    const char *const *words;
    int word_count;
    enum rue_store_role role;
    const char *help;
};

struct rue_store_layout {
    const char *name; /* of the table */
    size_t bytes;     /* of the row's struct */
    int column_count;
    const struct rue_store_column *columns;
};
extern const struct rue_store_layout rue_store_layouts[RUE_STORE_TABLE_COUNT];

/* Binds the columns that the statement names (":model") to a row's struct. SQLite's code. */
int rue_store_row_bind(sqlite3_stmt *statement, enum rue_store_table table, const void *row);

/* Frees the strings and arrays of a row that was read. */
void rue_store_row_close(enum rue_store_table table, void *row);

/* A JSON text and its parsed value. */
struct rue_store_cached_text {
    char *text; /* owned; NULL: none yet */
    bool valid;
    union {
        struct rue_config config;
        struct rue_workload workload;
        const struct rue_knobs *knobs;
    };
};

/* The texts that were parsed last: many rows share a few texts, and parsing one is as slow as reading the
 * rest of its row. A zeroed struct is empty. */
enum { RUE_STORE_CONFIGS_CACHED = 512 };
struct rue_store_cache {
    struct rue_store_cached_text workload, knobs;                   /* knobs: those of the row's run */
    struct rue_store_cached_text configs[RUE_STORE_CONFIGS_CACHED]; /* by hash; the last one read */
};
void rue_store_cache_close(struct rue_store_cache *cache);

/* Reads a row of a statement that selects all columns in order, into a struct that is empty. Members before
 * offset `first` are skipped. For trials: with `cache`, the last column must be the knobs of the run; without
 * it, workload and configuration are skipped. Returns the name of a column whose value rue cannot have
 * stored, or NULL. */
const char *rue_store_row_read(sqlite3_stmt *statement, enum rue_store_table table, size_t first,
                               struct rue_store_cache *cache, void *row) RUE_MUST_CHECK;

#endif
