#include "table_study.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "folder_lock.h"
#include "hash.h"
#include "interrupt.h"
#include "json_findings.h"
#include "kept_findings.h"
#include "output.h"
#include "store.h"
#include "study_opening.h"
#include "workload_json.h"

struct table_study {
    const struct rue_table *table;
    struct rue_findings *findings;
    struct rue_store *store;
    char folder[PATH_MAX];
    char runner[128]; /* names the table; its digest is that of the file */
};

/* ---- trials ---- */

static struct rue_store_origin make_origin(const struct table_study *study,
                                           const struct rue_variant_findings *group)
{
    struct rue_store_origin origin = {0};
    snprintf(origin.runner, sizeof origin.runner, "%s", study->runner);
    snprintf(origin.data_digest, sizeof origin.data_digest, "%016" PRIx64,
             rue_hash(study->table->digest, group->label, strlen(group->label)));
    return origin;
}

/* The request of a group's trials, without model and configuration. */
static struct rue_trial_request make_request(const struct rue_variant_findings *group)
{
    struct rue_trial_request request = {.measure = RUE_JOINT,
                                        .variant = group->variant,
                                        .workload = rue_workload_default(),
                                        .images = group->job.images,
                                        .job_images = group->job.images};
    if (!request.variant.format[0]) strcpy(request.variant.format, RUE_TABLE_FORMAT);
    snprintf(request.variant.path, sizeof request.variant.path, "%s", group->label);
    return request;
}

static void make_row(const struct table_study *study, size_t index, struct rue_trial_row *out)
{
    const struct rue_tally *tally = &study->table->tally;
    const struct rue_ledger_row *row = &tally->trials[index];
    const struct rue_variant_findings *group = &tally->groups[row->variant];
    *out = (struct rue_trial_row){
        .id = index + 1, .request = make_request(group), .result = row->trial.result, .label = group->label};
    out->request.config = row->trial.config;
    snprintf(out->request.model, sizeof out->request.model, "%s", tally->models.texts[row->model]);
}

static bool table_row_at(void *context, size_t index, struct rue_trial_row *out)
{
    const struct table_study *study = context;
    if (index >= study->table->tally.trial_count) return false;
    make_row(study, index, out);
    return true;
}

/* Counts the trials of this table in the store. A table's trials are of no machine. */
static rue_status count_stored(const struct table_study *study, size_t *out, rue_error *error)
{
    struct rue_store_trial trial;
    for (bool found = true; found;) {
        rue_status status = rue_store_next_trial(study->store, &found, &trial, error);
        if (status != RUE_OK || !found) return status;
        rue_trial_result_close(&trial.result);
        if (trial.origin.machine[0])
            return rue_fail(error, RUE_USAGE,
                            "%s is a study of a machine or a simulated one, not of a table: choose another "
                            "folder with --study",
                            study->folder);
        *out += strcmp(trial.origin.runner, study->runner) == 0;
    }
    return RUE_OK;
}

static rue_status add_trials(const struct table_study *study, rue_error *error)
{
    const struct rue_tally *tally = &study->table->tally;
    size_t stored = 0;
    rue_status status = count_stored(study, &stored, error);
    for (size_t i = stored; status == RUE_OK && i < tally->trial_count; i++) {
        struct rue_trial_row row;
        make_row(study, i, &row);
        struct rue_store_origin origin = make_origin(study, &tally->groups[tally->trials[i].variant]);
        if (rue_interrupt_status() != RUE_OK) return rue_fail(error, rue_interrupt_status(), "interrupted");
        struct rue_store_trial trial = rue_store_make_trial(&origin, &row.request);
        trial.result = row.result;
        status = rue_store_add_trial(study->store, &trial, error);
    }
    return status;
}

/* ---- findings ---- */

