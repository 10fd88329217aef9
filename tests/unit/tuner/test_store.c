#include "store_fixture.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>

#include "store_schema.h"
#include "workload_json.h"

TestSuite(store, .init = folder_make, .fini = folder_remove, .timeout = 120);

/* The id of the nth reusable row, 0 when there is none. */
static uint64_t find_id(struct rue_store *store, const struct cell *cell, size_t nth)
{
    rue_error error = {0};
    struct rue_store_trial row;
    rue_status status = rue_store_find_trial(store, &cell->origin, &cell->request,
                                             (struct rue_store_position){.nth = nth}, &row, &error);
    cr_assert(status == RUE_OK, "find: %s", error.message);
    rue_trial_result_close(&row.result);
    return row.id;
}

static void fields_fill(struct rue_trial_result *result)
{
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        char *at = (char *)result + rue_trial_fields[i].offset;
        if (rue_trial_fields[i].real)
            *(double *)at = 0.1 + (double)i;
        else
            *(int64_t *)at = INT64_C(1000000007) * (int64_t)(i + 1);
    }
}

static void check_fields(const struct rue_trial_result *expected, const struct rue_trial_result *actual)
{
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        const struct rue_trial_field *field = &rue_trial_fields[i];
        const char *a = (const char *)expected + field->offset, *b = (const char *)actual + field->offset;
        if (!field->real) {
            cr_assert(*(const int64_t *)a == *(const int64_t *)b, "%s came back different", field->name);
            continue;
        }
        double x = *(const double *)a, y = *(const double *)b;
        cr_assert(x == y || (isnan(x) && isnan(y)), "%s came back as %g, not %g", field->name, y, x);
    }
}

Test(store, every_field_is_read_back_after_reopening)
{
    struct cell cell = cell_sample();
    cell.request.config.value[RUE_PARALLELISM] = RUE_PARALLEL_SAMPLE;
    struct rue_trial_result result = result_sample();
    fields_fill(&result);
    result.ready_count = 4096;
    result.batch_ready_ns = times_make(4096, UINT64_C(987654321987));
    result.compute_count = 3;
    result.batch_compute_ns = times_make(3, 5);
    result.queued_count = 4;
    result.batch_queued = times_make(4, 1);
    result.images_count = 6;
    result.batch_images = times_make(6, 9);

    struct rue_store *store = open_or_die(false);
    uint64_t id = add_or_die(store, &cell, &result);
    rue_store_close(store);

    store = open_or_die(false);
    struct rue_store_trial row;
    rue_error error = {0};
    rue_status status = rue_store_find_trial(store, &cell.origin, &cell.request,
                                             (struct rue_store_position){0}, &row, &error);
    struct rue_trial_result back = row.result;
    cr_assert(status == RUE_OK && row.id, "not found: %s", error.message);
    cr_assert(row.id == id && row.started_ns == 77, "id or start differ");
    cr_assert(back.outcome == RUE_TRIAL_OK && back.reason[0] == 0, "outcome or reason differ");
    cr_assert(rue_config_equal(&back.config, &cell.request.config), "the configuration differs");
    check_fields(&result, &back);
    cr_assert(back.ready_count == 4096 && back.compute_count == 3, "arrays have other lengths");
    cr_assert(memcmp(back.batch_ready_ns, result.batch_ready_ns, 4096 * sizeof(uint64_t)) == 0,
              "batch_ready_ns");
    cr_assert(memcmp(back.batch_compute_ns, result.batch_compute_ns, 3 * sizeof(uint64_t)) == 0,
              "batch_compute_ns");
    cr_assert(back.images_count == 6 && memcmp(back.batch_images, result.batch_images, 48) == 0);
    cr_assert(back.queued_count == 4 && memcmp(back.batch_queued, result.batch_queued, 32) == 0);
    rue_trial_result_close(&back);
    rue_trial_result_close(&result);
    rue_store_close(store);
}

