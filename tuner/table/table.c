#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "csv_field.h"
#include "hash.h"
#include "program_name.h"
#include "shell_quote.h"
#include "suggest.h"
#include "utf8.h"

/* Files are read at once, so larger ones are refused. */
#define TEXT_BYTES_MAX ((size_t)1 << 30)
enum { READ_BYTES = 1 << 16 };

/* Adds a NUL; the caller frees `*out`, even if this fails. */
static rue_status read_stream(FILE *stream, const char *name, char **out, size_t *bytes, rue_error *error)
{
    size_t capacity = 0, used = 0;
    do {
        rue_status status = rue_array_grow(out, &capacity, used + READ_BYTES + 1, 1, name, error);
        if (status != RUE_OK) return status;
        used += fread(*out + used, 1, READ_BYTES, stream);
    } while (!feof(stream) && !ferror(stream) && used < TEXT_BYTES_MAX);
    (*out)[used] = 0;
    *bytes = used;
    if (ferror(stream)) return rue_fail(error, RUE_DATA, "cannot read %s: %s", name, strerror(errno));
    if (used < TEXT_BYTES_MAX) return RUE_OK;
    return rue_fail(error, RUE_DATA, "%s is larger than %zu bytes; remove rows that are not needed", name,
                    TEXT_BYTES_MAX);
}

static rue_status load_csv(const char *path, const char *name, char **out, size_t *bytes, rue_error *error)
{
    struct stat info;
    char word[RUE_SHELL_WORD_BYTES];
    if (strcmp(path, "-") == 0) return read_stream(stdin, name, out, bytes, error);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return rue_fail(error, RUE_DATA,
                        "%s is a folder, not a CSV table; to show a study's folder: %s show %s", path,
                        rue_program_name(), rue_shell_word(path, word));
    FILE *file = fopen(path, "re");
    if (!file)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; give a CSV table", path, strerror(errno));
    rue_status status = read_stream(file, name, out, bytes, error);
    fclose(file);
    return status;
}

static rue_status check_utf8(const char *name, const char *text, rue_error *error)
{
    for (const char *at = text; *at;) {
        const char *invalid = at;
        if ((unsigned char)*at < 0x80)
            at++;
        else if (rue_utf8_next(&at) < 0)
            return rue_fail(error, RUE_DATA,
                            "%s, line %" PRIu64 ": the byte 0x%02X is not UTF-8; save the file as UTF-8 "
                            "(iconv -f latin1 -t utf-8)",
                            name, rue_csv_line(text, invalid), (unsigned char)*invalid);
    }
    return RUE_OK;
}

/* `*digest` is FNV-1a of all bytes; fields are valid until `*out` is closed. */
static rue_status open_csv(const char *path, struct rue_csv **out, uint64_t *digest, rue_error *error)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    char *text = NULL;
    size_t bytes;
    rue_status status = load_csv(path, name, &text, &bytes, error);
    if (status != RUE_OK) return free(text), status;
    *digest = rue_hash(RUE_HASH_START, text, bytes);
    status = rue_csv_open(name, text, bytes, out, error);
    if (status != RUE_OK) return status;
    status = check_utf8(name, text, error);
    if (status != RUE_OK) rue_csv_close(*out), *out = NULL;
    return status;
}

/* Largest time that fits the clocks. */
#define TIME_NS_MAX 9e18

/* The name of a mode becomes a path and a part of keys. */
enum { MODE_BYTES_MAX = PATH_MAX / 4 };

struct row {
    struct rue_table *table;
    const char *file, *map;
    const char **header; /* owned; its texts belong to the file */
    struct rue_csv_record record;
    bool any_time;            /* true: some row has a time */
    uint64_t first_word_line; /* first row with a word instead of a time; 0: none */
    char first_word[81];      /* that word */
};

/* NULL: the file has no such column. */
static const char *cell_text(const struct row *row, enum rue_column column)
{
    size_t field = row->table->columns.field[column];
    return field == SIZE_MAX ? NULL : rue_csv_get_text(row->record.fields[field]);
}

static rue_status fail_cell(const struct row *row, enum rue_column column, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s, line %" PRIu64 ": %s '%.80s' %s", row->file, row->record.line,
                    rue_column_name(column), cell_text(row, column), why);
}

