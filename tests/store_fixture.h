/* What the tests of the store share: a folder of its own for each case, and calls that must succeed. Not for
 * forked children, which may not assert. */
#ifndef RUE_STORE_FIXTURE_H
#define RUE_STORE_FIXTURE_H

#include <criterion/criterion.h>

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"

static char folder[64], path[96];

static inline void folder_make(void)
{
    strcpy(folder, "/tmp/rue_store_XXXXXX");
    cr_assert(mkdtemp(folder) != NULL, "no temporary folder");
    snprintf(path, sizeof path, "%s/study.db", folder);
}

static inline void folder_remove(void)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir) closedir(dir);
    rmdir(folder);
}

struct cell {
    struct rue_store_scenario scenario;
    struct rue_trial_request request;
};

static inline struct cell cell_sample(void)
{
    struct cell cell = {.scenario = {.workload = rue_workload_default(), .job_images = 9469},
                        .request = {.measure = RUE_JOINT,
                                    .config = rue_config_default(),
                                    .workload = rue_workload_default(),
                                    .images = 2048}};
    struct rue_store_scenario *s = &cell.scenario;
    strcpy(s->data_digest, "8d2f00c1");
    s->variant.mode = RUE_PREPROCESSED;
    strcpy(s->variant.format, "tensor");
    strcpy(s->variant.dtype, "float32");
    strcpy(s->variant.path, "/data/o'brien");
    strcpy(s->model, "resnet50");
    strcpy(s->model_profile, "{\"fixed_ns\":1,\"per_image_ns\":2}");
    strcpy(s->runner, "rue 0.1.0");
    strcpy(s->machine, "aa55");
    cell.request.config.value[RUE_BATCH_SIZE] = 128;
    cell.request.config.value[RUE_NUM_WORKERS] = 8;
    return cell;
}

static inline struct rue_trial_result result_sample(void)
{
    struct rue_trial_result r = rue_trial_result_empty();
    r.outcome = RUE_TRIAL_OK;
    r.images = 2048;
    r.end_to_end_ns = INT64_C(4000000000);
    return r;
}

static inline struct rue_store *open_or_die(bool fresh)
{
    rue_error error = {0};
    struct rue_store *store = NULL;
    rue_status status = rue_store_open(path, fresh, &store, &error);
    cr_assert(status == RUE_OK, "open: %s", error.message);
    return store;
}

static inline uint64_t add_or_die(struct rue_store *store, const struct cell *cell,
                                  const struct rue_trial_result *result)
{
    rue_error error = {0};
    uint64_t id = 0;
    rue_status status = rue_store_add(store, &cell->scenario, &cell->request, result, 77, &id, &error);
    cr_assert(status == RUE_OK, "add: %s", error.message);
    return id;
}

static inline uint64_t count_rows(struct rue_store *store)
{
    rue_error error = {0};
    uint64_t count = 0;
    rue_status status = rue_store_count(store, &count, &error);
    cr_assert(status == RUE_OK, "count: %s", error.message);
    return count;
}

/* Runs SQL on the file behind the store's back; the first value of the first row as an integer, 0 without
 * rows. */
static inline int64_t sql_run(const char *file, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    const char *rest = sql;
    int64_t value = 0;
    cr_assert(sqlite3_open(file, &db) == SQLITE_OK, "cannot open %s", file);
    while (*rest) {
        cr_assert(sqlite3_prepare_v2(db, rest, -1, &statement, &rest) == SQLITE_OK, "%s: %s", sql,
                  sqlite3_errmsg(db));
        int code = sqlite3_step(statement);
        cr_assert(code == SQLITE_ROW || code == SQLITE_DONE, "%s: %s", sql, sqlite3_errmsg(db));
        if (code == SQLITE_ROW) value = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
    return value;
}

static inline uint64_t *times_make(size_t count, uint64_t step)
{
    uint64_t *times = malloc(count * sizeof *times);
    for (size_t i = 0; i < count; i++) times[i] = UINT64_C(1) + step * i;
    return times;
}

#endif
