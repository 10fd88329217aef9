#include "store_row.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "json_document.h"
#include "knob_json.h"
#include "workload_json.h"

#define MEMBER_OF(structure, member) \
    offsetof(struct structure, member), sizeof(((struct structure *)0)->member)
#define MEMBER(member) MEMBER_OF(rue_store_trial, member)
#define TIMES(field, count) \
    RUE_STORE_TIMES, offsetof(struct rue_store_trial, field), offsetof(struct rue_store_trial, count)
#define PLAIN     NULL, 0, RUE_STORE_PLAIN
#define IDENTITY  NULL, 0, RUE_STORE_IDENTITY
#define GENERATED NULL, 0, RUE_STORE_GENERATED

#define ID     "id", "INTEGER PRIMARY KEY", RUE_STORE_COUNT
#define RUN_ID "run_id", "INTEGER REFERENCES run(id)", RUE_STORE_INTEGER
#define CHECKSUM                                                                                            \
    {                                                                                                       \
        "checksum", "INTEGER NOT NULL", RUE_STORE_CHECKSUM, 0, 0, PLAIN, "hash of the row as it was stored" \
    }

/* clang-format off */
#define RESULT(member) MEMBER_OF(rue_store_result, member)
static const struct rue_store_column result_columns[] = {
    {ID, RESULT(id), GENERATED, "number of the row"},
    {RUN_ID, RESULT(run_id), PLAIN, "the run"},
    {"result", "INTEGER REFERENCES run(id)", RUE_STORE_INTEGER, RESULT(result), PLAIN,
     "run whose findings are the result: itself, or an earlier one; NULL: the run has not ended"},
    {"trials", "INTEGER NOT NULL", RUE_STORE_COUNT, RESULT(trials), PLAIN,
     "number of trials in the store when the run began, or ended"},
    {"rules", "TEXT NOT NULL", RUE_STORE_STRING, RESULT(rules), PLAIN, "JSON: rules of the ranking"},
    {"facts", "TEXT NOT NULL", RUE_STORE_STRING, RESULT(facts), PLAIN, "JSON: runner, machine and how the run went"},
    {"disturbed", "TEXT", RUE_STORE_TIMES, offsetof(struct rue_store_result, disturbed),
     offsetof(struct rue_store_result, disturbed_count), PLAIN,
     "JSON array: trials so far from the expected time that they have a low weight; NULL: none"},
    CHECKSUM,
};

#define FINDING(member) MEMBER_OF(rue_store_finding, member)
static const struct rue_store_column finding_columns[] = {
    {ID, FINDING(id), GENERATED, "number of the finding"},
    {RUN_ID, FINDING(run_id), PLAIN, "run that found it"},
    {"scenario", "TEXT NOT NULL", RUE_STORE_TEXT, FINDING(scenario), PLAIN,
     "hash of the data, workload, job, runner and machine of its trials"},
    {"facts", "TEXT", RUE_STORE_STRING, FINDING(facts), PLAIN,
     "JSON: recommendation, job, times of all configurations, forecast, claims; NULL: the run has not ended"},
    CHECKSUM,
};

#define CHANGE(member) MEMBER_OF(rue_notice, member)
static const struct rue_store_column change_columns[] = {
    {ID, CHANGE(id), GENERATED, "number of the row"},
    {RUN_ID, CHANGE(run_id), PLAIN, "run that knew it"},
    {"trial", "INTEGER NOT NULL", RUE_STORE_COUNT, CHANGE(trial), PLAIN, "first trial after the change"},
    {"noticed", "INTEGER NOT NULL", RUE_STORE_COUNT, CHANGE(noticed), PLAIN, "last trial before it was certain"},
    {"unsure_from", "INTEGER NOT NULL", RUE_STORE_COUNT, CHANGE(uncertain), PLAIN,
     "first trial of which it is unknown whether it ran before the change"},
    {"unsure_until", "INTEGER NOT NULL", RUE_STORE_COUNT, CHANGE(uncertain_end), PLAIN, "first trial after these"},
    {"load_ratio", "REAL NOT NULL", RUE_STORE_REAL, CHANGE(load_ratio), PLAIN, "how many times slower loading is"},
    {"compute_ratio", "REAL NOT NULL", RUE_STORE_REAL, CHANGE(compute_ratio), PLAIN,
     "how many times slower computing is"},
    {"cause", "TEXT NOT NULL", RUE_STORE_TEXT, CHANGE(cause), PLAIN, "from the kernel's counters; '': unknown"},
    CHECKSUM,
};

