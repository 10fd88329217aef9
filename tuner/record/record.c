#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder_lock.h"
#include "job_time.h"
#include "program_name.h"
#include "rank.h"
#include "shell_quote.h"
#include "study_opening.h"
#include "table.h"

/* ---- path ---- */

/* Sets the store's path, and the resolved path and the name of its folder. */
static rue_status find_place(const char *path, bool folder, struct rue_record *record, rue_error *error)
{
    int end = (int)strnlen(path, PATH_MAX);
    while (folder && end > 0 && path[end - 1] == '/') end--;
    int length =
        snprintf(record->store, sizeof record->store, "%.*s%s", end, path, folder ? "/" RUE_STORE_FILE : "");
    char *real = realpath(path, NULL);
    if (length >= (int)sizeof record->store || !real) {
        free(real);
        return rue_fail(error, RUE_DATA, "%s: the path is too long", path);
    }
    snprintf(record->folder, sizeof record->folder, "%s", real);
    free(real);
    if (!folder) *strrchr(record->folder, '/') = 0;
    const char *name = strrchr(record->folder, '/');
    snprintf(record->name, sizeof record->name, "%s", name && name[1] ? name + 1 : "/");
    return RUE_OK;
}

/* As find_place, for `path`, a study's folder or its store. Fails if there is no study. */
static rue_status find_store(const char *path, struct rue_record *record, rue_error *error)
{
    struct stat info;
    char word[RUE_SHELL_WORD_BYTES];
    if (stat(path, &info) != 0)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; to list the studies in rue-out: %s list", path,
                        strerror(errno), rue_program_name());
    bool folder = S_ISDIR(info.st_mode);
    rue_status status = find_place(path, folder, record, error);
    if (status != RUE_OK) return status;
    const char *ending = strrchr(path, '.');
    if (!folder && ending && strcasecmp(ending, ".csv") == 0)
        return rue_fail(error, RUE_STORE, "%s is not a study; to rank a CSV table: %s analyze %s", path,
                        rue_program_name(), rue_shell_word(path, word));
    if (!folder || access(record->store, F_OK) == 0) return RUE_OK;
    if (errno != ENOENT)
        return rue_fail(error, RUE_STORE, "cannot open %s: %s; make the folder readable", record->store,
                        strerror(errno));
    return rue_fail(error, RUE_DATA,
                    "%s is not a study (it has no " RUE_STORE_FILE "); to find studies below it: %s list %s",
                    path, rue_program_name(), rue_shell_word(path, word));
}

/* ---- the last run ---- */

static void put_partial(struct rue_record *record, const char *why)
{
    record->partial = true;
    snprintf(record->partial_reason, sizeof record->partial_reason, "%s", why);
}

/* Sets `last`. Runs that ended before their first trial do not replace the result of an earlier run. */
static rue_status read_last(struct rue_record *record, struct rue_store *store, uint64_t trials,
                            rue_error *error)
{
    struct rue_store_rows results;
    rue_status status = rue_store_read_rows(store, RUE_STORE_RESULTS, RUE_ABSENT, &results, error);
    for (size_t i = results.count; status == RUE_OK && !record->is_current && i-- > 0;) {
        struct rue_recommendation *notes;
        status = rue_kept_read(store, &results, i, record->store, &notes, error);
        if (status != RUE_OK) break;
        bool under_way = notes->under_way, unchanged = notes->trials == trials;
        record->is_current = !under_way && unchanged;
        struct rue_recommendation *unused = notes;
        if (record->is_current || !record->last) unused = record->last, record->last = notes;
        rue_recommendation_close(unused);
        if (!under_way || !unchanged) break;
    }
    rue_store_rows_close(&results);
    return status;
}

static void judge_last(struct rue_record *record)
{
    bool ended = record->last && !record->last->under_way;
    if (record->is_current && !record->last->found.run.partial) return;
    put_partial(record, record->is_current ? record->last->found.run.partial_reason
                        : ended            ? "trials were added or deleted since the last run"
                                           : "the last run ended without a report");
}

/* ---- trials ---- */

size_t rue_record_variant(const struct rue_record *record, const struct rue_store_trial *trial)
{
    char key[RUE_SCENARIO_BYTES];
    rue_kept_scenario(&trial->origin, &trial->request, trial->workload, key);
    for (size_t v = 0; record->last && v < record->last->count; v++)
        if (strcmp(record->last->at[v].found.scenario, key) == 0) return v;
    return RUE_NONE;
}

static bool is_disturbed_trial(const struct rue_record *record, uint64_t trial)
{
    for (size_t i = 0; record->last && i < record->last->disturbed_count; i++)
        if (record->last->disturbed[i] == trial) return true;
    return false;
}