Test(store, fields_without_a_value_are_empty)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    struct rue_store_trial trial;
    memset(&trial, 0x5a, sizeof trial);
    bool found = false;
    cr_assert(rue_store_next_trial(store, &found, &trial, NULL) == RUE_OK && found, "not found");
    cr_assert_str_eq(trial.request.variant.path, cell.request.variant.path);
    cr_assert(!trial.request.variant.image_key[0] && !trial.request.variant.label_key[0], "keys of nobody");
    rue_trial_result_close(&trial.result);
    rue_trial_result_close(&result);
    rue_store_close(store);
}

Test(store, absent_fields_are_null_and_read_back_as_absent)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_INFEASIBLE;
    strcpy(result.reason, "needs 12 GB, 8 GB are allowed");

    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    struct rue_store_trial row;
    rue_status status =
        rue_store_find_trial(store, &cell.origin, &cell.request, (struct rue_store_position){0}, &row, NULL);
    struct rue_trial_result back = row.result;
    cr_assert(status == RUE_OK && row.id, "not found");
    cr_assert(back.outcome == RUE_TRIAL_INFEASIBLE, "the outcome differs");
    cr_assert_str_eq(back.reason, result.reason, "the reason differs");
    check_fields(&result, &back);
    cr_assert(!back.batch_ready_ns && !back.batch_compute_ns, "arrays out of nothing");
    rue_trial_result_close(&back);
    rue_store_close(store);

    for (size_t i = 0; i < rue_trial_field_count; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM trial WHERE %s IS NULL", rue_trial_fields[i].name);
        cr_assert(sql_run(path, sql) == 1, "%s is not NULL", rue_trial_fields[i].name);
    }
}

/* Each is changed by turning over the lowest bit of its first byte, which leaves words printable, switches
 * enums and flags, and makes numbers other numbers. */
#define PART(member)                           \
    {                                          \
#        member, offsetof(struct cell, member) \
    }
static const struct part {
    const char *name;
    size_t offset;
} parts[] = {
    PART(origin.data_digest),
    PART(request.variant.mode),
    PART(request.variant.format),
    PART(request.variant.dtype),
    PART(request.workload.shuffle),
    PART(request.workload.drop_last),
    PART(request.workload.seed),
    PART(request.workload.epoch),
    PART(request.workload.rank),
    PART(request.workload.world_size),
    PART(request.workload.remote_ranks),
    PART(request.workload.share),
    PART(request.workload.missing_chunks),
    PART(request.workload.chunk_cache_bytes),
    PART(request.workload.bad_images),
    PART(request.workload.max_pixels),
    PART(request.workload.decode),
    PART(request.workload.batch_dtype),
    PART(request.workload.transform),
    PART(request.workload.cache),
    PART(request.job_images),
    PART(request.model),
    PART(origin.model_profile),
    PART(origin.runner),
    PART(origin.machine),
    PART(request.measure),
    PART(request.config.value[RUE_BATCH_SIZE]),
    PART(request.config.value[RUE_NUM_WORKERS]),
    PART(request.config.value[RUE_PREFETCH_FACTOR]),
    PART(request.config.value[RUE_PARALLELISM]),
};

Test(store, each_part_of_the_identity_counts)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct cell other = cell;
        ((unsigned char *)&other)[parts[i].offset] ^= 1;
        cr_assert(find_id(store, &other, 0) == 0, "found with another %s", parts[i].name);
    }
    cr_assert(find_id(store, &cell, 0) == 1, "the cell itself was not found");
    rue_store_close(store);
}

Test(store, the_path_is_not_part_of_the_identity)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    strcpy(cell.request.variant.path, "/elsewhere");
    cr_assert(find_id(store, &cell, 0) == 1, "another path hides the row");
    rue_store_close(store);
    cr_assert(sql_run(path, "SELECT count(*) FROM trial WHERE path = '/data/o''brien'") == 1,
              "the path was not kept");
}

Test(store, trials_of_the_measure_load_belong_to_no_model)
{
    struct cell cell = cell_sample();
    cell.request.measure = RUE_LOAD;
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    strcpy(cell.request.model, "vgg16");
    strcpy(cell.origin.model_profile, "{}");
    cr_assert(find_id(store, &cell, 0) == 1, "the row of another model's scenario not found");
    rue_store_close(store);
}