#define EXCLUSION(member) MEMBER_OF(rue_dropped_node, member)
static const struct rue_store_column exclusion_columns[] = {
    {ID, EXCLUSION(id), GENERATED, "number of the row"},
    {RUN_ID, EXCLUSION(run_id), PLAIN, "run that knew it"},
    {"first", "INTEGER NOT NULL", RUE_STORE_COUNT, EXCLUSION(discarded), PLAIN, "first trial"},
    {"past", "INTEGER NOT NULL", RUE_STORE_COUNT, EXCLUSION(discarded_end), PLAIN, "first trial after these"},
    {"rank", "INTEGER NOT NULL", RUE_STORE_COUNT, EXCLUSION(rank), PLAIN, "rank of the node"},
    {"node", "TEXT NOT NULL", RUE_STORE_TEXT, EXCLUSION(node), PLAIN, "name of the node"},
    {"reason", "TEXT NOT NULL", RUE_STORE_TEXT, EXCLUSION(why), PLAIN, "why the node was dropped"},
    CHECKSUM,
};

static const struct rue_store_column trial_columns[] = {
    {ID, MEMBER(id), GENERATED, "number of the trial, in order of storing"},
    {RUN_ID, MEMBER(run_id), PLAIN, "run that measured it"},
    {"recorded", "TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))", RUE_STORE_TEXT, MEMBER(recorded), GENERATED,
     "when it was stored, UTC"},
    {"started_ns", "INTEGER NOT NULL", RUE_STORE_COUNT, MEMBER(started_ns), PLAIN, "when it started, since its run began"},
    {"data_digest", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(origin.data_digest), IDENTITY,
     "hash of the names and sizes of the data files"},
    {"mode", "TEXT NOT NULL", RUE_STORE_ENUM, MEMBER(request.variant.mode), rue_mode_names, RUE_MODE_COUNT, RUE_STORE_IDENTITY,
     "raw or preprocessed"},
    {"format", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(request.variant.format), IDENTITY,
     "format of the data, such as folder or tensor"},
    {"dtype", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(request.variant.dtype), IDENTITY,
     "element type of preprocessed data; '' for raw"},
    {"path", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(request.variant.path), PLAIN, "path of the data"},
    {"workload", "TEXT NOT NULL", RUE_STORE_WORKLOAD, MEMBER(request.workload), IDENTITY,
     "JSON: how the data are loaded, such as seed and cache"},
    {"job_images", "INTEGER NOT NULL", RUE_STORE_COUNT, MEMBER(request.job_images), IDENTITY,
     "images of the whole job"},
    {"model", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(request.model), IDENTITY, "name; '' for the measure load"},
    {"model_profile", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(origin.model_profile), IDENTITY,
     "JSON: times of a simulated model; '' for the measure load"},
    {"runner", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(origin.runner), IDENTITY, "name, version and command of the runner"},
    {"machine", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(origin.machine), IDENTITY,
     "hash of the facts about the machine"},
    {"measure", "TEXT NOT NULL", RUE_STORE_ENUM, MEMBER(request.measure), rue_measure_names, RUE_MEASURE_COUNT,
     RUE_STORE_IDENTITY, "joint: loader and model; load: loader alone; compute: model alone"},
    {"config", "TEXT NOT NULL", RUE_STORE_CONFIG, MEMBER(request.config), IDENTITY,
     "JSON: the configuration; knobs at their default are left out"},
    {"requested_images", "INTEGER NOT NULL", RUE_STORE_COUNT, MEMBER(request.images), PLAIN,
     "images to load; fewer than job_images: a truncated trial"},
    {"requested_batches", "INTEGER NOT NULL", RUE_STORE_COUNT, MEMBER(request.batches), PLAIN,
     "batches to measure, for the measure compute"},
    {"limit_time_ns", "INTEGER", RUE_STORE_LIMIT, MEMBER(request.limits.time_ns), PLAIN, "time limit of the trial; NULL: none"},
    {"limit_memory_bytes", "INTEGER", RUE_STORE_LIMIT, MEMBER(request.limits.memory_bytes), PLAIN,
     "limit for batches in flight; NULL: none"},
    {"status", "TEXT NOT NULL", RUE_STORE_ENUM, MEMBER(result.outcome), rue_outcome_names, RUE_OUTCOME_COUNT,
     RUE_STORE_PLAIN,
     "ok, infeasible, failed or timeout"},
    {"reason", "TEXT NOT NULL", RUE_STORE_TEXT, MEMBER(result.reason), PLAIN, "why the status is not ok, or which images were replaced"},
#define X(name, help) {#name, "INTEGER", RUE_STORE_INTEGER, MEMBER(result.name), PLAIN, help},
    RUE_TRIAL_INTEGERS(X)
#undef X
#define X(name, help) {#name, "REAL", RUE_STORE_REAL, MEMBER(result.name), PLAIN, help},
    RUE_TRIAL_REALS(X)
#undef X
    /* Long values last, so that SQLite reads other columns without them. */
    {"batch_ready_ns", "TEXT", TIMES(result.batch_ready_ns, result.ready_count), PLAIN,
     "JSON array: delivery time of each batch, since the start"},
    {"batch_compute_ns", "TEXT", TIMES(result.batch_compute_ns, result.compute_count), PLAIN,
     "JSON array: time of each batch in the model"},
    {"batch_images", "TEXT", TIMES(result.batch_images, result.images_count), PLAIN,
     "JSON array: number of images of each batch"},
    {"batch_queued", "TEXT", TIMES(result.batch_queued, result.queued_count), PLAIN,
     "JSON array: batches loaded and not delivered when each batch was asked for"},
    {"ranks", "TEXT", RUE_STORE_STRING, MEMBER(result.ranks), PLAIN, "JSON array: what each launched rank measured"},
    CHECKSUM,
};
/* clang-format on */

