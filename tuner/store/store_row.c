#include "store_row.h"
#include "workload_json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RUE_STORE_ROW_COLUMNS. */
enum { FIND_ID, FIND_STARTED, FIND_STATUS, FIND_REASON, FIND_READY, FIND_COMPUTE, FIND_FIELDS };
_Static_assert((int)FIND_FIELDS == (int)RUE_STORE_ROW_COLUMN_COUNT, "the fields follow");

/* The index of ":name", 0 (which no bind accepts) when the statement has none. */
static int parameter_find(const struct rue_store_row *row, const char *name)
{
    char parameter[64];
    snprintf(parameter, sizeof parameter, ":%s", name);
    return sqlite3_bind_parameter_index(row->statement, parameter);
}

void rue_store_row_text(struct rue_store_row *row, const char *name, const char *text)
{
    if (row->code != SQLITE_OK) return;
    row->code = sqlite3_bind_text(row->statement, parameter_find(row, name), text, -1, SQLITE_TRANSIENT);
}

void rue_store_row_integer(struct rue_store_row *row, const char *name, int64_t value)
{
    if (row->code != SQLITE_OK || value == RUE_ABSENT) return;
    row->code = sqlite3_bind_int64(row->statement, parameter_find(row, name), value);
}

void rue_store_row_count(struct rue_store_row *row, const char *name, uint64_t value)
{
    rue_store_row_integer(row, name, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_real(struct rue_store_row *row, const char *name, double value)
{
    if (row->code != SQLITE_OK || isnan(value)) return;
    row->code = sqlite3_bind_double(row->statement, parameter_find(row, name), value);
}

void rue_store_row_limit(struct rue_store_row *row, const char *name, uint64_t value)
{
    if (value) rue_store_row_count(row, name, value);
}

static void put_times(struct rue_store_row *row, const char *name, const uint64_t *times, size_t count)
{
    if (row->code != SQLITE_OK || count == 0) return;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) {
        row->code = SQLITE_NOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++) fprintf(stream, "%c%" PRIu64, i ? ',' : '[', times[i]);
    fputc(']', stream);
    bool failed = ferror(stream);
    if (fclose(stream) != 0 || failed)
        row->code = SQLITE_NOMEM;
    else
        rue_store_row_text(row, name, text);
    free(text);
}

/* Reads a JSON array of unsigned integers; NULL is none. */
static rue_status times_read(const char *text, uint64_t **out, size_t *out_count, rue_error *error)
{
    *out = NULL;
    *out_count = 0;
    if (!text) return RUE_OK;
    size_t most = 1;
    for (const char *at = text; *at; at++) most += *at == ',';
    uint64_t *times = malloc(most * sizeof *times);
    if (!times) return rue_fail_memory(error, "the times of batches", most * sizeof *times);

    size_t count = 0;
    const char *at = text;
    char expected = '[';
    while (*at == expected && isdigit((unsigned char)at[1])) {
        char *end;
        errno = 0;
        times[count++] = strtoull(at + 1, &end, 10);
        if (errno) break;
        at = end;
        expected = ',';
    }
    if (strcmp(at, "]") != 0 || count == 0) {
        free(times);
        return RUE_STORE;
    }
    *out = times;
    *out_count = count;
    return RUE_OK;
}

void rue_store_scenario_key(const struct rue_store_scenario *scenario, const char *workload,
                            char out[RUE_STORE_KEY_BYTES])
{
    snprintf(out, RUE_STORE_KEY_BYTES, "%s\n%s\n%s\n%s\n%s\n%" PRIu64 "\n%s\n%s", scenario->data_digest,
             rue_mode_names[scenario->variant.mode], scenario->variant.format, scenario->variant.dtype,
             workload, scenario->job_images, scenario->runner, scenario->machine);
}

void rue_store_row_request(struct rue_store_row *row, const struct rue_store_scenario *scenario,
                           const struct rue_trial_request *request)
{
    char workload[RUE_WORKLOAD_TEXT_BYTES], config[RUE_CONFIG_TEXT_BYTES], hash[32];
    rue_workload_canonical(&scenario->workload, workload);
    rue_config_canonical(&request->config, config);
    snprintf(hash, sizeof hash, "%016" PRIx64, rue_config_hash(&request->config));
    bool modelless = request->measure == RUE_LOAD;

    rue_store_row_text(row, "data_digest", scenario->data_digest);
    rue_store_row_text(row, "mode", rue_mode_names[scenario->variant.mode]);
    rue_store_row_text(row, "format", scenario->variant.format);
    rue_store_row_text(row, "dtype", scenario->variant.dtype);
    rue_store_row_text(row, "workload", workload);
    rue_store_row_count(row, "job_images", scenario->job_images);
    rue_store_row_text(row, "model", modelless ? "" : scenario->model);
    rue_store_row_text(row, "model_profile", modelless ? "" : scenario->model_profile);
    rue_store_row_text(row, "runner", scenario->runner);
    rue_store_row_text(row, "machine", scenario->machine);
    rue_store_row_text(row, "measure", rue_measure_names[request->measure]);
    rue_store_row_text(row, "config", config);
    rue_store_row_text(row, "config_hash", hash);
    rue_store_row_count(row, "images_requested", request->images);
    rue_store_row_count(row, "batches_requested", request->batches);
    rue_store_row_limit(row, "limit_memory_bytes", request->limits.memory_bytes);
}

void rue_store_row_result(struct rue_store_row *row, const struct rue_trial_result *result)
{
    rue_store_row_text(row, "status", rue_outcome_names[result->outcome]);
    rue_store_row_text(row, "reason", result->reason);
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        const struct rue_trial_field *field = &rue_trial_fields[i];
        const char *at = (const char *)result + field->offset;
        if (field->real)
            put_real(row, field->name, *(const double *)at);
        else
            rue_store_row_integer(row, field->name, *(const int64_t *)at);
    }
    put_times(row, "batch_ready_ns", result->batch_ready_ns, result->ready_count);
    put_times(row, "batch_compute_ns", result->batch_compute_ns, result->compute_count);
}

