/* The study's store: every trial of one tuning study in one SQLite file (WAL) that can be resumed and
 * queried. The schema is documented in store_schema.h and in the file itself (`.schema`); the configuration
 * is canonical JSON plus its hash. One thread at a time; several processes may read while one writes. */
#ifndef RUE_STORE_H
#define RUE_STORE_H

#include <limits.h>

#include "error.h"
#include "profile.h"
#include "trial.h"

/* The store's file in a study's folder. */
#define RUE_STORE_FILE "study.db"

struct rue_store;

/* What a trial is about besides its cell: rows are found again only where all of it is the same, but for the
 * variant's path, which is only kept: the digest says which data they are. Budget, repeats and grid values
 * are not part of it. */
struct rue_store_scenario {
    char data_digest[32];
    struct rue_variant variant;
    struct rue_workload workload;
    uint64_t job_images;
    char model[RUE_MODEL_NAME_BYTES];
    char model_profile[RUE_PROFILE_JSON_BYTES]; /* canonical JSON of the model's cost profile */
    char runner[128]; /* the runner's name and version, and its command when it is not our own */
    char machine[32]; /* fingerprint of the runner's machine */
};

/* A row of the table trial. */
struct rue_store_trial {
    int64_t run_id;    /* RUE_ABSENT: none */
    char recorded[32]; /* wall clock, UTC */
    struct rue_store_scenario scenario;
    const char *workload; /* as stored; set by rue_store_next_trial, until its next trial */
    enum rue_measure measure;
    struct rue_config config;
    uint64_t requested_images, requested_batches;
    struct rue_limits limits;
    uint64_t id, started_ns;
    struct rue_trial_result result;
};

/* All of it but the model as text: what trials of one variant under the same circumstances have in common.
 * `workload` is canonical. */
enum { RUE_STORE_KEY_BYTES = PATH_MAX + 4096 };
void rue_store_scenario_key(const struct rue_store_scenario *scenario, const char *workload,
                            char out[RUE_STORE_KEY_BYTES]);

/* Opens or creates the store file, in a folder that the caller has locked (NULL: in memory, gone when it is
 * closed); `fresh` first renames an existing one to "<path>.old" (".old.2", ... where that is taken) together
 * with SQLite's companion files and the reports beside it, so that nothing measured is lost and no report is
 * about another store. RUE_STORE with the path and what to do when it is no store, of another version,
 * damaged (integrity_check, row checksums), read-only, in use, or the disk is full; the file is then left as
 * it was. */
rue_status rue_store_open(const char *path, bool fresh, struct rue_store **out,
                          rue_error *error) RUE_MUST_CHECK;

/* The store at `path` as a store in memory, for looking at it, or for a run that leaves nothing: neither the
 * file nor its folder is changed, which may be read-only. `locked`: the caller has locked the folder, so
 * nobody writes the file meanwhile; else a tuner may be at work. Errors as above. */
rue_status rue_store_open_copy(const char *path, bool locked, struct rue_store **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_store_close(struct rue_store *store);

/* Notes that a run begins: its command line, rue's version, wall-clock time (ISO 8601, UTC), and the knobs of
 * its configurations. The run's id goes into the rows that follow. */
rue_status rue_store_begin_run(struct rue_store *store, const char *command_line, const char *rue_version,
                               const char *started, const struct rue_knobs *knobs,
                               rue_error *error) RUE_MUST_CHECK;

/* Keeps what the run found out, at its end or so far (a recommendation.json), in place of what it kept
 * before. */
rue_status rue_store_save_findings(struct rue_store *store, const char *findings,
                                   rue_error *error) RUE_MUST_CHECK;

/* What the `nth` run that kept its findings found out, the last one first (0), returned owned; NULL where
 * there are no more. */
rue_status rue_store_load_findings(struct rue_store *store, size_t nth, char **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* Adds a trial; when it returns RUE_OK the row is on the disk. `*out_id` (nullable) is its row id.
 * `started_ns` is on the study's clock. Of the request, measure, config, images, batches and limits are read;
 * the rest is the scenario's. Rows of the measure load belong to no model: the scenario's model and profile
 * are stored as "". */
rue_status rue_store_add_trial(struct rue_store *store, const struct rue_store_scenario *scenario,
                               const struct rue_trial_request *request, const struct rue_trial_result *result,
                               uint64_t started_ns, uint64_t *out_id, rue_error *error) RUE_MUST_CHECK;

/* Which of several rows, oldest first: the `nth` (0, 1, ...) of those with a row id above `after`. Walking
 * over all of them takes time in proportion to their number by `after` alone. */
struct rue_store_position {
    uint64_t after;
    size_t nth;
};

/* A reusable row of the cell: same scenario (of the measure load, whatever
 * model), measure and configuration; images asked >= request->images, or for the measure compute batches
 * asked >= request->batches; outcome ok where the batches fit the request's limit of memory or the row's was
 * no wider, or infeasible under a limit of memory no tighter than the request's and not because the system
 * refused something, which it may grant the next time. Sets `*found`. `result` is always set and to be closed
 * by the caller: the row where found, with the request's config, else empty.
 * `*out_id` and `*out_started_ns` (nullable) are set when found. */
rue_status rue_store_find_trial(struct rue_store *store, const struct rue_store_scenario *scenario,
                                const struct rue_trial_request *request, struct rue_store_position position,
                                bool *found, struct rue_trial_result *result, uint64_t *out_id,
                                uint64_t *out_started_ns, rue_error *error) RUE_MUST_CHECK;

/* What rue_store_visit_trials calls; `result` is the walk's. Anything but RUE_OK ends the walk. */
typedef rue_status rue_store_visit(void *context, uint64_t id, const struct rue_trial_result *result,
                                   rue_error *error);

/* Visits every reusable row of the cell (as above), oldest first; a signal ends it. The store is not to be
 * used meanwhile. */
rue_status rue_store_visit_trials(struct rue_store *store, const struct rue_store_scenario *scenario,
                                  const struct rue_trial_request *request, rue_store_visit *visit,
                                  void *context, rue_error *error) RUE_MUST_CHECK;

/* The next trial of all, in the order of storing, its result to be closed by the caller; what a row does not
 * hold, such as the keys of the data, is empty. `*found` is false behind the last one. RUE_STORE when a row
 * makes no sense or the file is damaged. */
rue_status rue_store_next_trial(struct rue_store *store, bool *found, struct rue_store_trial *out,
                                rue_error *error) RUE_MUST_CHECK;

/* From now on, until the store is closed, rue_store_find_trial passes over the rows from `first` up to `end`.
 */
rue_status rue_store_mark_doubtful(struct rue_store *store, uint64_t first, uint64_t end,
                                   rue_error *error) RUE_MUST_CHECK;

/* How many trial rows the store holds in all. */
rue_status rue_store_count_trials(struct rue_store *store, uint64_t *out_count,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
