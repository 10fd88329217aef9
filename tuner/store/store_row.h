/* Rows of the table trial. One table of columns makes the schema and the statements, and brings what struct
 * rue_store_trial holds to SQLite and back. Absent (RUE_ABSENT, NaN, no array, no limit) is NULL. A new row
 * in RUE_TRIAL_INTEGERS or RUE_TRIAL_REALS becomes a column. */
#ifndef RUE_STORE_ROW_H
#define RUE_STORE_ROW_H

#include <sqlite3.h>

#include "store.h"

enum rue_store_kind {
    RUE_STORE_TEXT,    /* char [bytes]; what is longer is cut */
    RUE_STORE_COUNT,   /* uint64_t; above INT64_MAX it becomes INT64_MAX */
    RUE_STORE_LIMIT,   /* uint64_t; 0: none */
    RUE_STORE_INTEGER, /* int64_t */
    RUE_STORE_REAL,
    RUE_STORE_ENUM,     /* an enum: the index of one of `words` */
    RUE_STORE_TIMES,    /* uint64_t *, and how many at the offset `bytes`; a JSON array */
    RUE_STORE_WORKLOAD, /* canonical JSON */
    RUE_STORE_CONFIG,   /* canonical JSON */
    RUE_STORE_CHECKSUM, /* of all other columns but those that are made */
};

enum rue_store_role {
    RUE_STORE_PLAIN,
    RUE_STORE_IDENTITY,  /* equal in rows that are found again */
    RUE_STORE_GENERATED, /* by SQLite */
};

struct rue_store_column {
    const char *name, *type;
    enum rue_store_kind kind;
    size_t offset, bytes; /* of the member of struct rue_store_trial */
    const char *const *words;
    int word_count;
    enum rue_store_role role;
    const char *help;
};

extern const struct rue_store_column rue_store_columns[];
extern const int rue_store_column_count;

/* Binds each column that the statement names (":model"). SQLite's code. */
int rue_store_row_bind(sqlite3_stmt *statement, const struct rue_store_trial *trial);

/* What a JSON text of a row says. */
struct rue_store_cached_text {
    char *text; /* owned; NULL: none yet */
    bool valid;
    union {
        struct rue_config config;
        struct rue_workload workload;
        const struct rue_knobs *knobs;
    };
};

/* The texts that were read last: few texts make up many rows, and reading one takes as long as the rest of
 * its row. A zeroed struct has none. */
enum { RUE_STORE_CONFIGS_CACHED = 512 };
struct rue_store_cache {
    struct rue_store_cached_text workload, knobs;                   /* knobs that the row's run declares */
    struct rue_store_cached_text configs[RUE_STORE_CONFIGS_CACHED]; /* the last one of each hash */
};
void rue_store_cache_close(struct rue_store_cache *cache);

/* Reads the members from offset `first` on, the result empty before, of a row of a statement that selects all
 * columns in order, and last the knobs of the run where `cache` is given; without it workload and
 * configuration are left out. RUE_STORE when a value makes no sense, RUE_MEMORY; `path` is for messages. */
rue_status rue_store_row_read(sqlite3_stmt *statement, size_t first, struct rue_store_cache *cache,
                              const char *path, struct rue_store_trial *trial,
                              rue_error *error) RUE_MUST_CHECK;

#endif
