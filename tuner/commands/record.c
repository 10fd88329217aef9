#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device_table.h"
#include "folder_lock.h"
#include "job_time.h"
#include "study.h"
#include "study_opening.h"
#include "table.h"
#include "table_import.h"
#include "workload_json.h"

/* What is known of a group of the tally beside its facts. */
struct rue_record_group {
    char runner[128], machine[32], loader[64], data[PATH_MAX];
    char workload[RUE_WORKLOAD_TEXT_BYTES], any_cache[RUE_WORKLOAD_TEXT_BYTES]; /* for people */
    struct rue_circumstances around;                                            /* borrows from these */
    uint64_t newest;                                                            /* id of its last trial */
    char recorded[32];
    char device[96]; /* whose times the models are; "" when nobody's or several */
    bool any_model;
    bool is_of_last_run; /* the kept findings are about it, among others */
};

struct reading {
    struct rue_record *record;
    struct rue_names seen_models;
};

/* ---- groups ---- */

static void name_loader(const char *runner, char *out, size_t bytes)
{
    const char *end = strpbrk(runner, " :");
    snprintf(out, bytes, "%.*s", end ? (int)(end - runner) : 60, runner);
}

static bool starts_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool is_imported(const struct rue_store_scenario *scenario)
{
    return starts_with(scenario->runner, RUE_IMPORTED);
}

const char *rue_record_label(const struct rue_store_scenario *scenario)
{
    return is_imported(scenario) && scenario->variant.path[0] ? scenario->variant.path : NULL;
}

/* The workload for people: nothing for a table that somebody else measured, and no cache that is not known.
 */
static void show_workload(const struct rue_store_scenario *scenario, const char *text,
                          char out[RUE_WORKLOAD_TEXT_BYTES])
{
    static const char unknown[] = "\"cache\":\"\",";
    snprintf(out, RUE_WORKLOAD_TEXT_BYTES, "%s", is_imported(scenario) ? "" : text);
    char *at = strstr(out, unknown);
    if (at) memmove(at, at + strlen(unknown), strlen(at + strlen(unknown)) + 1);
}

static rue_status fill_facts(struct reading *reading, const struct rue_store_trial *trial, size_t number,
                             rue_error *error)
{
    struct rue_record *record = reading->record;
    struct rue_variant_findings *facts = &record->tally.groups[number].facts;
    const struct rue_store_scenario *scenario = &trial->scenario;
    const struct rue_variant *variant = &scenario->variant;
    const char *name = strrchr(variant->path, '/'), *label = rue_record_label(scenario);
    char *data = record->groups[number].data;
    facts->variant = *variant;
    facts->job.images = scenario->job_images;
    int loaders = scenario->workload.world_size;
    facts->job.gpus = loaders > 1 ? (uint64_t)loaders : 0;
    facts->job.workload = scenario->workload;
    facts->data.sample = name && strcmp(name + 1, RUE_STUDY_SAMPLE) == 0;
    snprintf(facts->data.digest, sizeof facts->data.digest, "%s", scenario->data_digest);
    if (!is_imported(scenario)) {
        if (!facts->data.sample) snprintf(data, PATH_MAX, "%s", variant->path);
        return RUE_OK;
    }
    snprintf(data, PATH_MAX, "%s", scenario->runner + strlen(RUE_IMPORTED));
    char *digest = strrchr(data, '#'); /* behind the table's name */
    if (digest && digest > data) digest[-1] = 0;
    facts->models_unnamed = strcmp(scenario->model, RUE_TABLE_MODEL) == 0;
    if (strcmp(variant->format, RUE_TABLE_FORMAT) == 0) facts->variant.format[0] = 0;
    return label ? rue_tally_label(&record->tally, number, label, error) : RUE_OK;
}

