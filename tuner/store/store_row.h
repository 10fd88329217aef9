/* Rows of the store: structs to SQLite's values and back. Absent (RUE_ABSENT, NaN, no array) is NULL both
 * ways. */
#ifndef RUE_STORE_ROW_H
#define RUE_STORE_ROW_H

#include <sqlite3.h>

#include "store.h"

/* What statements select before rue_trial_fields, so that rue_store_row_read can read it. */
#define RUE_STORE_ROW_COLUMNS "id, started_ns, status, reason, batch_ready_ns, batch_compute_ns"
enum { RUE_STORE_ROW_COLUMN_COUNT = 6 };

/* A statement whose named parameters are being bound; the first failure stays in `code`, later calls do
 * nothing. */
struct rue_store_row {
    sqlite3_stmt *statement;
    int code; /* SQLite's, SQLITE_OK to begin with */
};

/* Each binds the parameter ":name"; texts are copied. Counts above INT64_MAX become INT64_MAX. */
void rue_store_row_text(struct rue_store_row *row, const char *name, const char *text);
void rue_store_row_integer(struct rue_store_row *row, const char *name, int64_t value);
void rue_store_row_count(struct rue_store_row *row, const char *name, uint64_t value);
void rue_store_row_limit(struct rue_store_row *row, const char *name, uint64_t value); /* 0, none: NULL */

/* What insert and find share: the identity, what was asked, the limit of memory. */
void rue_store_row_request(struct rue_store_row *row, const struct rue_store_scenario *scenario,
                           const struct rue_trial_request *request);

/* Status, reason, all fields and the times of batches. */
void rue_store_row_result(struct rue_store_row *row, const struct rue_trial_result *result);

/* Reads what a statement with the columns above answers from status on into `result`, empty before. RUE_STORE
 * when the row makes no sense; `path` is for messages. */
rue_status rue_store_row_read(sqlite3_stmt *statement, const char *path, struct rue_trial_result *result,
                              rue_error *error) RUE_MUST_CHECK;

/* The findings of the `nth` run that kept some, the last one first (0), returned owned, and the number of
 * that run; NULL where there are no more. Answers SQLite's code: SQLITE_OK, or why not. */
int rue_store_row_findings(sqlite3 *db, size_t nth, int64_t *run, char **out);

#endif