Test(store, the_nth_row_is_the_nth_oldest)
{
    struct cell cell = cell_sample(), other = cell;
    other.request.config.value[RUE_BATCH_SIZE] = 129;
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    uint64_t ids[4];
    for (int i = 0; i < 4; i++) {
        ids[i] = add_or_die(store, &cell, &result);
        add_or_die(store, &other, &result);
    }
    for (int i = 0; i < 4; i++)
        cr_assert(find_id(store, &cell, (size_t)i) == ids[i], "row %d is another one", i);
    cr_assert(find_id(store, &cell, 4) == 0, "a fifth of four");
    cr_assert(count_rows(store) == 8, "the store holds %lu rows", (unsigned long)count_rows(store));
    rue_store_close(store);
}

Test(store, rows_around_a_change_that_the_run_knows_are_not_reused)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    rue_error error = {0};
    uint64_t ids[4];
    for (int i = 0; i < 4; i++) ids[i] = add_or_die(store, &cell, &result);
    cr_assert(rue_store_begin_run(store, "", "", "", &rue_own_knobs, &error) == RUE_OK, "%s", error.message);
    for (int i = 0; i < 4; i += 2) {
        struct rue_notice notice = {.uncertain = ids[i], .uncertain_end = ids[i + 1], .load_ratio = 1};
        rue_status status = rue_store_add_row(store, RUE_STORE_CHANGES, &notice, &error);
        cr_assert(status == RUE_OK && notice.run_id == 1, "%s", error.message);
    }
    cr_assert(find_id(store, &cell, 0) == ids[1] && find_id(store, &cell, 1) == ids[3]);
    cr_assert(find_id(store, &cell, 2) == 0 && count_rows(store) == 4);
    rue_store_close(store);
    store = open_or_die(false);
    cr_assert(find_id(store, &cell, 0) == ids[0]);
    rue_store_close(store);
}

Test(store, failed_and_timed_out_rows_are_stored_but_not_reused)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = rue_trial_result_empty();
    struct rue_store *store = open_or_die(false);
    result.outcome = RUE_TRIAL_FAILED;
    add_or_die(store, &cell, &result);
    result.outcome = RUE_TRIAL_TIMEOUT;
    add_or_die(store, &cell, &result);
    cr_assert(find_id(store, &cell, 0) == 0, "reused");
    cr_assert(count_rows(store) == 2, "not kept");
    rue_store_close(store);
}

Test(store, rows_of_fewer_images_are_not_reused)
{
    struct cell cell = cell_sample(), more = cell, fewer = cell;
    more.request.images++;
    fewer.request.images--;
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    cr_assert(find_id(store, &more, 0) == 0, "a shorter trial was reused");
    cr_assert(find_id(store, &fewer, 0) == 1, "a longer trial was not reused");
    rue_store_close(store);
}

Test(store, compute_rows_are_reused_by_batches)
{
    struct cell cell = cell_sample();
    cell.request.measure = RUE_COMPUTE;
    cell.request.batches = 10;
    struct cell more = cell, as_many = cell;
    more.request.batches = 11;
    as_many.request.images = 1 << 20;
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    cr_assert(find_id(store, &more, 0) == 0, "fewer batches were reused");
    cr_assert(find_id(store, &as_many, 0) == 1, "images hide a row of batches");
    rue_store_close(store);
}