static rue_status make_group(struct reading *reading, const struct rue_store_trial *trial, size_t number,
                             rue_error *error)
{
    const struct rue_store_scenario *scenario = &trial->scenario;
    struct rue_record *record = reading->record;
    struct rue_workload any_cache = scenario->workload;
    char workload[RUE_WORKLOAD_TEXT_BYTES];
    struct rue_record_group *groups = realloc(record->groups, (number + 1) * sizeof *groups);
    if (!groups) return rue_fail_memory(error, "groups", (number + 1) * sizeof *groups);
    record->groups = groups;
    struct rue_record_group *group = &groups[number];
    *group = (struct rue_record_group){0};
    any_cache.cache[0] = 0;
    rue_workload_canonical(&any_cache, workload);
    show_workload(scenario, workload, group->any_cache);
    show_workload(scenario, trial->workload, group->workload);
    name_loader(scenario->runner, group->loader, sizeof group->loader);
    snprintf(group->runner, sizeof group->runner, "%s", scenario->runner);
    snprintf(group->machine, sizeof group->machine, "%s", scenario->machine);
    return fill_facts(reading, trial, number, error);
}

/* The device that a group's models are of, where it is one. A model of the catalogue counts only with the
 * profile that was measured. */
static rue_status note_model(struct reading *reading, const struct rue_store_trial *trial, size_t number,
                             rue_error *error)
{
    char key[1024], json[RUE_PROFILE_JSON_BYTES];
    struct rue_record_group *group = &reading->record->groups[number];
    struct rue_profile profile;
    size_t before = reading->seen_models.count, seen;
    snprintf(key, sizeof key, "%zu\n%s\n%s", number, trial->scenario.model, trial->scenario.model_profile);
    rue_status status = rue_names_number(&reading->seen_models, key, &seen, error);
    if (status != RUE_OK || reading->seen_models.count == before) return status;
    bool known = rue_device_table_model(trial->scenario.model, &profile, NULL) == RUE_OK;
    if (known) rue_profile_json(&profile, json);
    const char *device = known && strcmp(json, trial->scenario.model_profile) == 0 ? profile.device : "";
    if (!group->any_model)
        snprintf(group->device, sizeof group->device, "%s", device);
    else if (strcmp(group->device, device) != 0)
        group->device[0] = 0;
    group->any_model = true;
    return RUE_OK;
}

/* ---- trials ---- */

static struct rue_tally_trial judge(const struct rue_store_trial *trial)
{
    const struct rue_trial_result *result = &trial->result;
    uint64_t job = trial->scenario.job_images;
    struct rue_tally_trial told = {.config = trial->config,
                                   .outcome = result->outcome,
                                   .images = trial->images_requested,
                                   .reason = result->reason};
    if (result->outcome != RUE_TRIAL_OK) return told;
    told.time_ns = job ? rue_job_time_ns(result, job, trial->scenario.workload.drop_last, &told.predicted)
                       : (double)result->end_to_end_ns;
    if (isfinite(told.time_ns) && told.time_ns > 0) return told;
    told.outcome = RUE_TRIAL_FAILED;
    told.reason = RUE_JOB_TIME_UNKNOWN;
    return told;
}

static rue_status add_joint(struct reading *reading, const struct rue_store_trial *trial, rue_error *error)
{
    struct rue_tally *tally = &reading->record->tally;
    const struct rue_store_scenario *about = &trial->scenario;
    char key[RUE_STORE_KEY_BYTES];
    bool made;
    struct rue_tally_trial told = judge(trial);
    rue_store_scenario_key(about, trial->workload, key);
    rue_status status = rue_tally_group(tally, key, &told.group, &made, error);
    if (status == RUE_OK && made) status = make_group(reading, trial, told.group, error);
    if (status == RUE_OK) status = note_model(reading, trial, told.group, error);
    if (status == RUE_OK) status = rue_tally_add(tally, &told, about->model, error);
    if (status != RUE_OK) return status;
    struct rue_record_group *group = &reading->record->groups[told.group];
    struct rue_variant_findings *facts = &tally->groups[told.group].facts;
    group->newest = trial->id;
    memcpy(group->recorded, trial->recorded, sizeof group->recorded);
    if (trial->result.bad_images > (int64_t)facts->trials.bad_images)
        facts->trials.bad_images = (uint64_t)trial->result.bad_images;
    rue_findings_add_sleep(facts, &trial->result);
    facts->trials.cache_missed += told.outcome == RUE_TRIAL_OK && trial->result.cache_missed == 1;
    return RUE_OK;
}