static rue_status save_findings(struct table_study *study, const struct rue_ranking_rules *rules,
                                rue_error *error)
{
    char workload[RUE_WORKLOAD_TEXT_BYTES];
    struct rue_findings *findings = study->findings;
    const struct rue_store_result row = {.result = rue_store_run_id(study->store)};
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_store_origin origin = make_origin(study, &findings->variants[v]);
        const struct rue_trial_request request = make_request(&findings->variants[v]);
        rue_workload_canonical(&request.workload, workload);
        rue_kept_scenario(&origin, &request, workload, findings->variants[v].scenario);
    }
    return rue_kept_save(study->store, findings, rules, row, error);
}

static rue_status store_table(struct table_study *study, const struct rue_ranking_rules *rules,
                              rue_error *error)
{
    const struct rue_run_findings *run = &study->findings->run;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/" RUE_STORE_FILE, study->folder);
    rue_status status = rue_store_open(path, false, &study->store, error);
    if (status == RUE_OK) status = rue_store_hold(study->store, error);
    if (status == RUE_OK)
        status = rue_store_begin_run(study->store, run->command_line, run->rue_version, run->started,
                                     &rue_own_knobs, error);
    if (status == RUE_OK) status = add_trials(study, error);
    if (status == RUE_OK) status = save_findings(study, rules, error);
    if (status == RUE_OK) status = rue_store_commit(study->store, error);
    rue_store_close(study->store);
    return status;
}

static rue_status write_reports(struct table_study *study, rue_error *error)
{
    char files[256];
    study->findings->row_at = table_row_at;
    study->findings->row_context = study;
    rue_status status =
        rue_output_write_reports(rue_reports, study->findings, study->folder, files, sizeof files, error);
    study->findings->row_at = NULL;
    return status;
}

/* ---- the study ---- */

/* What the store refuses when it is read. */
static rue_status check_table(const struct rue_table *table, const struct rue_findings *findings,
                              rue_error *error)
{
    if (findings->variant_count > RUE_JSON_VARIANTS_MAX)
        return rue_fail(error, RUE_DATA, "%s has %zu data modes, but a study has at most %d: split the table",
                        table->name, findings->variant_count, RUE_JSON_VARIANTS_MAX);
    for (size_t i = 0; i < table->tally.trial_count; i++)
        if (!rue_trial_field_is_valid(table->tally.trials[i].cost_ns))
            return rue_fail(error, RUE_DATA,
                            "%s has a time of 9 years or more, which a study cannot hold: check the unit",
                            table->name);
    return RUE_OK;
}

rue_status rue_table_study_write(const struct rue_table *table, const char *path, const char *folder,
                                 const struct rue_ranking_rules *rules, struct rue_findings *findings,
                                 rue_error *error)
{
    struct table_study study = {.table = table, .findings = findings};
    int lock;
    rue_status status = check_table(table, findings, error);
    if (status != RUE_OK) return status;
    snprintf(study.folder, sizeof study.folder, "%s", folder);
    snprintf(study.runner, sizeof study.runner, RUE_TABLE_LOADER " %.60s #%016" PRIx64, table->name,
             table->digest);
    for (size_t end = strlen(study.folder); end > 1 && study.folder[end - 1] == '/';) study.folder[--end] = 0;
    const char *name = strrchr(study.folder, '/');
    snprintf(findings->study, sizeof findings->study, "%s", name && name[1] ? name + 1 : study.folder);
    snprintf(findings->folder, sizeof findings->folder, "%s", study.folder);
    snprintf(findings->runner.name, sizeof findings->runner.name, "%s", study.runner);
    rue_study_now(findings->run.started, sizeof findings->run.started);
    findings->unsaved = false;
    status = rue_folder_acquire(study.folder, "--study", &lock, error);
    if (status != RUE_OK) return status;
    status = rue_output_check_reports(rue_reports, study.folder, path, error);
    if (status == RUE_OK) status = store_table(&study, rules, error);
    if (status == RUE_OK) status = write_reports(&study, error);
    rue_folder_release(lock);
    return status;
}