Test(store, infeasible_rows_are_not_reused_under_a_wider_limit)
{
    struct cell cell = cell_sample();
    cell.request.limits = (struct rue_limits){.time_ns = 5, .memory_bytes = 2000};
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_INFEASIBLE;
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    const struct {
        uint64_t limit;
        uint64_t id;
    } cases[] = {{1000, 1}, {2000, 1}, {2001, 0}, {0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cell.request.limits.memory_bytes = cases[i].limit;
        cr_assert(find_id(store, &cell, 0) == cases[i].id, "limit %lu", (unsigned long)cases[i].limit);
    }
    cell.request.limits = (struct rue_limits){.time_ns = 9, .memory_bytes = 2000};
    cr_assert(find_id(store, &cell, 0) == 1, "the limit of time matters");
    cell.request.limits.memory_bytes = 0;
    result = result_sample();
    add_or_die(store, &cell, &result);
    cr_assert(find_id(store, &cell, 0) == 2, "what is ok is found without a limit");
    rue_store_close(store);
    cr_assert(sql_run(path, "SELECT limit_time_ns FROM trial WHERE id = 1") == 5,
              "the limit of time was not kept");
}

/* 16 batches of 128 images and one that is held: what a job of 2048 needs. */
Test(store, rows_above_a_smaller_limit_are_not_reused)
{
    enum { NEEDED = 17 * 128 * 4 * 3 * 224 * 224 };
    struct cell cell = cell_sample();
    cell.request.limits.memory_bytes = 2 * (uint64_t)NEEDED;
    cell.request.job_images = 2048;
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    const struct {
        uint64_t limit;
        uint64_t id;
    } cases[] = {{0, 1},      {UINT64_C(3) * NEEDED, 1}, {UINT64_C(2) * NEEDED, 1},
                 {NEEDED, 1}, {NEEDED - 1, 0},           {1000, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cell.request.limits.memory_bytes = cases[i].limit;
        cr_assert(find_id(store, &cell, 0) == cases[i].id, "limit %lu", (unsigned long)cases[i].limit);
    }
    add_or_die(store, &cell, &result);
    cr_assert(find_id(store, &cell, 0) == 2, "a runner that needs less says so once");
    rue_store_close(store);
}

Test(store, rows_refused_by_the_system_are_not_reused)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_INFEASIBLE;
    result.refused = 1;
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    cr_assert(find_id(store, &cell, 0) == 0, "a refusal was taken for a limit");
    result.refused = RUE_ABSENT;
    add_or_die(store, &cell, &result);
    cr_assert(find_id(store, &cell, 0) == 2, "a limit was taken for a refusal");
    rue_store_close(store);
}

Test(store, rows_name_their_run)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    for (int run = 1; run <= 2; run++) {
        struct rue_store *store = open_or_die(false);
        rue_error error = {0};
        rue_status status = rue_store_begin_run(store, "rue tune 'a b'", "0.1.0", "2025-01-02T03:04:05Z",
                                                &rue_own_knobs, &error);
        cr_assert(status == RUE_OK, "begin: %s", error.message);
        add_or_die(store, &cell, &result);
        rue_store_close(store);
    }
    cr_assert(sql_run(path,
                      "SELECT count(*) FROM trial JOIN run ON run.id = run_id WHERE trial.id = run.id"
                      " AND command_line = 'rue tune ''a b''' AND started = '2025-01-02T03:04:05Z'") == 2,
              "rows and runs do not match");
}

Test(store, the_views_can_be_queried)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    result.ready_count = 5;
    result.batch_ready_ns = times_make(5, 10);
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    rue_trial_result_close(&result);
    cr_assert(sql_run(path, "SELECT batch_size * 1000 + num_workers * 10 + prefetch_factor FROM ok_trial"
                            " WHERE parallelism = 'batch' AND NOT is_full AND images_per_s = 512") == 128082,
              "the view, beside an open store");
    cr_assert(sql_run(path, "SELECT sum(value) FROM trial, json_each(batch_ready_ns)") == 105,
              "batch_ready_ns");
    cr_assert(sql_run(path, "SELECT json_extract(workload, '$.seed') FROM trial") == 1,
              "the workload's seed");
    rue_store_close(store);
    cr_assert(sql_run(path, "PRAGMA application_id") == RUE_STORE_APPLICATION_ID, "application_id");
    cr_assert(sql_run(path, "PRAGMA user_version") == RUE_STORE_VERSION, "user_version");
    char wal[128];
    snprintf(wal, sizeof wal, "%s-wal", path);
    cr_assert(access(wal, F_OK) != 0, "closing leaves a log behind");
}