static rue_status read_trials(struct reading *reading, struct rue_store *store, rue_error *error)
{
    for (;;) {
        struct rue_store_trial trial;
        bool found;
        rue_status status = rue_store_next(store, &found, &trial, error);
        if (status != RUE_OK || !found) return status;
        bool ok = trial.result.outcome == RUE_TRIAL_OK, joint = trial.measure == RUE_JOINT;
        reading->record->trials_ok += joint && ok;
        reading->record->trials_not_ok += joint && !ok;
        reading->record->probes += !joint;
        if (joint && trial.run_id > reading->record->last_run) reading->record->last_run = trial.run_id;
        if (joint) status = add_joint(reading, &trial, error);
        rue_trial_result_close(&trial.result);
        if (status != RUE_OK) return status;
    }
}

/* ---- sets ---- */

/* Whether one is what the other was before the data changed: of the same kind, at the same place. */
static bool are_versions(const struct rue_variant_findings *a, const struct rue_variant_findings *b)
{
    const struct rue_variant *x = &a->variant, *y = &b->variant;
    bool alike = x->mode == y->mode && strcmp(x->format, y->format) == 0 && strcmp(x->dtype, y->dtype) == 0;
    return alike && ((a->data.sample && b->data.sample) || strcmp(x->path, y->path) == 0);
}

/* Whether they are shown together: of the same job, workload (its cache aside),
 * runner and machine; both or neither what the last run was about, as what that left out is found beside it;
 * and not versions of the same data. */
static bool belong_together(const struct rue_record *record, size_t a, size_t b)
{
    const struct rue_record_group *x = &record->groups[a], *y = &record->groups[b];
    return record->tally.groups[a].facts.job.images == record->tally.groups[b].facts.job.images &&
           strcmp(x->runner, y->runner) == 0 && strcmp(x->machine, y->machine) == 0 &&
           strcmp(x->any_cache, y->any_cache) == 0 && x->is_of_last_run == y->is_of_last_run &&
           !are_versions(&record->tally.groups[a].facts, &record->tally.groups[b].facts);
}

/* The set that a group joins, behind those before its `place` in the order. */
static size_t set_of(const struct rue_record *record, const size_t *order, size_t place)
{
    for (size_t s = 0; s < record->set_count; s++) {
        bool fits = true;
        for (size_t i = 0; fits && i < place; i++)
            if (record->tally.groups[order[i]].set == s)
                fits = belong_together(record, order[i], order[place]);
        if (fits) return s;
    }
    return record->set_count;
}

static void fill_set(const struct rue_record *record, size_t number, struct rue_record_set *set)
{
    const struct rue_record_group *group = &record->groups[number];
    const struct rue_tally_group *told = &record->tally.groups[number];
    bool first = set->trials == 0;
    for (int o = 0; o < RUE_OUTCOME_COUNT; o++) set->trials += told->counts[o];
    if (!set->data && group->data[0]) set->data = group->data;
    if (!first && strcmp(set->consumer, group->device) != 0) set->consumer[0] = 0;
    if (!first) return;
    set->runner = group->runner;
    set->machine = group->machine;
    set->workload = group->any_cache;
    set->job_images = told->facts.job.images;
    memcpy(set->recorded, group->recorded, sizeof set->recorded);
    snprintf(set->consumer, sizeof set->consumer, "%s", group->device);
}

/* The group that part of the kept findings is about; RUE_NONE where it has no joint trial. */
static size_t group_of(const struct rue_record *record, size_t variant)
{
    char key[RUE_LEDGER_KEY_BYTES];
    for (size_t g = 0; g < record->tally.group_count; g++) {
        rue_recommendation_scenario(record->tally.keys.texts[g], key);
        if (strcmp(key, record->kept->ledger.scenarios[variant]) == 0) return g;
    }
    return RUE_NONE;
}

/* A run that found all in the store may have been about an older set. */
static void put_last_run_first(struct rue_record *record)
{
    size_t at = record->is_kept && record->kept->count ? group_of(record, 0) : RUE_NONE;
    size_t set = at == RUE_NONE ? 0 : record->tally.groups[at].set;
    if (set == 0) return;
    struct rue_record_set first = record->sets[0];
    record->sets[0] = record->sets[set];
    record->sets[set] = first;
    for (size_t g = 0; g < record->tally.group_count; g++) {
        size_t *its = &record->tally.groups[g].set;
        *its = *its == set ? 0 : *its == 0 ? set : *its;
    }
}

