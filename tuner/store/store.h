/* The store of a study: its trials and what its runs found, in one SQLite file (WAL). A study continues from
 * it, and people query it. docs/store.md describes the schema. One thread at a time; several processes may
 * read while one writes. */
#ifndef RUE_STORE_H
#define RUE_STORE_H

#include <limits.h>

#include "store_tables.h"

/* The store's file in a study's folder. */
#define RUE_STORE_FILE "study.db"

struct rue_store;

/* Opens or creates the store at `path`, in a folder that the caller has locked. NULL: in memory, lost when it
 * is closed. `fresh` first renames an existing store, SQLite's companion files and the reports beside it to
 * "<path>.old" (".old.2", ... if that exists), so that no trial is lost and no report describes another
 * store. RUE_STORE, with the path and what to do: the file is not a store, has another version, is damaged
 * (integrity_check, row checksums), read-only or in use, or the disk is full. The file is unchanged then. */
rue_status rue_store_open(const char *path, bool fresh, struct rue_store **out,
                          rue_error *error) RUE_MUST_CHECK;

/* Copies the store at `path` into memory. The file and its folder are not changed and may be read-only.
 * `locked`: the caller has locked the folder, so no other process writes the file. Errors as above. */
rue_status rue_store_open_copy(const char *path, bool locked, struct rue_store **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_store_close(struct rue_store *store);

/* Records the start of a run; `started` is wall-clock time (ISO 8601, UTC). Trials that are added later get
 * the id of this run. */
rue_status rue_store_begin_run(struct rue_store *store, const char *command_line, const char *rue_version,
                               const char *started, const struct rue_knobs *knobs,
                               rue_error *error) RUE_MUST_CHECK;

/* Keeps additions in memory until rue_store_commit. They are lost if the store is closed before. RUE_STORE.
 */
rue_status rue_store_hold(struct rue_store *store, rue_error *error) RUE_MUST_CHECK;
rue_status rue_store_commit(struct rue_store *store, rue_error *error) RUE_MUST_CHECK;

/* Adds a row of this run, and sets its run_id. After a row of change or exclusion, rue_store_find_trial skips
 * the trials in the change's range, or of the dropped node. RUE_STORE. */
rue_status rue_store_add_row(struct rue_store *store, enum rue_store_table table, void *row,
                             rue_error *error) RUE_MUST_CHECK;

/* The id of the run that rue_store_begin_run began. */
int64_t rue_store_run_id(const struct rue_store *store);

/* Rows of a table, oldest first, as structs. */
struct rue_store_rows {
    enum rue_store_table table;
    size_t count;
    void *at; /* [count] */
};

/* Saves what the run found; replaces what it had saved, all or nothing. RUE_STORE. */
rue_status rue_store_save_result(struct rue_store *store, struct rue_store_result *result,
                                 const struct rue_store_rows *findings, rue_error *error) RUE_MUST_CHECK;

/* Reads the rows of run `run_id` (RUE_ABSENT: of all). Not for trials. RUE_STORE, RUE_MEMORY. The caller
 * closes `out`, also on failure. */
rue_status rue_store_read_rows(struct rue_store *store, enum rue_store_table table, int64_t run_id,
                               struct rue_store_rows *out, rue_error *error) RUE_MUST_CHECK;
void rue_store_rows_close(struct rue_store_rows *rows);

/* A row of the table trial for a request, without a result: its measure, config, images, batches and limits.
 * For the measure load, model and profile are "". */
struct rue_store_trial rue_store_make_trial(const struct rue_store_origin *origin,
                                            const struct rue_trial_request *request);

/* Adds a trial of this run, which gets its row id; when this returns RUE_OK, the row is on the disk, and can
 * be read. A row that could not be read back is refused (RUE_STORE, with the column). `started_ns` is on the
 * study's clock. */
rue_status rue_store_add_trial(struct rue_store *store, struct rue_store_trial *trial,
                               rue_error *error) RUE_MUST_CHECK;

/* Selects the `nth` row (0, 1, ...), oldest first, of those with a row id above `after`. To visit all rows in
 * linear time, advance `after`, not `nth`. */
struct rue_store_position {
    uint64_t after;
    size_t nth;
};

/* Finds a stored trial that can be reused for the request:
 * - origin, model (except for the measure load), variant without its path, workload, job, measure and
 * configuration are equal;
 * - it was requested with at least as many images, or, for the measure compute, batches;
 * - it is ok, and the batches fit the memory limit of the request or the limit of the row is not larger; or
 * it is infeasible under a memory limit at least as large, and not because the system refused a resource.
 * Sets the id, start and result of `out`; the id is 0 if nothing was found. The result has the request's
 * config; the caller closes it. */
rue_status rue_store_find_trial(struct rue_store *store, const struct rue_store_origin *origin,
                                const struct rue_trial_request *request, struct rue_store_position position,
                                struct rue_store_trial *out, rue_error *error) RUE_MUST_CHECK;

/* `result` is borrowed. Any status but RUE_OK ends the visit. */
typedef rue_status rue_store_visit(void *context, uint64_t id, const struct rue_trial_result *result,
                                   rue_error *error);

/* Visits every trial that can be reused for the request (as above), oldest first; a signal ends it. `visit`
 * must not use the store. */
rue_status rue_store_visit_trials(struct rue_store *store, const struct rue_store_origin *origin,
                                  const struct rue_trial_request *request, rue_store_visit *visit,
                                  void *context, rue_error *error) RUE_MUST_CHECK;

/* Reads the next trial of the store, in the order of storing; `*found` is false after the last one. The
 * caller closes its result. Fields that a row does not contain, such as the keys of the data, are empty.
 * RUE_STORE: a value of the row cannot be read, or the file is damaged. */
rue_status rue_store_next_trial(struct rue_store *store, bool *found, struct rue_store_trial *out,
                                rue_error *error) RUE_MUST_CHECK;

/* Counts the trials of the store. */
rue_status rue_store_count_trials(struct rue_store *store, uint64_t *out_count,
                                  rue_error *error) RUE_MUST_CHECK;

/* Counts those of the runs that have a finding of the scenario (store_tables.h). */
rue_status rue_store_count_scenario(struct rue_store *store, const char *scenario, uint64_t *out_count,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