#define LAYOUT(name, structure)                                                                         \
    {                                                                                                   \
#        name, sizeof(struct structure), sizeof name##_columns / sizeof *name##_columns, name##_columns \
    }

const struct rue_store_layout rue_store_layouts[RUE_STORE_TABLE_COUNT] = {
    [RUE_STORE_TRIALS] = LAYOUT(trial, rue_store_trial),
    [RUE_STORE_RESULTS] = LAYOUT(result, rue_store_result),
    [RUE_STORE_FINDINGS] = LAYOUT(finding, rue_store_finding),
    [RUE_STORE_CHANGES] = LAYOUT(change, rue_notice),
    [RUE_STORE_EXCLUSIONS] = LAYOUT(exclusion, rue_dropped_node)};

enum { TEXT_BYTES = (int)RUE_CONFIG_TEXT_BYTES + (int)RUE_WORKLOAD_TEXT_BYTES }; /* enough for either */

static int bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    return sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

static int bind_times(sqlite3_stmt *statement, int index, const uint64_t *times, size_t count)
{
    if (count == 0) return SQLITE_OK;
    json_t *array = json_array();
    bool whole = array != NULL;
    for (size_t i = 0; whole && i < count; i++)
        whole = json_array_append_new(array, json_integer((json_int_t)times[i])) == 0;
    char *text = whole ? json_dumps(array, JSON_COMPACT) : NULL;
    json_decref(array);
    return text ? sqlite3_bind_text(statement, index, text, -1, free) : SQLITE_NOMEM;
}