static int compare_newest(const void *a, const void *b, void *context)
{
    const struct rue_record_group *groups = context;
    uint64_t x = groups[*(const size_t *)a].newest, y = groups[*(const size_t *)b].newest;
    return x > y ? -1 : x < y;
}

static rue_status make_sets(struct rue_record *record, rue_error *error)
{
    size_t count = record->tally.group_count;
    size_t *order = malloc((count + 1) * sizeof *order);
    record->sets = calloc(count + 1, sizeof *record->sets);
    if (!order || !record->sets) {
        free(order);
        return rue_fail_memory(error, "sets", count * sizeof *record->sets);
    }
    for (size_t g = 0; g < count; g++) {
        struct rue_record_group *group = &record->groups[g];
        order[g] = g;
        group->around =
            (struct rue_circumstances){group->runner, group->machine, group->workload, group->loader};
        record->tally.groups[g].facts.circumstances = &group->around;
    }
    for (size_t v = 0; record->is_kept && v < record->kept->count; v++) {
        size_t group = group_of(record, v);
        if (group == RUE_NONE) continue;
        record->groups[group].is_of_last_run = true;
        record->groups[group].around.loader =
            record->kept->found.runner.measured_with; /* as the runner said itself */
    }
    qsort_r(order, count, sizeof *order, compare_newest, record->groups);
    for (size_t i = 0; i < count; i++) {
        size_t set = set_of(record, order, i);
        record->set_count += set == record->set_count;
        record->tally.groups[order[i]].set = set;
        fill_set(record, order[i], &record->sets[set]);
    }
    free(order);
    put_last_run_first(record);
    return RUE_OK;
}

/* ---- the whole ---- */

/* The store's path and, resolved, the folder that it lies in. */
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

/* Fills in store, folder and name for `path`, a study's folder or its store. */
static rue_status find_store(const char *path, struct rue_record *record, rue_error *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; 'rue list DIR' shows the studies below DIR",
                        path, strerror(errno));
    bool folder = S_ISDIR(facts.st_mode);
    rue_status status = find_place(path, folder, record, error);
    if (status != RUE_OK) return status;
    const char *ending = strrchr(path, '.');
    if (!folder && ending && strcasecmp(ending, ".csv") == 0)
        return rue_fail(error, RUE_STORE, "%s: it is no study: for a CSV table, rue analyze %s", path, path);
    if (!folder || access(record->store, F_OK) == 0) return RUE_OK;
    if (errno != ENOENT)
        return rue_fail(error, RUE_STORE, "cannot open %s: %s; make the folder readable", record->store,
                        strerror(errno));
    return rue_fail(error, RUE_DATA,
                    "%s holds no study (no " RUE_STORE_FILE "); 'rue list %s' shows those below it", path,
                    path);
}

static uint64_t count_trials(const struct rue_record *record)
{
    return record->trials_ok + record->trials_not_ok + record->probes;
}

/* Findings of an earlier run than the one that measured last tell nothing of that one, which was killed. */
static const char *why_outdated(const struct rue_record *record, int64_t run)
{
    if (!record->kept) return "no report has been written";
    if (run < record->last_run || record->kept->ledger.under_way)
        return "the last run ended without a report";
    if (record->kept->ledger.trials != count_trials(record))
        return "trials were added or deleted since the last run";
    return NULL;
}

/* What the last run found out, whether that is partial and why; the trials have been counted. */
static rue_status read_findings(struct rue_record *record, struct rue_store *store, rue_error *error)
{
    char *text;
    int64_t run = 0;
    rue_status status = rue_store_findings(store, 0, &run, &text, error);
    if (status == RUE_OK && text)
        status = rue_recommendation_read_kept(text, record->store, &record->kept, error);
    free(text);
    if (status != RUE_OK) return status;
    const char *why = why_outdated(record, run);
    record->is_kept = !why;
    record->partial = why || record->kept->found.run.partial;
    snprintf(record->partial_reason, sizeof record->partial_reason, "%s",
             why ? why : record->kept->found.run.partial_reason);
    return RUE_OK;
}