static rue_status read_knob(const struct row *row, int knob, int *value, rue_error *error)
{
    const struct rue_knob_info *info = rue_own_knobs.at[knob];
    enum rue_column column = (enum rue_column)(RUE_COLUMN_KNOBS + knob);
    const char *text = cell_text(row, column);
    double number;
    *value = info->fallback;
    if (!text || (!*text && !info->always_shown)) return RUE_OK;
    if (rue_knob_parse(info, text, value)) return RUE_OK;
    bool whole = !info->words && rue_csv_get_number(text, &number) && number == floor(number);
    if (whole && number >= info->min && number <= info->max) return *value = (int)number, RUE_OK;
    char why[96];
    if (info->words)
        snprintf(why, sizeof why, "is neither %s nor %s", info->words[0], info->words[1]);
    else
        snprintf(why, sizeof why, "is not a whole number from %d to %d", info->min, info->max);
    return fail_cell(row, column, why, error);
}

static rue_status read_count(const struct row *row, enum rue_column column, uint64_t *out, rue_error *error)
{
    const char *text = cell_text(row, column);
    double number;
    *out = 0;
    if (!text || !*text) return RUE_OK;
    if (!rue_csv_get_number(text, &number) || number != floor(number) || number < 0 || number > 1e15)
        return fail_cell(row, column, "is not a whole number of images", error);
    *out = (uint64_t)number;
    return RUE_OK;
}

static bool is_out_of_memory(const char *text)
{
    return strcasecmp(text, "oom") == 0 || strcasestr(text, "out of memory");
}

static rue_status read_status(const struct row *row, int *out, rue_error *error)
{
    const char *text = cell_text(row, RUE_COLUMN_STATUS);
    *out = -1;
    if (!text || !*text) return RUE_OK;
    for (int o = 0; o < RUE_OUTCOME_COUNT; o++)
        if (strcasecmp(rue_outcome_names[o], text) == 0) *out = o;
    if (is_out_of_memory(text)) *out = RUE_TRIAL_INFEASIBLE;
    if (*out >= 0) return RUE_OK;
    char why[64 + RUE_SUGGESTION_BYTES], near[RUE_SUGGESTION_BYTES];
    snprintf(why, sizeof why, "is not ok, infeasible, failed or timeout%s",
             rue_did_you_mean(text, rue_outcome_names, RUE_OUTCOME_COUNT, "", near));
    return fail_cell(row, RUE_COLUMN_STATUS, why, error);
}

/* A mistyped number such as "1,5", in contrast to a word instead of a time. */
static bool is_mistyped_number(const char *text)
{
    return strcspn(text, "0123456789") < strspn(text, "+-.0123456789");
}

/* A word instead of a time makes the trial a failed one, with the word as its reason. */
static rue_status read_time(struct row *row, bool is_ok, struct rue_ledger_row *out, rue_error *error)
{
    struct rue_trial_result *result = &out->trial.result;
    enum rue_column column = row->table->columns.time;
    const char *text = cell_text(row, column);
    double number;
    if (rue_csv_get_number(text, &number)) {
        double ns = number * row->table->columns.ns_per_unit;
        if (!(ns > 0)) return fail_cell(row, column, "is not a positive time", error);
        if (ns < 1 || ns > TIME_NS_MAX)
            return fail_cell(row, column, "is not a time between 1 ns and 285 years", error);
        out->cost_ns = ns;
        result->end_to_end_ns = llround(ns);
        row->any_time = true;
        return RUE_OK;
    }
    if (is_mistyped_number(text))
        return fail_cell(row, column,
                         "is not a number: write it with a decimal point, without a unit or commas", error);
    if (is_ok) return fail_cell(row, column, "is not a time, but the status is ok", error);
    result->outcome = is_out_of_memory(text) ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED;
    if (result->reason[0]) return RUE_OK;
    if (*text)
        snprintf(result->reason, sizeof result->reason, "the time is '%.80s'", text);
    else
        snprintf(result->reason, sizeof result->reason, "the time is empty");
    if (!*text || is_out_of_memory(text) || row->first_word_line) return RUE_OK;
    row->first_word_line = row->record.line;
    snprintf(row->first_word, sizeof row->first_word, "%s", text);
    return RUE_OK;
}