/* The table's name for the trial's mode; NULL for measured trials. */
static const char *label_trial(const struct rue_record *record, const struct rue_store_trial *trial)
{
    bool answered = record->last && strcmp(record->last->found.runner.measured_with, RUE_TABLE_LOADER) == 0;
    return answered ? trial->request.variant.path : NULL;
}

bool rue_record_is_sample(const struct rue_store_trial *trial)
{
    const char *name = strrchr(trial->request.variant.path, '/');
    return name && strcmp(name + 1, RUE_STUDY_SAMPLE) == 0;
}

struct rue_trial_row rue_record_row(const struct rue_record *record, const struct rue_store_trial *trial)
{
    return (struct rue_trial_row){.id = trial->id,
                                  .started_ns = trial->started_ns,
                                  .request = trial->request,
                                  .result = trial->result,
                                  .disturbed = is_disturbed_trial(record, trial->id),
                                  .label = label_trial(record, trial)};
}

static rue_status fill_facts(struct rue_record *record, const struct rue_store_trial *trial, size_t variant,
                             struct rue_variant_findings *facts, rue_error *error)
{
    const struct rue_trial_request *request = &trial->request;
    const char *label = label_trial(record, trial);
    memcpy(facts->scenario, record->last->at[variant].found.scenario, sizeof facts->scenario);
    facts->variant = request->variant;
    facts->job.images = request->job_images;
    facts->job.deployment = rue_deployment_stored(&request->workload, trial->result.ranks);
    facts->job.workload_known = true;
    facts->job.workload = request->workload;
    facts->data.sample = rue_record_is_sample(trial);
    snprintf(facts->data.digest, sizeof facts->data.digest, "%s", trial->origin.data_digest);
    if (!label) return RUE_OK;
    facts->models_unnamed = strcmp(request->model, RUE_TABLE_MODEL) == 0;
    facts->variant.path[0] = 0;
    if (strcmp(facts->variant.format, RUE_TABLE_FORMAT) == 0) facts->variant.format[0] = 0;
    return rue_tally_copy_text(&record->tally, label, &facts->label, error);
}

static struct rue_ledger_row judge_trial(const struct rue_store_trial *trial)
{
    struct rue_ledger_row judged = {
        .trial = {.config = trial->request.config, .images = trial->request.images, .result = trial->result}};
    struct rue_trial_result *result = &judged.trial.result;
    uint64_t job = trial->request.job_images;
    if (result->outcome != RUE_TRIAL_OK) return judged;
    judged.cost_ns = job ? rue_job_time_ns(result, job, trial->request.workload.drop_last, &judged.predicted)
                         : (double)result->end_to_end_ns;
    if (isfinite(judged.cost_ns) && judged.cost_ns > 0) return judged;
    result->outcome = RUE_TRIAL_FAILED;
    snprintf(result->reason, sizeof result->reason, "%s", RUE_JOB_TIME_UNKNOWN);
    return judged;
}

/* A node of a farm was dropped, because it differed from the others when it made the trial. */
static bool is_discarded(const struct rue_record *record, const struct rue_store_trial *trial)
{
    const struct rue_change_findings *changes = &record->last->found.changes;
    char name[RUE_NODE_BYTES];
    if (!changes->dropped_count || !rue_rank_find_node(trial->result.ranks, name)) return false;
    for (size_t i = 0; i < changes->dropped_count; i++) {
        const struct rue_dropped_node *node = &changes->dropped[i];
        bool within = trial->id >= node->discarded && trial->id < node->discarded_end;
        if (within && strcmp(name, node->node) == 0) return true;
    }
    return false;
}

static rue_status add_joint(struct rue_record *record, const struct rue_store_trial *trial, rue_error *error)
{
    struct rue_tally *tally = &record->tally;
    struct rue_ledger_row judged = judge_trial(trial);
    size_t variant = rue_record_variant(record, trial);
    bool created;
    record->other_trials += variant == RUE_NONE;
    if (variant == RUE_NONE || is_discarded(record, trial)) return RUE_OK;
    memcpy(record->recorded, trial->recorded, sizeof record->recorded);
    rue_status status = rue_tally_find_group(tally, record->last->at[variant].found.scenario, &judged.variant,
                                             &created, error);
    if (status != RUE_OK) return status;
    struct rue_variant_findings *facts = &tally->groups[judged.variant];
    if (created) status = fill_facts(record, trial, variant, facts, error);
    if (status == RUE_OK) status = rue_tally_add_trial(tally, &judged, trial->request.model, error);
    rue_findings_count_trial(facts, &trial->result);
    return status;
}