Test(store, the_search_uses_the_index)
{
    rue_store_close(open_or_die(false));
    char *search = rue_store_search_sql(), sql[4096];
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", search);
    sqlite3_free(search);
    sqlite3 *db = NULL;
    sqlite3_stmt *plan = NULL;
    cr_assert(sqlite3_open(path, &db) == SQLITE_OK &&
                  sqlite3_prepare_v2(db, sql, -1, &plan, NULL) == SQLITE_OK,
              "%s", sqlite3_errmsg(db));
    cr_assert(sqlite3_step(plan) == SQLITE_ROW, "no plan");
    const char *step = (const char *)sqlite3_column_text(plan, 3);
    cr_assert(strstr(step, "USING INDEX trial_identity") != NULL, "%s", step);
    while (sqlite3_step(plan) == SQLITE_ROW) {
        step = (const char *)sqlite3_column_text(plan, 3);
        cr_assert(strstr(step, "B-TREE") == NULL, "sorted: %s", step);
    }
    sqlite3_finalize(plan);
    sqlite3_close(db);
}

Test(store, a_workload_is_canonical_json)
{
    struct rue_workload workload = rue_workload_default();
    char text[RUE_WORKLOAD_TEXT_BYTES];
    rue_workload_canonical(&workload, text);
    cr_assert_str_eq(
        text,
        "{\"seed\":1,\"shuffle\":true,\"drop_last\":false,\"bad_images\":\"fail\",\"max_pixels\":268435456,"
        "\"cache\":\"warm\",\"transform\":\"eval\",\"epoch\":0,\"rank\":0,\"world_size\":1}");
    workload =
        (struct rue_workload){.seed = INT64_MAX, .epoch = INT64_MAX, .rank = INT32_MAX, .world_size = 1};
    workload.bad_images = RUE_BAD_REPLACE;
    workload.decode = RUE_DECODE_FAST;
    workload.batch_dtype = RUE_UINT8;
    memset(workload.transform, '"', sizeof workload.transform - 1);
    memset(workload.cache, '\n', sizeof workload.cache - 1);
    rue_workload_canonical(&workload, text);
    json_t *json = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
    cr_assert(json != NULL, "no JSON: %s", text);
    cr_assert_str_eq(json_string_value(json_object_get(json, "transform")), workload.transform);
    cr_assert_str_eq(json_string_value(json_object_get(json, "decode")), "fast");
    cr_assert_str_eq(json_string_value(json_object_get(json, "batch_dtype")), "uint8");
    cr_assert_str_eq(json_string_value(json_object_get(json, "cache")), workload.cache);
    json_decref(json);
}

Test(store, a_row_edited_into_nonsense_is_named)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    struct rue_store *store = open_or_die(false);
    add_or_die(store, &cell, &result);
    const char *const edits[] = {
        "batch_ready_ns = '[1,x]'",
        "batch_ready_ns = '[1,2'",
        "batch_ready_ns = '[]'",
        "batch_ready_ns = ''",
        "batch_ready_ns = '[-1]'",
        "batch_ready_ns = '[1]]'",
        "batch_ready_ns = '[99999999999999999999]'",
        "batch_ready_ns = '[9223372036854775808]'",
        "batch_ready_ns = '[01]'",
        "batch_ready_ns = '[1,]'",
        "batch_ready_ns = '[,1]'",
        "batch_ready_ns = '[1.0]'",
        "batch_ready_ns = '[1]\n'",
        "batch_ready_ns = '{1}'",
        "batch_compute_ns = '7'",
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "UPDATE trial SET batch_ready_ns = NULL, batch_compute_ns = NULL; UPDATE trial SET %s",
                 edits[i]);
        sql_run(path, sql);
        rue_error error = {0};
        struct rue_store_trial row;
        rue_status status = rue_store_find_trial(store, &cell.origin, &cell.request,
                                                 (struct rue_store_position){0}, &row, &error);
        cr_assert(status == RUE_STORE && !row.id, "%s: accepted", edits[i]);
        cr_assert(strstr(error.message, path) && strstr(error.message, "trial 1"), "%s", error.message);
        rue_trial_result_close(&row.result);
    }
    rue_store_close(store);
}