/* "" if the file has no such column. */
static rue_status read_table_word(const struct row *row, enum rue_column column, size_t bytes, char *out,
                                  rue_error *error)
{
    const char *text = cell_text(row, column);
    char why[64];
    snprintf(out, bytes, "%s", text ? text : "");
    if (!text || strlen(text) < bytes) return RUE_OK;
    snprintf(why, sizeof why, "is longer than %zu bytes: shorten it", bytes - 1);
    return fail_cell(row, column, why, error);
}

static rue_status find_group(const struct row *row, uint64_t job_images, size_t *out, rue_error *error)
{
    char key[4096];
    bool created;
    const char *mode = cell_text(row, RUE_COLUMN_MODE);
    if (mode && !*mode) return fail_cell(row, RUE_COLUMN_MODE, "is empty", error);
    if (mode && strlen(mode) > MODE_BYTES_MAX)
        return fail_cell(row, RUE_COLUMN_MODE, "is too long: shorten it", error);
    int known = mode ? rue_word_find(rue_mode_names, RUE_MODE_COUNT, mode) : -1;
    struct rue_variant variant = {.mode = known >= 0 ? (enum rue_mode)known : RUE_RAW};
    rue_status status = read_table_word(row, RUE_COLUMN_FORMAT, sizeof variant.format, variant.format, error);
    if (status == RUE_OK)
        status = read_table_word(row, RUE_COLUMN_DTYPE, sizeof variant.dtype, variant.dtype, error);
    const char *label = mode ? mode : row->table->name;
    snprintf(key, sizeof key, "%.3500s\n%s\n%s\n%" PRIu64, label, variant.format, variant.dtype, job_images);
    if (status == RUE_OK) status = rue_tally_find_group(&row->table->tally, key, out, &created, error);
    if (status != RUE_OK || !created) return status;
    struct rue_variant_findings *group = &row->table->tally.groups[*out];
    group->job.images = job_images;
    group->models_unnamed = !cell_text(row, RUE_COLUMN_MODEL);
    group->variant = variant;
    return rue_tally_copy_text(&row->table->tally, label, &group->label, error);
}

/* Counts and skips rows that are not joint trials of whole jobs. */
static bool skip_row(const struct row *row, int outcome, uint64_t requested, uint64_t job)
{
    const char *measure = cell_text(row, RUE_COLUMN_MEASURE);
    if (measure && *measure && strcmp(measure, rue_measure_names[RUE_JOINT]) != 0)
        return row->table->not_joint++, true;
    if (outcome > RUE_TRIAL_OK || requested == 0 || requested >= job) return false;
    return row->table->truncated++, true;
}

static rue_status read_row(struct row *row, rue_error *error)
{
    struct rue_ledger_row read = {.trial = {.measure = RUE_JOINT, .result = rue_trial_result_empty()}};
    struct rue_trial_result *result = &read.trial.result;
    const char *model = cell_text(row, RUE_COLUMN_MODEL), *reason = cell_text(row, RUE_COLUMN_REASON);
    uint64_t job, requested;
    int outcome;
    snprintf(result->reason, sizeof result->reason, "%s", reason ? reason : "");
    rue_status status = read_status(row, &outcome, error);
    if (status == RUE_OK) status = read_count(row, RUE_COLUMN_JOB_IMAGES, &job, error);
    if (status == RUE_OK) status = read_count(row, RUE_COLUMN_REQUESTED_IMAGES, &requested, error);
    if (status != RUE_OK || skip_row(row, outcome, requested, job)) return status;
    if (job == 0) job = requested; /* no job is given: the trial is a whole job */
    for (int k = 0; status == RUE_OK && k < RUE_OWN_KNOB_COUNT; k++)
        status = read_knob(row, k, &read.trial.config.value[k], error);
    if (status == RUE_OK && model && !*model) return fail_cell(row, RUE_COLUMN_MODEL, "is empty", error);
    if (status == RUE_OK && model && strlen(model) >= RUE_MODEL_NAME_BYTES)
        return fail_cell(row, RUE_COLUMN_MODEL, "is too long: shorten it", error);
    result->config = read.trial.config;
    result->outcome = outcome > RUE_TRIAL_OK ? (enum rue_outcome)outcome : RUE_TRIAL_OK;
    if (status == RUE_OK && result->outcome == RUE_TRIAL_OK)
        status = read_time(row, outcome == RUE_TRIAL_OK, &read, error);
    if (status == RUE_OK) status = find_group(row, job, &read.variant, error);
    if (status != RUE_OK) return status;
    if (result->outcome == RUE_TRIAL_OK && job) result->images = (int64_t)job;
    rue_findings_count_trial(&row->table->tally.groups[read.variant], result);
    return rue_tally_add_trial(&row->table->tally, &read, model ? model : RUE_TABLE_MODEL, error);
}

