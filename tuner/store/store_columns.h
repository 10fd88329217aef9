/* The columns of the store's tables, as rue declares them. A new row in RUE_TRIAL_INTEGERS or RUE_TRIAL_REALS
 * becomes a column of the table trial. */
#ifndef RUE_STORE_COLUMNS_H
#define RUE_STORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

enum rue_store_table { RUE_STORE_RUN, RUE_STORE_TRIAL, RUE_STORE_TABLE_COUNT };

extern const char *const rue_store_table_names[RUE_STORE_TABLE_COUNT];

struct rue_store_column {
    const char *name;
    const char *type;
    bool identity; /* equal in rows that are found again */
    const char *help;
};

/* The index of the table trial, behind CREATE INDEX. */
#define RUE_STORE_INDEX_NAME "trial_identity"
#define RUE_STORE_INDEX      RUE_STORE_INDEX_NAME " ON trial (config_hash, data_digest, model, measure)"

#define RUE_STORE_CHECKSUM "checksum"

/* Column `index` of the table, in order; false past the last one. */
bool rue_store_column_at(enum rue_store_table table, size_t index, struct rue_store_column *out);

#endif