static int bind_count(sqlite3_stmt *statement, int index, uint64_t value)
{
    return sqlite3_bind_int64(statement, index, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static int bind_column(sqlite3_stmt *statement, int index, const struct rue_store_column *column,
                       const void *row)
{
    const void *member = (const char *)row + column->offset;
    char text[TEXT_BYTES];
    switch (column->kind) {
    case RUE_STORE_TEXT:
        return bind_text(statement, index, member);
    case RUE_STORE_COUNT:
        return bind_count(statement, index, *(const uint64_t *)member);
    case RUE_STORE_LIMIT:
        return *(const uint64_t *)member ? bind_count(statement, index, *(const uint64_t *)member)
                                         : SQLITE_OK;
    case RUE_STORE_INTEGER:
        return *(const int64_t *)member == RUE_ABSENT
                   ? SQLITE_OK
                   : sqlite3_bind_int64(statement, index, *(const int64_t *)member);
    case RUE_STORE_REAL:
        return sqlite3_bind_double(statement, index, *(const double *)member); /* NaN: NULL */
    case RUE_STORE_ENUM:
        return bind_text(statement, index, column->words[*(const unsigned *)member]);
    case RUE_STORE_TIMES:
        return bind_times(statement, index, *(uint64_t *const *)member,
                          *(const size_t *)((const char *)row + column->bytes));
    case RUE_STORE_STRING:
        return *(char *const *)member ? bind_text(statement, index, *(char *const *)member) : SQLITE_OK;
    case RUE_STORE_WORKLOAD:
        return rue_workload_canonical(member, text), bind_text(statement, index, text);
    case RUE_STORE_CONFIG:
        return rue_config_canonical(member, text), bind_text(statement, index, text);
    case RUE_STORE_CHECKSUM:
        break;
    }
    return SQLITE_OK;
}

int rue_store_row_bind(sqlite3_stmt *statement, enum rue_store_table table, const void *row)
{
    const struct rue_store_layout *layout = &rue_store_layouts[table];
    int code = SQLITE_OK;
    for (int i = 0; code == SQLITE_OK && i < layout->column_count; i++) {
        char parameter[64];
        snprintf(parameter, sizeof parameter, ":%s", layout->columns[i].name);
        int index = sqlite3_bind_parameter_index(statement, parameter);
        if (index) code = bind_column(statement, index, &layout->columns[i], row);
    }
    return code;
}

void rue_store_row_close(enum rue_store_table table, void *row)
{
    const struct rue_store_layout *layout = &rue_store_layouts[table];
    for (int i = 0; i < layout->column_count; i++)
        if (layout->columns[i].kind == RUE_STORE_STRING || layout->columns[i].kind == RUE_STORE_TIMES)
            free(*(char **)((char *)row + layout->columns[i].offset));
}

/* A number of a JSON array, up to `end`. */
static bool parse_time(const char **at, char end, uint64_t *out)
{
    const char *first = *at;
    uint64_t value = 0;
    while (**at >= '0' && **at <= '9' && value <= INT64_MAX / 10) value = value * 10 + *(*at)++ - '0';
    *out = value;
    bool is_number = *at > first && (*first != '0' || *at == first + 1) && value <= INT64_MAX;
    return is_number && *(*at)++ == end;
}

/* A JSON array of unsigned integers, without spaces. Most of a row's text is such arrays. */
static bool parse_times(const char *text, uint64_t **out, size_t *out_count)
{
    size_t count = 1;
    for (const char *at = text; (at = strchr(at, ',')); at++) count++;
    uint64_t *times = malloc(count * sizeof *times);
    bool valid = times && *text++ == '[';
    for (size_t i = 0; valid && i < count; i++)
        valid = parse_time(&text, i + 1 < count ? ',' : ']', &times[i]);
    if (!valid || *text) return free(times), false;
    *out = times;
    *out_count = count;
    return true;
}

/* True if the value of `text` is cached. Else the text is stored, and the caller parses it. */
static bool is_parsed(struct rue_store_cached_text *parsed, const char *text)
{
    if (parsed->text && strcmp(parsed->text, text) == 0) return true;
    free(parsed->text);
    parsed->text = strdup(text); /* without memory, it is parsed again */
    return false;
}

/* False if the text has a knob or a value that this version of rue does not know. */
static bool parse_config(const char *text, const struct rue_knobs *knobs, struct rue_config *out)
{
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *value;
    bool valid = json_is_object(object);
    const char *key;
    *out = rue_config_default_for(knobs);
    json_object_foreach(object, key, value)
    {
        int knob = rue_knob_find(knobs, key);
        valid = valid && knob >= 0 && rue_json_knob_read(knobs->at[knob], value, &out->value[knob]);
    }
    json_decref(object);
    return valid;
}

/* "": rue's own knobs. */
static bool parse_knobs(const char *text, const struct rue_knobs **out)
{
    json_t *declared = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    *out = &rue_own_knobs;
    bool valid = !*text || (declared && rue_knob_json_read(declared, out, NULL) == RUE_OK);
    json_decref(declared);
    return valid;
}

static bool parse_workload(const char *text, struct rue_workload *out)
{
    json_t *workload = json_loads(text, 0, NULL);
    *out = (struct rue_workload){0};
    bool valid = workload && rue_workload_read(workload, out, NULL) == RUE_OK;
    json_decref(workload);
    return valid;
}

static bool read_workload(struct rue_store_cache *cache, const char *text, struct rue_workload *out)
{
    struct rue_store_cached_text *parsed = &cache->workload;
    if (!is_parsed(parsed, text)) parsed->valid = parse_workload(text, &parsed->workload);
    *out = parsed->workload;
    return parsed->valid;
}

/* The knobs of the run are the last column, after columns that people added. */
static bool read_config(sqlite3_stmt *statement, struct rue_store_cache *cache, const char *text,
                        struct rue_store_trial *trial)
{
    const char *declared = (const char *)sqlite3_column_text(statement, sqlite3_column_count(statement) - 1);
    size_t slot = rue_hash(RUE_HASH_START, text, strlen(text)) % RUE_STORE_CONFIGS_CACHED;
    struct rue_store_cached_text *knobs = &cache->knobs, *parsed = &cache->configs[slot];
    if (!declared) declared = "";
    if (!is_parsed(knobs, declared)) knobs->valid = parse_knobs(declared, &knobs->knobs);
    if (!is_parsed(parsed, text) || parsed->config.knobs != knobs->knobs)
        parsed->valid = parse_config(text, knobs->knobs, &parsed->config);
    trial->request.config = trial->result.config = parsed->config;
    return knobs->valid && parsed->valid;
}

void rue_store_cache_close(struct rue_store_cache *cache)
{
    free(cache->workload.text);
    free(cache->knobs.text);
    for (int i = 0; i < RUE_STORE_CONFIGS_CACHED; i++) free(cache->configs[i].text);
}

/* Truncates. */
static bool copy_text(char *out, size_t bytes, const char *text)
{
    size_t copied = strnlen(text, bytes - 1);
    memcpy(out, text, copied);
    out[copied] = 0;
    return true;
}

/* False if rue does not store such a value: people may have edited the row. */
static bool read_column(sqlite3_stmt *statement, const struct rue_store_column *column, int index,
                        struct rue_store_cache *cache, void *row)
{
    void *member = (char *)row + column->offset;
    int type = sqlite3_column_type(statement, index);
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(statement, index) : NULL;
    int64_t integer = type == SQLITE_INTEGER ? sqlite3_column_int64(statement, index) : RUE_ABSENT;
    bool number = rue_trial_field_is_valid((double)integer);
    switch (column->kind) {
    case RUE_STORE_TEXT:
        return text && copy_text(member, column->bytes, text);
    case RUE_STORE_COUNT:
        return number && (*(uint64_t *)member = integer, true);
    case RUE_STORE_LIMIT:
        *(uint64_t *)member = number ? (uint64_t)integer : 0;
        return number || type == SQLITE_NULL;
    case RUE_STORE_INTEGER:
        *(int64_t *)member = number ? integer : RUE_ABSENT;
        return number || type == SQLITE_NULL;
    case RUE_STORE_REAL:
        *(double *)member = type == SQLITE_NULL ? NAN : sqlite3_column_double(statement, index);
        return type == SQLITE_NULL || (type == SQLITE_FLOAT && rue_trial_field_is_valid(*(double *)member));
    case RUE_STORE_ENUM: {
        int word = text ? rue_word_find(column->words, column->word_count, text) : -1;
        *(unsigned *)member = word < 0 ? 0 : (unsigned)word;
        return word >= 0;
    }
    case RUE_STORE_TIMES:
        return type == SQLITE_NULL ||
               (text && parse_times(text, member, (size_t *)((char *)row + column->bytes)));
    case RUE_STORE_STRING:
        *(char **)member = text ? strdup(text) : NULL;
        return type == SQLITE_NULL || *(char **)member;
    case RUE_STORE_WORKLOAD:
        ((struct rue_store_trial *)row)->workload = text;
        return !cache || (text && read_workload(cache, text, member));
    case RUE_STORE_CONFIG:
        return !cache || (text && read_config(statement, cache, text, row));
    case RUE_STORE_CHECKSUM:
        break;
    }
    return true;
}

const char *rue_store_row_read(sqlite3_stmt *statement, enum rue_store_table table, size_t first,
                               struct rue_store_cache *cache, void *row)
{
    const struct rue_store_layout *layout = &rue_store_layouts[table];
    for (int i = 0; i < layout->column_count; i++)
        if (layout->columns[i].offset >= first && !read_column(statement, &layout->columns[i], i, cache, row))
            return layout->columns[i].name;
    const struct rue_store_trial *trial = row;
    bool is_empty =
        table == RUE_STORE_TRIALS && trial->result.outcome == RUE_TRIAL_OK && !trial->result.images;
    return is_empty ? "images" : NULL;
}