static rue_status read_trials(struct rue_record *record, struct rue_store *store, rue_error *error)
{
    for (;;) {
        struct rue_store_trial trial;
        bool found;
        rue_status status = rue_store_next_trial(store, &found, &trial, error);
        if (status != RUE_OK || !found) return status;
        bool ok = trial.result.outcome == RUE_TRIAL_OK, joint = trial.request.measure == RUE_JOINT;
        record->trials_ok += joint && ok;
        record->trials_not_ok += joint && !ok;
        record->probes += !joint;
        if (joint) status = add_joint(record, &trial, error);
        rue_trial_result_close(&trial.result);
        if (status != RUE_OK) return status;
    }
}

/* ---- the record ---- */

static rue_status read_store(struct rue_record *record, bool counted, rue_error *error)
{
    uint64_t trials;
    rue_status status = rue_store_open_copy(record->store, false, &record->copy, error);
    if (status == RUE_OK) status = rue_store_count_trials(record->copy, &trials, error);
    if (status == RUE_OK) status = read_last(record, record->copy, trials, error);
    if (status == RUE_OK && (counted || !record->is_current))
        status = read_trials(record, record->copy, error);
    if (status == RUE_OK) judge_last(record);
    return status;
}

static rue_status read_record(const char *path, bool counted, struct rue_record *out, rue_error *error)
{
    *out = (struct rue_record){0};
    rue_status status = find_store(path, out, error);
    if (status == RUE_OK) status = read_store(out, counted, error);
    if (status != RUE_OK) return rue_record_close(out), status;
    out->running = rue_folder_is_locked(out->folder);
    if (out->running) put_partial(out, "a run is in progress");
    return RUE_OK;
}

rue_status rue_record_read(const char *path, struct rue_record *out, rue_error *error)
{
    return read_record(path, true, out, error);
}

rue_status rue_record_read_last(const char *path, struct rue_record *out, rue_error *error)
{
    return read_record(path, false, out, error);
}

void rue_record_close(struct rue_record *record)
{
    rue_tally_close(&record->tally);
    rue_recommendation_close(record->last);
    rue_trial_result_close(&record->trial.result);
    rue_store_close(record->copy);
    record->last = NULL;
    record->copy = NULL;
}

bool rue_record_is_empty(const struct rue_record *record)
{
    return !record->is_current && record->tally.trial_count == 0;
}

rue_status rue_record_check(const struct rue_record *record, const char *purpose, rue_error *error)
{
    if (!rue_record_is_empty(record)) return RUE_OK;
    return rue_fail(error, RUE_INCONCLUSIVE,
                    "%s has no trial to %s yet: tune again with the same options to continue", record->store,
                    purpose);
}

/* Trials do not name their runner and machine; the notes of the last run do. */
static rue_status rank_trials(const struct rue_record *record, const struct rue_ranking_rules *rules,
                              struct rue_findings **out, rue_error *error)
{
    struct rue_findings *findings;
    rue_status status = rue_tally_make_findings(&record->tally, &findings, error);
    if (status != RUE_OK) return status;
    findings->runner = record->last->found.runner;
    findings->machine = record->last->found.machine;
    findings->run = record->last->found.run;
    findings->run.duration_s = 0; /* not that of all these trials */
    findings->unsaved = true;
    status = rue_findings_fill(findings, rules, error);
    if (status == RUE_OK) return *out = findings, RUE_OK;
    rue_findings_close(findings);
    return status;
}

/* The next trial of the last run's circumstances. */
static bool next_row(void *context, size_t index, struct rue_trial_row *out)
{
    struct rue_record *record = context;
    struct rue_store_trial *trial = &record->trial;
    (void)index; /* trials come in order */
    for (bool found = true; found;) {
        rue_trial_result_close(&trial->result);
        if (rue_store_next_trial(record->copy, &found, trial, &record->unread) != RUE_OK) return false;
        if (!found || rue_record_variant(record, trial) == RUE_NONE) continue;
        *out = rue_record_row(record, trial);
        return true;
    }
    return false;
}

rue_status rue_record_check_list(const struct rue_record *record, rue_error *error)
{
    const rue_error *unread = &record->unread;
    return unread->status == RUE_OK ? RUE_OK : rue_fail(error, unread->status, "%s", unread->message);
}

rue_status rue_record_findings(struct rue_record *record, const struct rue_ranking_rules *rules,
                               struct rue_findings **out, rue_error *error)
{
    rue_status status = record->is_current ? rue_kept_rank(record->last, rules, out, error)
                                           : rank_trials(record, rules, out, error);
    if (status != RUE_OK) return status;
    struct rue_findings *findings = *out;
    findings->row_at = next_row;
    findings->row_context = record;
    snprintf(findings->study, sizeof findings->study, "%s", record->name);
    const char *end = strrchr(record->store, '/');
    snprintf(findings->folder, sizeof findings->folder, "%.*s", end ? (int)(end - record->store) : 1,
             end ? record->store : ".");
    findings->run.partial = record->partial;
    snprintf(findings->run.partial_reason, sizeof findings->run.partial_reason, "%s", record->partial_reason);
    return RUE_OK;
}