static rue_status read_store(struct rue_record *record, rue_error *error)
{
    struct reading reading = {.record = record};
    struct rue_store *store;
    rue_status status = rue_store_open_copy(record->store, false, &store, error);
    if (status == RUE_OK) status = read_trials(&reading, store, error);
    if (status == RUE_OK) status = read_findings(record, store, error);
    rue_store_close(store);
    if (status == RUE_OK) status = make_sets(record, error);
    /* A table is imported as a whole. */
    if (!record->is_kept && record->set_count && starts_with(record->sets[0].runner, RUE_IMPORTED))
        record->partial = false;
    rue_names_close(&reading.seen_models);
    return status;
}

rue_status rue_record_read(const char *path, struct rue_record *out, rue_error *error)
{
    *out = (struct rue_record){0};
    rue_status status = find_store(path, out, error);
    if (status == RUE_OK) status = read_store(out, error);
    if (status != RUE_OK) return rue_record_close(out), status;
    out->running = rue_folder_is_locked(out->folder);
    return RUE_OK;
}

void rue_record_close(struct rue_record *record)
{
    free(record->groups);
    free(record->sets);
    rue_tally_close(&record->tally);
    rue_recommendation_close(record->kept);
    *record = (struct rue_record){0};
}

const struct rue_ranking_rules *rue_record_rules(const struct rue_record *record)
{
    static const struct rue_ranking_rules plain = {
        .top_n = 3, .set_epsilon_ratio = 0.02, .confidence = RUE_USUAL_CONFIDENCE};
    return record->kept ? &record->kept->rules : &plain;
}

/* What the last run found out, with the facts that its trials tell. */
static rue_status last_findings(const struct rue_record *record, const struct rue_ranking_rules *rules,
                                struct rue_findings **out, rue_error *error)
{
    rue_status status = rue_recommendation_rank(record->kept, rules, out, error);
    for (size_t v = 0; status == RUE_OK && v < (*out)->variant_count; v++) {
        struct rue_variant_findings *variant = &(*out)->variants[v];
        size_t group = group_of(record, v);
        if (group == RUE_NONE) continue;
        variant->circumstances = &record->groups[group].around;
        if (!variant->label) variant->variant = record->tally.groups[group].facts.variant;
    }
    return status;
}

static rue_status find_all(const struct rue_record *record, int set, const struct rue_ranking_rules *rules,
                           struct rue_findings **out, rue_error *error)
{
    if (!record->is_kept || set > 0) return rue_tally_findings(&record->tally, set, rules, out, error);
    rue_status status = rue_ranking_rules_check(rules, (const char *const *)record->tally.models.texts,
                                                record->tally.models.count, error);
    if (status == RUE_OK) status = last_findings(record, rules, out, error);
    if (status != RUE_OK) return status;
    for (size_t s = 1; status == RUE_OK && set != 0 && s < record->set_count; s++)
        status = rue_tally_add_findings(&record->tally, (int)s, rules, *out, error);
    if (status != RUE_OK) return rue_tally_findings_close(*out), status;
    return RUE_OK;
}

rue_status rue_record_findings(const struct rue_record *record, int set,
                               const struct rue_ranking_rules *rules, struct rue_findings **out,
                               rue_error *error)
{
    rue_status status = find_all(record, set, rules, out, error);
    if (status != RUE_OK) return status;
    struct rue_findings *findings = *out;
    snprintf(findings->study, sizeof findings->study, "%s", record->name);
    if (record->set_count == 0) return RUE_OK;
    const struct rue_record_set *about = &record->sets[set == RUE_TALLY_ALL ? 0 : set];
    if (!record->is_kept || set > 0) {
        findings->alone = true;
        name_loader(about->runner, findings->runner.measured_with, sizeof findings->runner.measured_with);
        snprintf(findings->runner.name, sizeof findings->runner.name, "%s", about->runner);
        snprintf(findings->runner.consumer, sizeof findings->runner.consumer, "%s", about->consumer);
    }
    if (set > 0) return RUE_OK;
    findings->run.partial = record->partial || record->running;
    snprintf(findings->run.partial_reason, sizeof findings->run.partial_reason, "%s",
             record->running ? "a tuner is at work" : record->partial_reason);
    return RUE_OK;
}