static rue_status check_width(const struct row *row, rue_error *error)
{
    size_t columns = row->table->columns.count, count = row->record.count;
    while (count > columns && !*row->record.fields[count - 1]) count--; /* commas that a spreadsheet added */
    if (count == columns) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s, line %" PRIu64
                    ": %zu fields, but the header has %zu columns; put quotes around a field that "
                    "contains a comma",
                    row->file, row->record.line, count, columns);
}

/* Copies the names, as the record is overwritten by the next line. */
static rue_status read_table_header(struct rue_csv *csv, struct row *row, rue_error *error)
{
    bool found;
    rue_status status = rue_csv_next(csv, &found, &row->record, error);
    if (status != RUE_OK) return status;
    if (!found)
        return rue_fail(error, RUE_DATA, "%s is empty: expected a header line, then one line per trial",
                        row->file);
    row->header = malloc(row->record.count * sizeof *row->header);
    if (!row->header) return rue_fail_memory(error, "the names of columns", row->record.count);
    memcpy(row->header, row->record.fields, row->record.count * sizeof *row->header);
    return rue_columns_find(row->map, &row->record, csv, &row->table->columns, error);
}

/* If no row has a time, the column is probably not one of times. */
static rue_status check_time_column(const struct row *row, rue_error *error)
{
    if (row->any_time || !row->first_word_line) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s: column '%.60s' has no times (line %" PRIu64
                    ": '%s'); name the column of times with --map time_s=COLUMN",
                    row->file, row->header[row->table->columns.field[row->table->columns.time]],
                    row->first_word_line, row->first_word);
}

static rue_status read_table_rows(struct rue_csv *csv, struct row *row, rue_error *error)
{
    bool found;
    rue_status status = read_table_header(csv, row, error);
    while (status == RUE_OK) {
        status = rue_csv_next(csv, &found, &row->record, error);
        if (status != RUE_OK || !found) break;
        row->table->rows++;
        status = check_width(row, error);
        if (status == RUE_OK) status = read_row(row, error);
    }
    if (status == RUE_OK && row->table->rows == 0)
        return rue_fail(error, RUE_DATA, "%s has only a header line: expected one line per trial after it",
                        row->file);
    return status == RUE_OK ? check_time_column(row, error) : status;
}

rue_status rue_table_read(const char *path, const char *map, struct rue_table *out, rue_error *error)
{
    struct rue_csv *csv;
    *out = (struct rue_table){0};
    uint64_t digest;
    rue_status status = open_csv(path, &csv, &digest, error);
    if (status != RUE_OK) return status;
    const char *name = strrchr(rue_csv_name(csv), '/');
    snprintf(out->name, sizeof out->name, "%s", name && name[1] ? name + 1 : rue_csv_name(csv));
    struct row row = {.table = out, .file = rue_csv_name(csv), .map = map};
    status = read_table_rows(csv, &row, error);
    out->digest = map ? rue_hash(digest, map, strlen(map)) : digest;
    free(row.header);
    rue_csv_close(csv);
    if (status == RUE_OK && out->tally.trial_count == 0)
        status =
            rue_fail(error, RUE_INCONCLUSIVE,
                     "%s has nothing to rank: of %zu rows, %zu are not joint trials and %zu are truncated; "
                     "rue show can rank those, from the folder of their study",
                     out->name, out->rows, out->not_joint, out->truncated);
    if (status != RUE_OK) rue_table_close(out);
    return status;
}

void rue_table_close(struct rue_table *table)
{
    rue_tally_close(&table->tally);
}