/* The name of a field that holds what no trial can have, or NULL: rows of an older rue have no checksum, and
 * people write rows of their own. */
static const char *fields_read(sqlite3_stmt *statement, struct rue_trial_result *result)
{
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        const struct rue_trial_field *field = &rue_trial_fields[i];
        int column = FIND_FIELDS + (int)i, type = sqlite3_column_type(statement, column);
        char *at = (char *)result + field->offset;
        if (type == SQLITE_NULL) continue;
        double value = sqlite3_column_double(statement, column);
        if (type != (field->real ? SQLITE_FLOAT : SQLITE_INTEGER) || !rue_trial_field_holds(value))
            return field->name;
        if (field->real)
            *(double *)at = value;
        else
            *(int64_t *)at = sqlite3_column_int64(statement, column);
    }
    return result->outcome == RUE_TRIAL_OK && result->images != RUE_ABSENT && result->images <= 0 ? "images"
                                                                                                  : NULL;
}

rue_status rue_store_row_read(sqlite3_stmt *statement, const char *path, struct rue_trial_result *result,
                              rue_error *error)
{
    long long id = sqlite3_column_int64(statement, FIND_ID);
    const char *word = (const char *)sqlite3_column_text(statement, FIND_STATUS);
    const char *reason = (const char *)sqlite3_column_text(statement, FIND_REASON);
    int outcome = word ? rue_word_find(rue_outcome_names, RUE_OUTCOME_COUNT, word) : -1;
    if (outcome < 0 || !reason)
        return rue_fail(error, RUE_STORE,
                        "%s: trial %lld: its status or reason cannot be read; delete that row", path, id);
    result->outcome = (enum rue_outcome)outcome;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
    const char *wrong = fields_read(statement, result);
    if (wrong)
        return rue_fail(error, RUE_STORE, "%s: trial %lld: its %s makes no sense; delete that row", path, id,
                        wrong);
    rue_status status = times_read((const char *)sqlite3_column_text(statement, FIND_READY),
                                   &result->batch_ready_ns, &result->ready_count, error);
    if (status == RUE_OK)
        status = times_read((const char *)sqlite3_column_text(statement, FIND_COMPUTE),
                            &result->batch_compute_ns, &result->compute_count, error);
    if (status == RUE_STORE)
        rue_fail(error, status,
                 "%s: trial %lld: its times of batches are no JSON array of integers; delete that row", path,
                 id);
    return status;
}

int rue_store_row_findings(sqlite3 *db, size_t nth, int64_t *run, char **out)
{
    static const char sql[] =
        "SELECT id, findings FROM run WHERE findings IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET ?";
    sqlite3_stmt *find = NULL;
    *out = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &find, NULL);
    if (code == SQLITE_OK) code = sqlite3_bind_int64(find, 1, (int64_t)nth);
    if (code == SQLITE_OK) code = sqlite3_step(find);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(find, 1);
        *run = sqlite3_column_int64(find, 0);
        *out = text ? strdup(text) : NULL;
        code = *out ? SQLITE_DONE : SQLITE_NOMEM;
    }
    sqlite3_finalize(find);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}
